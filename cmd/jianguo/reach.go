package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/bus/gate"
	"jianguo/internal/datadir"
)

// reachFlags say how a command reaches a running service: by its bus.
type reachFlags struct {
	NATS string `name:"nats" help:"The bus of a running service." placeholder:"URL"`
	Data string `help:"The directory of a running service." placeholder:"DIR"`
	busAccess
}

// busAccess is what a bus asks of a client.
type busAccess struct {
	Token string `help:"Token for a bus that wants one; --data of an embedded one does without." placeholder:"TOKEN"`
	busTrust
	StreamPrefix string `help:"Begins the names of the streams, as for serve." placeholder:"PREFIX"`

	lock datadir.Holder // of the service whose embedded bus is meant; zero: it is another bus
}

// choose leaves one of NATS and Data. A flag comes before what the environment says, which the image of a
// container sets for its service, and a bus before a directory.
func (f *reachFlags) choose() error {
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

// acquire locks the data directory for a command. If a service holds it, there is no lock, and connect reaches the
// bus of that service.
func (f *reachFlags) acquire(command string) (*datadir.Lock, error) {
	lock, err := datadir.Acquire(f.Data, datadir.Holder{Command: command})
	if held, ok := errors.AsType[*datadir.InUseError](err); ok && held.Holder.NATS != "" {
		f.use(held.Holder)
		return nil, nil
	}
	return lock, err
}

// reach connects to the bus of a running service.
func (f *reachFlags) reach(co *stdio) (*nats.Conn, error) {
	if err := f.choose(); err != nil {
		return nil, err
	}
	switch {
	case f.NATS == "" && f.Data == "":
		return nil, errors.New("where? give --data DIR, or --nats URL of a running service")
	case f.NATS == "":
		holder, err := datadir.Running(f.Data)
		if err != nil {
			return nil, err
		}
		f.use(holder)
	}
	return f.connect(co)
}

// use takes the address of a service. Only the embedded bus of a service has a token in the lock file.
func (f *reachFlags) use(h datadir.Holder) {
	f.NATS, f.StreamPrefix = h.NATS, h.StreamPrefix
	if h.Token != "" {
		f.lock = h
	}
}

// now is what the lock file says; a service that starts again has another token, and maybe another address.
func (f *reachFlags) now() datadir.Holder {
	h, _ := datadir.ReadHolder(f.Data) // without one nothing answers yet
	return h
}

// Dial implements nats.CustomDialer.
func (f *reachFlags) Dial(network, _ string) (net.Conn, error) {
	at, err := url.Parse(f.now().NATS)
	if err != nil {
		return nil, err
	}
	return net.DialTimeout(network, at.Host, 5*time.Second)
}

// gated begins the subjects that an embedded bus maps public ones to.
var gated = regexp.MustCompile(regexp.QuoteMeta(gate.Prefix) + `[^.]*\.`)

// connect connects to the bus of a running service. If the bus does not permit what the command does, the context of
// the command ends with an error that says so.
func (f *reachFlags) connect(co *stdio) (*nats.Conn, error) {
	permitted, giveUp := context.WithCancelCause(co.ctx)
	co.ctx = permitted
	options := append(f.options(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription,
		err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			// The bus names the subject that it mapped the public one to.
			giveUp(fmt.Errorf("bus %s: %s: %s", bus.RedactURL(f.NATS), f.notAllowed(),
				gated.ReplaceAllString(err.Error(), "")))
			return
		}
		co.log.Warn("bus", "error", err)
	}))
	if f.lock.Token != "" {
		options = append(append(options, pinned(f.lock.Pin)...), nats.SetCustomDialer(f), nats.IgnoreAuthErrorAbort(),
			nats.TokenHandler(func() string { return f.now().Token }),
			nats.CustomInboxPrefix(bus.InboxOfSecret(f.lock.Token)))
	} else if f.Token != "" {
		options = append(options, nats.Token(f.Token))
	}
	conn, err := bus.Connect(f.NATS, options...)
	if errors.Is(err, bus.ErrRefused) {
		err = fmt.Errorf("%w: give one that it knows with --token or JIANGUO_TOKEN, or a file with --nats-creds or "+
			"JIANGUO_NATS_CREDS", err)
	}
	return conn, err
}

// notAllowed explains a violation of permissions.
func (f *reachFlags) notAllowed() string {
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
	return []nats.Option{nats.Secure(&tls.Config{InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if datadir.PinOf(s.PeerCertificates[0].Raw) != pin {
				return errors.New("this is not the certificate that the lock file names")
			}
			return nil
		}})}
}
