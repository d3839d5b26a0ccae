// Package client has the commands that a user of a service runs.
package client

import (
	"errors"
	"log/slog"
	"syscall"

	"github.com/nats-io/nats.go"

	"jianguo/internal/companion"
	"jianguo/internal/datadir"
	"jianguo/internal/reach"
	"jianguo/internal/settings"
)

// Main runs the command that the first argument names.
func Main(args []string) {
	syscall.Umask(0o077) // what is written is about users, and for this user only
	companion.Commands{
		"check":  {Command: new(checkCmd), About: "Shows the verdict an article would get; nothing is stored."},
		"dead":   {Command: new(deadCmd), About: "Lists, shows, replays or drops messages that were refused."},
		"demo":   {Command: new(demoCmd), About: "Runs the service on the bundled sample corpus and shows its verdicts."},
		"health": {Command: new(healthCmd), About: "Asks a running service whether it answers, for container engines and scripts."},
		"ingest": {Command: new(ingestCmd), About: "Publishes articles from files and waits for their verdicts."},
		"token":  {Command: new(tokenCmd), About: "Adds, lists or revokes tokens in a file of tokens."},
	}.Main(args)
}

// judging are the flags of a service that judges.
type judging struct {
	Language string `help:"Language of reasons, ${enum}." enum:"zh,en" default:"zh"`
	settings.Policy
	settings.Segment
}

// connect connects to the bus of a running service. Where none runs on the data directory, one is started; done
// ends it.
func connect(co *companion.Streams, f *reach.Flags, level slog.Level) (conn *nats.Conn, done func() error, err error) {
	if err := f.Choose(); err != nil {
		return nil, nil, err
	}
	var s *service
	if f.NATS == "" && f.Data != "" && !reach.InUse(f.Data) {
		s, err = start(co, f.Data, append([]string{"--listen=127.0.0.1:0", "--nats-listen=127.0.0.1:0", "--log-level=" + level.String()}, co.Service...))
		if err != nil {
			return nil, nil, err
		}
	}
	conn, closeConn, err := f.Reach(&co.Ctx, co.Log, func() (*nats.Conn, func() error, error) {
		holder, err := datadir.ReadHolder(f.Data)
		return nil, nil, errors.Join(err, &datadir.InUseError{Dir: f.Data, Holder: holder})
	})
	if err != nil {
		return nil, nil, s.stopAfter(err)
	}
	return conn, func() error { return s.stopAfter(closeConn()) }, nil
}
