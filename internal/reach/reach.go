// Package reach finds the bus of a running service for a command.
package reach

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"jianguo/bus"
	"jianguo/bus/gate"
	"jianguo/internal/datadir"
	"jianguo/internal/settings"
)

// Flags say how a command reaches a running service: by its bus.
type Flags struct {
	NATS string `name:"nats" help:"The bus of a running service." placeholder:"URL"`
	Data string `help:"A data directory: that of a running service, which is then used, or one to start a service on for this command." placeholder:"DIR"`
	Access
}

// Access is what a bus asks of a client.
type Access struct {
	Token string `help:"Token for a bus that wants one: that of --nats, or the external one of the service that uses --data." placeholder:"TOKEN"`
	settings.Trust
	StreamPrefix string `help:"Begins the names of the streams of that bus, as for serve; with --data it is known." placeholder:"PREFIX"`

	pin string // hash of the bus's certificate, from the lock file
}

// Choose leaves one of NATS and Data. A flag comes before what the environment says, which the image of a container sets
// for its service, and a bus before a directory.
func (f *Flags) Choose() error {
	if f.NATS == "" || f.Data == "" {
		return nil
	}
	if bus, data := f.NATS == os.Getenv("JIANGUO_NATS"), f.Data == os.Getenv("JIANGUO_DATA"); bus && !data {
		f.NATS = ""
	} else if data {
		f.Data = ""
	} else {
		return errors.New("--nats and --data: give one of them")
	}
	return nil
}

// Reach connects to the bus of a running service: the one that --nats names, or that of the
// service that holds the data directory. If none holds it, open does what the command wants
// in this process; it may return no connection. The caller calls done at the end. If the bus does
// not permit what the command does, ctx becomes one that ends with an error that says so.
func (f *Flags) Reach(ctx *context.Context, log *slog.Logger, open func() (*nats.Conn, func() error, error)) (conn *nats.Conn, done func() error, err error) {
	if err := f.Choose(); err != nil {
		return nil, nil, err
	}
	if f.NATS == "" && f.Data == "" {
		return nil, nil, errors.New("where? give --data DIR, or --nats URL of a running service")
	}
	if f.NATS == "" {
		conn, done, err = open()
		var inUse *datadir.InUseError
		if !errors.As(err, &inUse) || inUse.Holder.NATS == "" {
			return conn, done, err
		}
		// Only the service's own embedded bus has a token in the lock file.
		h := inUse.Holder
		f.NATS, f.Token, f.StreamPrefix, f.pin = h.NATS, cmp.Or(h.Token, f.Token), h.StreamPrefix, h.Pin
	}
	conn, err = f.connect(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	return conn, func() error { conn.Close(); return nil }, nil
}

// gated begins the subjects that an embedded bus maps public ones to.
var gated = regexp.MustCompile(regexp.QuoteMeta(gate.Prefix) + `[^.]*\.`)

// connect connects to the bus of a running service.
func (f *Flags) connect(ctx *context.Context, log *slog.Logger) (*nats.Conn, error) {
	permitted, giveUp := context.WithCancelCause(*ctx)
	*ctx = permitted
	options := append(append(f.Options(), pinned(f.pin)...), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			// The bus names the subject that it mapped the public one to.
			giveUp(fmt.Errorf("bus %s: %s: %s", bus.RedactURL(f.NATS), f.notAllowed(), gated.ReplaceAllString(err.Error(), "")))
			return
		}
		log.Warn("bus", "error", err)
	}))
	if f.Token != "" {
		options = append(options, nats.Token(f.Token))
	}
	conn, err := bus.Connect(f.NATS, options...)
	if errors.Is(err, bus.ErrRefused) {
		err = fmt.Errorf("%w: give one that it knows with --token or JIANGUO_TOKEN, or a file with --nats-creds or JIANGUO_NATS_CREDS", err)
	}
	return conn, err
}

// notAllowed explains a violation of permissions.
func (f *Flags) notAllowed() string {
	if f.Token == "" && !strings.Contains(f.NATS, "@") {
		return "without a token this is not allowed; on its machine, --data and the service's directory will do"
	}
	return "the token given is not for this"
}

// pinned returns the option of a client that accepts the certificate with one hash; an
// empty hash stands for no TLS.
func pinned(pin string) []nats.Option {
	if pin == "" {
		return nil
	}
	return []nats.Option{nats.Secure(&tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		if datadir.PinOf(s.PeerCertificates[0].Raw) != pin {
			return errors.New("this is not the certificate that the lock file names")
		}
		return nil
	}})}
}

// InUse reports whether a process holds a data directory.
func InUse(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	return errors.Is(unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}
