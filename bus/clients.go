package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus/gate"
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
		user.Permissions = &server.Permissions{Publish: &server.SubjectPermission{Allow: withGates(u.Publish)}, Subscribe: &server.SubjectPermission{Allow: u.Subscribe}}
	}
	c.RegisterUser(user)
	return true
}

// connectTo opens a connection to a server of this process.
func connectTo(s *server.Server, secret string, options ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect("", append([]nats.Option{nats.InProcessServer(s), nats.Name("jianguo"), nats.MaxReconnects(-1), nats.Token(secret),
		nats.CustomInboxPrefix(ownInbox + rand.Text())}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	return nc, nil
}

// withGates adds to the subjects that a client may publish on those they are mapped to:
// the server checks permissions after it has mapped.
func withGates(publish []string) []string {
	if publish == nil {
		return nil
	}
	all := slices.Clone(publish)
	for _, s := range publish {
		all = append(all, gate.Prefix+"*."+s)
	}
	return all
}

// ErrRefused says that a bus does not know a client's token, or wants one.
var ErrRefused = errors.New("the bus refused the token, or wants one")

// Connect connects to a bus in another process and checks that it accepts messages of
// MinPayload bytes. A URL may carry the client's token: nats://TOKEN@host:4222.
func Connect(url string, options ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect(url, append([]nats.Option{nats.Name("jianguo"), nats.MaxReconnects(-1), nats.Timeout(5 * time.Second)}, options...)...)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		err = ErrRefused
	case errors.Is(err, nats.ErrNoServers):
		err = fmt.Errorf("nothing answers there: is the service running? %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("bus %s: %w", RedactURL(url), err)
	}
	if limit := nc.MaxPayload(); limit < MinPayload {
		nc.Close()
		return nil, fmt.Errorf("bus %s: max_payload is %d bytes, items need at least %d: raise max_payload in the server's configuration", RedactURL(url), limit, MinPayload)
	}
	useOwnInbox(nc, url)
	return nc, nil
}

// Away reports whether an error of the bus may end by itself: it did not answer, or a cluster
// had no leader.
func Away(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, nats.ErrConnectionReconnecting) || errors.As(err, &api) && api.Code == http.StatusServiceUnavailable
}

// Patiently calls f again as long as its error says that the bus is away, for a time at most.
func Patiently(ctx context.Context, log *slog.Logger, most time.Duration, f func() error) error {
	for deadline := time.Now().Add(most); ; {
		err := f()
		if err == nil || !Away(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		log.WarnContext(ctx, "the bus does not answer yet, trying again", "error", err)
		time.Sleep(time.Second)
	}
}

var credentials = regexp.MustCompile(`//[^@/,]*@`)

// RedactURL leaves the token or password out of the address of a bus.
func RedactURL(url string) string { return credentials.ReplaceAllString(url, "//") }
