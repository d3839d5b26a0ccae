package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/bus/gate"
	"jianguo/internal/datadir"
)

// busFlags say how a command reaches a running service: by its bus.
type busFlags struct {
	NATS      string `name:"nats" help:"The bus of a running service." placeholder:"URL" xor:"where"`
	Data      string `help:"A data directory: that of a running service, which is then used, or one to open in this process." placeholder:"DIR" xor:"where"`
	Token     string `help:"With --nats: the token for a bus that wants one." placeholder:"TOKEN"`
	NATSCreds string `name:"nats-creds" help:"With --nats: file of credentials for the bus." type:"existingfile" placeholder:"FILE"`
}

// serviceThatHolds returns how to reach the service that holds a data directory. err
// is the error of locking it; ok is false if it has another cause.
func serviceThatHolds(err error) (f busFlags, ok bool) {
	var inUse *datadir.InUseError
	if !errors.As(err, &inUse) || inUse.Holder.NATS == "" {
		return f, false
	}
	return busFlags{NATS: inUse.Holder.NATS, Token: inUse.Holder.Token}, true
}

// connectBus connects to the bus of a running service. If the bus does not permit
// what this command does, the command ends with an error that says so.
func (f *busFlags) connectBus(co *streams) (*nats.Conn, error) {
	ctx, giveUp := context.WithCancelCause(co.ctx)
	co.ctx = ctx
	options := append(credentials(f.NATSCreds), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			// The bus names the subject that it mapped the public one to.
			giveUp(fmt.Errorf("bus %s: %s: %s", bus.RedactURL(f.NATS), f.notAllowed(), strings.Replace(err.Error(), gate.Prefix, "", 1)))
			return
		}
		co.log.Warn("bus", "error", err)
	}))
	if f.Token != "" {
		options = append(options, nats.Token(f.Token))
	}
	conn, err := bus.Connect(f.NATS, options...)
	if errors.Is(err, bus.ErrRefused) {
		err = fmt.Errorf("%w: give one that it knows with --token or JIANGUO_TOKEN", err)
	}
	return conn, err
}

// notAllowed explains a violation of permissions.
func (f *busFlags) notAllowed() string {
	if f.Token == "" && !strings.Contains(f.NATS, "@") {
		return "without a token this is not allowed; on its machine, --data and the service's directory will do"
	}
	return "the token given is not for this"
}

// credentials returns the option for a file of credentials; file may be empty.
func credentials(file string) []nats.Option {
	if file == "" {
		return nil
	}
	return []nats.Option{nats.UserCredentials(file)}
}
