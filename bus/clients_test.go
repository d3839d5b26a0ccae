package bus

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/internal/testbed"
)

// TestRetryWhileAwayEnds: a start that waits for its bus ends when it is told to.
func TestRetryWhileAwayEnds(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	tries := 0
	err := RetryWhileAway(ctx, slog.New(slog.DiscardHandler), time.Minute, func() error { tries++; return nats.ErrTimeout })
	if err != nats.ErrTimeout || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// TestRedactURL: no address of a bus that is printed has a secret, with a scheme or without.
func TestRedactURL(t *testing.T) {
	for url, want := range map[string]string{
		"nats://secret@h:4222":                         "nats://h:4222",
		"nats://ann:secret@h1:4222,tls://secret@h2":    "nats://h1:4222,tls://h2",
		"secret@h:4222":                                "h:4222",
		"nats://h1:4222, ann:secret@h2, secret@h3:422": "nats://h1:4222,h2,h3:422",
		"h1:4222,h2:4222":                              "h1:4222,h2:4222",
	} {
		if got := RedactURL(url); got != want {
			t.Errorf("%s is printed as %s, want %s", url, got, want)
		}
	}
	for _, url := range []string{"nats://%zzsecret@127.0.0.1:1", "nats://a secret@127.0.0.1:1", "secret@127.0.0.1:1"} {
		if _, err := Connect(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}

// TestOwnInbox: a client has an inbox of its own, whether its token stands in an address with a scheme, without, or beside.
func TestOwnInbox(t *testing.T) {
	b, err := Start(Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Authenticate: func(secret, _ string) (User, bool) {
		return UserOf("ann", secret, Platform), secret == "token"
	}})
	testbed.OK(t, err)
	defer b.Close()
	host := strings.TrimPrefix(b.URL(), "nats://")
	for address, options := range map[string][]nats.Option{"nats://token@" + host: nil, "nats://ann:token@" + host: nil,
		"token@" + host: nil, host: {nats.Token("token")}} {
		nc, err := Connect(address, options...)
		testbed.OK(t, err)
		if inbox := nc.NewInbox(); !strings.HasPrefix(inbox, InboxOfSecret("token")+".") {
			t.Errorf("%s: %s", address, inbox)
		}
		nc.Close()
	}
}
