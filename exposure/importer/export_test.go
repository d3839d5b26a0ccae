package importer

// Of plan, whose test opens a store.
type Report = report

var Plan = plan
