package filterbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/wire"
	"jianguo/internal/userbase"
	"jianguo/internal/wait"
)

// buildUserBase writes the state file of a user base: users "u0" to "u<n-1>", of which each
// share has seen the ids "<user>-000000" and on, reported in rounds over all users. The
// reports are a log that a store applies and flushes.
func buildUserBase(ctx context.Context, path string, p exposure.Policy, users int, mix []userbase.Share, rounds int, progress func(done, of int)) error {
	log := &reports{users: users, rounds: rounds, mix: mix, progress: progress, at: time.Now()}
	s, err := exposure.Open(ctx, exposure.Config{Path: path, Log: log, Policies: map[string]exposure.Policy{"": p},
		Relaxed: true, SweepRate: -1, FlushAge: time.Hour, MaxUnflushed: 8 << 20})
	if err != nil {
		return err
	}
	for !s.Ready() && s.Err() == nil && err == nil {
		err = wait.For(ctx, time.Millisecond)
	}
	return errors.Join(err, s.Err(), s.Close())
}

// userName is the user with a number.
func userName(i int) string { return fmt.Sprintf("u%d", i) }

// seenBy is how many ids the user with a number has seen. Shares are dealt out by a
// multiplicative hash, so that neighbours in the file differ.
func seenBy(i int, mix []userbase.Share) int {
	x := float64(uint32(i)*0x9e3779b1) / (1 << 32)
	for _, s := range mix {
		if x -= s.Part; x < 0 {
			return s.Keys
		}
	}
	return mix[len(mix)-1].Keys
}

// reports is an eventlog.Log of the reports of a user base.
type reports struct {
	users, rounds int
	mix           []userbase.Share
	progress      func(done, of int)
	at            time.Time
}

// Consume makes the entries as they are read.
func (l *reports) Consume(ctx context.Context, after uint64, fn func(eventlog.Entry) error) error {
	seq := uint64(0)
	var body []byte
	for round := range l.rounds {
		for i := range l.users {
			n := seenBy(i, l.mix)
			to := n * (round + 1) / l.rounds
			for from := n * round / l.rounds; from < to; from += wire.MaxItems {
				if seq++; seq <= after {
					continue
				}
				body = appendReport(body[:0], userName(i), from, min(to, from+wire.MaxItems))
				if err := fn(eventlog.Entry{Seq: seq, Subject: "exposures.seen.0", Data: body, Time: l.at}); err != nil {
					return err
				}
			}
			if l.progress != nil && i%2000 == 0 {
				l.progress(round*l.users+i, l.rounds*l.users)
			}
		}
	}
	<-ctx.Done()
	return nil
}

// appendReport writes the report that a user has seen the ids [from, to).
func appendReport(b []byte, user string, from, to int) []byte {
	b = append(append(append(b, `{"user":"`...), user...), `","items":[`...)
	for i := from; i < to; i++ {
		b = append(append(b, '"'), user...)
		b = append(b, '-', byte('0'+i/100000%10), byte('0'+i/10000%10), byte('0'+i/1000%10),
			byte('0'+i/100%10), byte('0'+i/10%10), byte('0'+i%10), '"', ',')
	}
	return append(b[:len(b)-1], "]}"...)
}

// State counts the entries that Consume will make.
func (l *reports) State(context.Context) (eventlog.State, error) {
	st := eventlog.State{ID: "user base", First: 1}
	for round := range l.rounds {
		for i := range l.users {
			n := seenBy(i, l.mix)
			n = n*(round+1)/l.rounds - n*round/l.rounds
			st.Last += uint64((n + wire.MaxItems - 1) / wire.MaxItems)
		}
	}
	return st, nil
}

func (l *reports) Append(context.Context, string, []byte) (uint64, error) {
	return 0, eventlog.ErrFull
}
func (l *reports) Release(context.Context, uint64) error { return nil }
func (l *reports) Synced(context.Context, uint64) error  { return nil }
