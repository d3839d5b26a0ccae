package api

import (
	"slices"

	"jianguo/exposure"
	"jianguo/ingest"
)

// What each role may do on an embedded bus; operators may do everything. Where there
// are no tokens, everybody is everyone but an operator: what would break the streams
// for all, or look like a verdict, is left to commands on the data directory.
var (
	busPublish = map[roleSet][]string{
		platform: slices.Concat([]string{ingest.SubjectPublish, ingest.SubjectWithdraw, checkSubject}, reading(ingest.StreamVerdicts)),
		recall:   {exposure.Subjects},
		editor:   slices.Concat([]string{checkSubject}, reading(ingest.StreamVerdicts)),
	}
	busSubscribe = map[roleSet][]string{
		platform: {ingest.SubjectVerdicts + ">"},
		recall:   {},
		editor:   {ingest.SubjectVerdicts + ">"},
	}
)

// checkSubject is the service that POST /items/check is on HTTP.
const checkSubject = "items.check"

// reading are the subjects a JetStream client publishes on to read a stream:
// to find it, to look at it, to make and use consumers.
func reading(stream string) []string {
	const api = "$JS.API."
	return []string{
		api + "INFO", api + "STREAM.NAMES", api + "STREAM.INFO." + stream, api + "STREAM.MSG.GET." + stream,
		api + "DIRECT.GET." + stream, api + "DIRECT.GET." + stream + ".>",
		api + "CONSUMER.CREATE." + stream, api + "CONSUMER.CREATE." + stream + ".>", api + "CONSUMER.DURABLE.CREATE." + stream + ".>",
		api + "CONSUMER.INFO." + stream + ".>", api + "CONSUMER.NAMES." + stream, api + "CONSUMER.LIST." + stream,
		api + "CONSUMER.MSG.NEXT." + stream + ".>", api + "CONSUMER.DELETE." + stream + ".>",
		"$JS.ACK." + stream + ".>", "$JS.FC." + stream + ".>",
	}
}

// BusUser says whose secret it is and what they may do on an embedded bus: it
// has the type of ingest.BusConfig.Authenticate. Besides its own, every role
// may look for the services there are ($SRV) and has an inbox that is nobody else's.
// The zero Tokens let everybody in.
func (t Tokens) BusUser(secret string) (ingest.BusUser, bool) {
	if t.Len() == 0 {
		return busUser("anonymous", ingest.AnonymousInbox, platform, recall, editor), true
	}
	tok, ok := t.find(secret)
	if !ok || tok.role == operator {
		return ingest.BusUser{Name: tok.name}, ok
	}
	u := busUser(tok.name, ingest.InboxOf(tok.name), tok.role)
	u.Subscribe = append(u.Subscribe, ingest.InboxOfSecret(secret)+".>")
	return u, true
}

func busUser(name, inbox string, roles ...roleSet) ingest.BusUser {
	u := ingest.BusUser{Name: name, Publish: []string{"$SRV.>"}, Subscribe: []string{inbox + ".>"}}
	for _, r := range roles {
		u.Publish = append(u.Publish, busPublish[r]...)
		u.Subscribe = append(u.Subscribe, busSubscribe[r]...)
	}
	return u
}
