package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// Who may subscribe to somebody's inbox reads their replies. So on an embedded bus
// everybody has an inbox of their own, whose subjects begin with InboxOf their name;
// only clients without a token share the usual one.
const (
	AnonymousInbox = "_INBOX"
	ownInbox       = "_INBOX_." // of this process; InboxOf gives it to nobody
)

// unfit are the characters that mean something in a subject.
var unfit = strings.NewReplacer(".", "_", "*", "_", ">", "_")

// InboxOf is the prefix of the inboxes of the client with a name.
func InboxOf(name string) string { return AnonymousInbox + "_" + unfit.Replace(name) }

// InboxOfSecret is another prefix for the same client, for those that know their
// token and not its name.
func InboxOfSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return AnonymousInbox + "_" + hex.EncodeToString(sum[:8])
}

// useOwnInbox lets a client of an embedded bus use its own inbox.
func useOwnInbox(nc *nats.Conn, address string) {
	if nc.ConnectedServerName() != serverName {
		return // the inbox there is for its operator to say
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

// MayAnswer reports whether a reply may go to a subject that a client has named.
// This process may publish everywhere; nobody makes it publish an item or an event in
// their stead.
func MayAnswer(subject string) bool {
	for _, ours := range []string{"items.", SubjectVerdicts, SubjectExposures, "$"} {
		if strings.HasPrefix(subject, ours) {
			return false
		}
	}
	return subject != ""
}
