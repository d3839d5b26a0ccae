package resident

import (
	"jianguo/index/bands"
	"jianguo/index/bands/buckets"
	"jianguo/index/verdict"
)

// Tables is what a snapshot holds: everything resident but the clusters, which a
// start reads from their few rows.
type Tables struct {
	Bands  *bands.Bands
	IDs    *buckets.Table // xxh3 of an id -> ordinals of its versions
	Exacts *buckets.Table // hash of a normal form -> ordinals
	Rows   *Rows
}

func NewTables() Tables {
	return Tables{Bands: bands.New(), IDs: buckets.New(true), Exacts: buckets.New(true), Rows: new(Rows)}
}

// part is a part of the tables that a snapshot writes page by page, as buckets.Table does.
type part interface {
	Snapshot(emit func(number int, page []byte) error) error
	LoadPage(number int, page []byte) error
}

// parts are in the order in which they are written. Their places are stored, in the ids of
// pages.
//
// Columns come first: no version that they call posted may be swept before its postings
// are written (the sweep waits), and what is posted again meanwhile follows from the events.
func (t Tables) parts() []part {
	parts := []part{t.Rows, t.IDs, t.Exacts}
	for _, table := range t.Bands.Stored() {
		parts = append(parts, table)
	}
	return parts
}

// Alive reports whether an exemplar of a cluster is still compared with an article
// that arrives at a time, in seconds since 1970: the policy's window since the last
// copy, and its cap, are not over. It goes by arrival times, so that the same
// stream gives the same verdicts whenever postings are removed.
func (r *Rows) Alive(p *verdict.Policy, ordinal, cluster, at uint32) bool {
	born := r.Arrived(ordinal)
	last := max(r.Touched(cluster), born)
	return float64(at) <= float64(last)+p.Window.Seconds() && float64(at) <= float64(born)+p.Cap.Seconds()
}

// Over reports whether the posting of an exemplar can be removed at a time,
// because nothing brings it back unnoticed: it is older than the policy's cap, or
// it founded its cluster, leads it, and the window is over.
func (r *Rows) Over(p *verdict.Policy, c *Clusters, ordinal, at uint32) bool {
	f := r.Flags(ordinal)
	if f&Exemplar == 0 {
		return false
	}
	born := float64(r.Arrived(ordinal))
	if float64(at) > born+p.Cap.Seconds() {
		return true
	}
	if f&Superseded != 0 || r.Cluster(ordinal) != ordinal {
		return false
	}
	if float64(at) <= born+p.Window.Seconds() {
		return false // as nearly all are: their clusters need not be looked up
	}
	if lead, merged := c.Own(ordinal); lead != ordinal || merged != 0 {
		return false
	}
	return !r.Alive(p, ordinal, ordinal, at)
}

// clockSlack is the time, in seconds, by which clocks may go back between two
// messages of the stream.
const clockSlack = 24 * 3600

// Horizon returns the latest time that has expired for every message that arrives
// after the version last.
func (r *Rows) Horizon(last uint32) uint32 {
	at := r.Arrived(last)
	return at - min(at, clockSlack)
}
