package bus

import (
	"slices"
	"strings"
)

// Role is what a client may do; a set of roles where several are meant.
type Role uint8

const (
	Platform Role = 1 << iota // publishes items, reads verdicts
	Recall                    // filters, and reports exposures
	Editor                    // browses and decides
	Operator                  // everything
	Monitor                   // sees metrics, and how streams stand
)

// RoleNames are what files of tokens call the roles, in their order.
var RoleNames = []string{"platform", "recall", "editor", "operator", "monitor"}

func (r Role) String() string {
	var names []string
	for i, name := range RoleNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// What each role may do on an embedded bus. An operator may do everything.
var (
	mayPublish = map[Role][]string{
		Platform: slices.Concat([]string{SubjectPublish, SubjectPublish + ".*", SubjectWithdraw, SubjectCheck},
			reading(StreamVerdicts)),
		Recall: {SubjectExposures + ">"},
		Editor: slices.Concat([]string{SubjectCheck}, reading(StreamVerdicts)),
		// How streams and consumers stand, and not what they hold.
		Monitor: {"$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.*",
			"$JS.API.CONSUMER.LIST.*", "$JS.API.CONSUMER.NAMES.*", "$JS.API.CONSUMER.INFO.>"},
	}
	maySubscribe = map[Role][]string{
		Platform: {SubjectVerdicts + ">", SubjectSilenced},
		Editor:   {SubjectVerdicts + ">", SubjectSilenced},
	}
)

// reading lists the subjects that a JetStream client publishes on to read a stream:
// to find it, to inspect it, to create and use consumers.
func reading(stream string) []string {
	const api = "$JS.API."
	return []string{
		api + "INFO", api + "STREAM.NAMES", api + "STREAM.INFO." + stream, api + "STREAM.MSG.GET." + stream,
		api + "DIRECT.GET." + stream, api + "DIRECT.GET." + stream + ".>",
		api + "CONSUMER.CREATE." + stream, api + "CONSUMER.CREATE." + stream + ".>",
		api + "CONSUMER.DURABLE.CREATE." + stream + ".>",
		api + "CONSUMER.INFO." + stream + ".>", api + "CONSUMER.NAMES." + stream, api + "CONSUMER.LIST." + stream,
		api + "CONSUMER.MSG.NEXT." + stream + ".>", api + "CONSUMER.DELETE." + stream + ".>",
		"$JS.ACK." + stream + ".>", "$JS.FC." + stream + ".>",
	}
}

// Anonymous is every client of a bus without tokens: all roles but Operator. What
// would break the streams for all, or look like a verdict, is left to commands on
// the data directory.
// A token that it gives all the same may choose its inbox.
func Anonymous(secret string) User {
	u := userOf("anonymous", AnonymousInbox, Platform, Recall, Editor, Monitor)
	u.Subscribe = append(u.Subscribe, InboxOfSecret(secret)+".>")
	return u
}

// UserOf returns the client with a name, a secret and one role. In addition to the
// subjects of its role it may discover services ($SRV), and it has inboxes that no other
// client reads; that below AnonymousInbox serves a bus without tokens as well. A client
// that is bound to sources publishes on SubjectPublish.SOURCE, and withdraws nothing.
func UserOf(name, secret string, role Role, sources ...string) User {
	if role == Operator {
		return User{Name: name}
	}
	u := userOf(name, InboxOf(name), role)
	if len(sources) > 0 {
		u.Publish = slices.DeleteFunc(u.Publish, func(s string) bool {
			return strings.HasPrefix(s, SubjectPublish) || s == SubjectWithdraw
		})
		for _, s := range sources {
			if !strings.ContainsAny(s, ".*>?[\\ ") {
				u.Publish = append(u.Publish, SubjectPublish+"."+s)
			}
		}
	}
	u.Subscribe = append(u.Subscribe, InboxOfSecret(secret)+".>", AnonymousInbox+"."+special.Replace(name)+".>")
	return u
}

func userOf(name, inbox string, roles ...Role) User {
	u := User{Name: name, Publish: []string{"$SRV.>"}, Subscribe: []string{inbox + ".>"}}
	for _, r := range roles {
		u.Publish = append(u.Publish, mayPublish[r]...)
		u.Subscribe = append(u.Subscribe, maySubscribe[r]...)
	}
	return u
}
