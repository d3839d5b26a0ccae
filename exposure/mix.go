package exposure

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// BuildMix writes so many users at once, and commits after so many. Users in no order
// touch a page of the tree each; what is written with a commit is every page touched,
// and with few enough commits that is each page once or twice a round. Until then the
// writer's cache is to hold them.
const (
	mixBatch   = 2000
	mixCommit  = 125 * mixBatch
	mixCacheKB = 1 << 20
)

// BuildMix writes the state file of a user base: users "u0" to "u<n-1>", of which each
// share has seen the ids "<user>-000000" and on, reported in rounds spread over all
// users, as they would be in life. In each round every user's state is read, changed
// and written as by an event and its flush (see, snapshot, put); there is no log, no
// JSON and no sync, and users are worked on by all processors. It is for benchmarks.
func BuildMix(ctx context.Context, path string, p Policy, users int, mix []Share, rounds int, progress func(done, of int)) error {
	s, err := Open(ctx, Config{Path: path, Log: noLog{}, Policies: map[string]Policy{"": p}, Durability: Relaxed, SweepRate: -1})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, pragma := range []string{"PRAGMA synchronous = OFF", "PRAGMA wal_autocheckpoint = 16384", fmt.Sprintf("PRAGMA cache_size = -%d", mixCacheKB)} {
		if _, err := s.db.write.ExecContext(ctx, pragma); err != nil {
			return err
		}
	}
	b := &mixBuilder{s: s, mix: mix, rounds: rounds, now: time.Now().In(s.cfg.Location)}
	for round := range rounds {
		if err := b.round(ctx, round, users, progress); err != nil {
			return err
		}
	}
	return s.Close()
}

type mixBuilder struct {
	s      *Store
	mix    []Share
	rounds int
	now    time.Time
}

// round reports once for every user. Batches are made while the one before is written.
func (b *mixBuilder) round(ctx context.Context, round, users int, progress func(done, of int)) error {
	var write errgroup.Group // of the batch before: users of a round are written once
	var f *flushTx           // owned by write, and by this between two batches
	defer func() {
		_ = write.Wait()
		if f != nil {
			_ = f.tx.Rollback()
		}
	}()
	for from := 0; from < users; from += mixBatch {
		to := min(from+mixBatch, users)
		batch, err := b.batch(ctx, round, from, to, users)
		if err == nil {
			err = write.Wait()
		}
		if err == nil && f == nil {
			f, err = b.s.beginFlush(ctx)
		}
		if err != nil {
			return err
		}
		write.Go(func() error {
			for _, r := range batch {
				if err := f.put(r.addr, r.snap); err != nil {
					return err
				}
			}
			if to%mixCommit != 0 && to < users {
				return nil
			}
			done := f
			f = nil
			return done.tx.Commit()
		})
		if progress != nil {
			progress(round*users+from, b.rounds*users)
		}
	}
	return write.Wait()
}

type mixRow struct {
	addr string
	snap *snapshot
}

// batch makes the new images of some users, in the order of their rows.
func (b *mixBuilder) batch(ctx context.Context, round, from, to, users int) ([]mixRow, error) {
	out := make([]mixRow, to-from)
	var g errgroup.Group
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		g.Go(func() error {
			for n := from + w; n < to; n += workers {
				// A fixed permutation: users report in no order the file could like.
				i := int(uint64(n) * 2654435761 % uint64(users))
				if users%2654435761 == 0 {
					i = n
				}
				var err error
				if out[n-from], err = b.report(ctx, i, round); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(r mixRow) bool { return r.snap == nil })
	slices.SortFunc(out, func(x, y mixRow) int { return strings.Compare(x.addr, y.addr) })
	return out, nil
}

// report is a user after the report of a round.
func (b *mixBuilder) report(ctx context.Context, i, round int) (mixRow, error) {
	n := MixKeys(i, b.mix)
	from, to := n*round/b.rounds, n*(round+1)/b.rounds
	if from == to {
		return mixRow{}, nil
	}
	user := MixUser(i)
	seed, keys := seedOf(&b.s.secret, user), make([]uint32, 0, to-from)
	id := make([]byte, 0, 32)
	for k := from; k < to; k++ {
		id = append(append(id[:0], user...), '-', byte('0'+k/100000%10), byte('0'+k/10000%10),
			byte('0'+k/1000%10), byte('0'+k/100%10), byte('0'+k/10%10), byte('0'+k%10))
		keys = append(keys, keyOf(id, seed))
	}
	addr, r := address("", user), b.s.db.rows(ctx)
	st, err := r.load(addr)
	if err == nil {
		err = st.see(b.s.policies[""], keys, b.now, b.now, r.fetch)
	}
	if err != nil {
		return mixRow{}, err
	}
	return mixRow{addr, b.s.snapshot(addr, st)}, nil
}

// noLog is a log without events.
type noLog struct{}

func (noLog) Append(context.Context, string, []byte) (uint64, error) { return 0, ErrFull }
func (noLog) Route(context.Context, Entry, string) error             { return ErrFull }
func (noLog) Release(context.Context, uint64) error                  { return nil }
func (noLog) Synced(context.Context, uint64) error                   { return nil }
func (noLog) State(context.Context) (LogState, error)                { return LogState{ID: "none"}, nil }

func (noLog) Consume(ctx context.Context, _ uint64, _ func(Entry) error) error {
	<-ctx.Done()
	return nil
}
