package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// serverName is the name of an embedded server; clients recognise it by that.
const serverName = "jianguo"

// A client that may subscribe to another's inbox reads its replies. So on an embedded bus
// each client has an inbox of its own, whose subjects begin with InboxOf its name; only
// clients without a token share the usual one.
const (
	AnonymousInbox = "_INBOX"
	ownInbox       = "_INBOX_." // of this process; InboxOf gives it to no client
)

// special replaces the characters that have a meaning in a subject.
var special = strings.NewReplacer(".", "_", "*", "_", ">", "_")

// InboxOf is the prefix of the inboxes of the client with a name.
func InboxOf(name string) string { return AnonymousInbox + "_" + special.Replace(name) }

// InboxOfSecret is another prefix for the same client, for those that know their
// token and not their name.
func InboxOfSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return AnonymousInbox + "_" + hex.EncodeToString(sum[:8])
}

// useOwnInbox sets the inbox of a client of an embedded bus. On an external bus the
// inbox is for its operator to choose.
func useOwnInbox(nc *nats.Conn, address string) {
	if nc.ConnectedServerName() != serverName {
		return
	}
	secret := nc.Opts.Token
	if u, err := url.Parse(address); err == nil && u.User != nil {
		secret = u.User.Username()
		if password, ok := u.User.Password(); ok {
			secret = password
		}
	}
	if secret != "" {
		nc.Opts.InboxPrefix = InboxOfSecret(secret)
	}
}

// MayAnswer reports whether a reply may go to a subject that a client has named: to inboxes
// only. The service may publish everywhere, and a client must not make it publish an item or
// an event. Requests of another account of the bus name a subject that begins with "_R_.".
func MayAnswer(subject string) bool {
	return strings.HasPrefix(subject, AnonymousInbox) || strings.HasPrefix(subject, "_R_.")
}
