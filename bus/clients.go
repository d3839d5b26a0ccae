package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus/gate"
	"jianguo/internal/clock"
	"jianguo/internal/wrap"
)

// authenticator lets clients in by their secret.
type authenticator struct {
	secret string
	find   func(secret, from string) (User, bool)
	log    *slog.Logger
}

// Check is called by the server for every client.
func (a *authenticator) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	given := cmp.Or(o.Token, o.Password, o.Username)
	if subtle.ConstantTimeCompare([]byte(given), []byte(a.secret)) == 1 {
		c.RegisterUser(&server.User{Username: "the service"}) // no name of a token has a space
		return true
	}
	if o.Nkey != "" {
		return false // the server would know the client by that, and not by its name
	}
	u, ok := a.find(given, fmt.Sprint(c.RemoteAddress()))
	if !ok {
		a.log.Warn("the bus refused a client: it knows no such token", "from", c.RemoteAddress(), "client", o.Name)
		return false
	}
	user := &server.User{Username: u.Name}
	if u.Publish != nil || u.Subscribe != nil {
		user.Permissions = &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: withGates(u.Publish)},
			Subscribe: &server.SubjectPermission{Allow: u.Subscribe},
		}
	}
	c.RegisterUser(user)
	return true
}

func connectTo(s *server.Server, secret string, options ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect("", append([]nats.Option{
		nats.InProcessServer(s), nats.Name("jianguo"), nats.MaxReconnects(-1), nats.Token(secret),
		nats.CustomInboxPrefix(ownInbox + rand.Text())}, options...)...)
	return nc, wrap.Err(err, "bus")
}

// withGates adds to the subjects that a client may publish on those they are mapped to:
// the server checks permissions after it has mapped.
func withGates(publish []string) []string {
	all := slices.Clone(publish)
	for _, s := range publish {
		all = append(all, gate.Prefix+"*."+s)
	}
	return all
}

// ErrRefused says that a bus does not know a client's token, or wants one.
var ErrRefused = errors.New("the bus refused the token, or wants one")

// Connect connects to a bus in another process and checks that it accepts messages of
// MinPayload bytes. An address may carry the client's token: nats://TOKEN@host:4222.
func Connect(address string, options ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect(address, append([]nats.Option{
		nats.Name("jianguo"), nats.MaxReconnects(-1), nats.Timeout(5 * time.Second)}, options...)...)
	switch bad := new(url.Error); {
	case errors.As(err, &bad): // it quotes the address
		err = bad.Err
	case errors.Is(err, nats.ErrAuthorization):
		err = ErrRefused
	case errors.Is(err, nats.ErrNoServers):
		err = fmt.Errorf("nothing answers there: is the service running? %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("bus %s: %w", RedactURL(address), err)
	}
	if limit := nc.MaxPayload(); limit < MinPayload {
		nc.Close()
		return nil, fmt.Errorf("bus %s: max_payload is %d bytes, items need at least %d: "+
			"raise max_payload in the server's configuration", RedactURL(address), limit, MinPayload)
	}
	useOwnInbox(nc)
	return nc, nil
}

// JetStream is the JetStream of a connection. Without options jetstream.New has no error to return.
func JetStream(nc *nats.Conn) jetstream.JetStream {
	js, _ := jetstream.New(nc)
	return js
}

// Away reports whether an error of the bus may end by itself: it did not answer, or a cluster
// had no leader.
func Away(err error) bool {
	away := []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrNoResponders,
		nats.ErrConnectionReconnecting}
	var api *jetstream.APIError
	return slices.ContainsFunc(away, func(e error) bool { return errors.Is(err, e) }) ||
		errors.As(err, &api) && api.Code == http.StatusServiceUnavailable
}

// RetryWhileAway calls f again as long as its error says that the bus is away, for a time at most.
func RetryWhileAway(ctx context.Context, log *slog.Logger, most time.Duration, f func() error) error {
	for deadline := time.Now().Add(most); ; {
		err := f()
		if err == nil || !Away(err) || time.Now().After(deadline) {
			return err
		}
		log.WarnContext(ctx, "the bus does not answer yet, trying again", "error", err)
		if clock.Sleep(ctx, time.Second) != nil {
			return err
		}
	}
}

var credentials = regexp.MustCompile(`(^|,|//)[^@/,]*@`)

// RedactURL leaves the token or password out of the address of a bus.
func RedactURL(url string) string { return credentials.ReplaceAllString(url, "$1") }

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
func useOwnInbox(nc *nats.Conn) {
	if nc.ConnectedServerName() != serverName {
		return
	}
	secret := nc.Opts.Token
	if u, err := url.Parse(nc.ConnectedUrl()); err == nil && u.User != nil {
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
