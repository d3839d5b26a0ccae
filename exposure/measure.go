package exposure

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// KernelCost is the time the kernel takes for one candidate against all that a user
// with so many seen ids has, hashing of the id included: the best of a number of
// rounds, since whatever else the machine does only ever adds to it. Half of the
// candidates are among the seen. Ids have 14 characters.
func KernelCost(p Policy, seen, candidates int) (time.Duration, float64, error) {
	p, err := p.withDefaults()
	if err != nil {
		return 0, 0, err
	}
	var secret [32]byte
	seed := seedOf(&secret, "kernel")
	s := &state{}
	now := time.Now()
	id := func(i int) []byte { return fmt.Appendf(nil, "item-%09d", i) }
	for i := range seen {
		if err := s.see(&p, []uint32{keyOf(id(i), seed)}, now, now, nil); err != nil {
			return 0, 0, err
		}
	}
	var m message
	for i := range candidates {
		from := uint32(len(m.body))
		m.body = append(m.body, id(seen-candidates/2+i)...)
		m.spans = append(m.spans, span{from, uint32(len(m.body))})
	}
	m.marks = make([]byte, candidates)
	v := s.look(&p, now, laneHits)
	best := time.Hour
	for range 2000 {
		start := time.Now()
		m.hash(seed)
		v.mark(m.keys, m.marks)
		best = min(best, time.Since(start))
	}
	return best, float64(best.Nanoseconds()) / float64(candidates), nil
}

// MeasuredRate fills every shard a policy reads to its capacity and returns the share
// of random keys that test positive in at least one of them, beside what the formula
// says.
func MeasuredRate(p Policy, users, tests int) (measured, theory float64, err error) {
	p, err = p.withDefaults()
	if err != nil {
		return 0, 0, err
	}
	hits := 0
	for range users {
		s := &state{last: time.Now().Unix()}
		now := time.Now()
		for epoch := p.oldestEpoch(now); len(s.shards) < p.slots(); epoch++ {
			for range p.Slots {
				i := s.open(&p, epoch)
				sh := &s.shards[i]
				for sh.count < sh.capacity {
					h := baseHashes(rand.Uint32())
					if addToShard(sh.words, newModulus(sh.m), uint64(sh.k), h) {
						sh.count++
					}
				}
			}
		}
		v := s.look(&p, now, laneHits)
		keys, marks := make([]uint32, tests/users), make([]byte, tests/users)
		for i := range keys {
			keys[i] = rand.Uint32() | 1
		}
		_, in := v.mark(keys, marks)
		hits += in
		theory += theoreticalRate(s.shards) / float64(users)
	}
	return float64(hits) / float64(tests/users*users), theory, nil
}

// BuildMix writes the state file of a user base, through the same path that events
// take: users "u0" to "u<n-1>", of which each share has seen the ids "<user>-000000"
// and on, reported in rounds spread over all users, as they would be in life. It is
// for benchmarks; the log of the events is not kept.
func BuildMix(ctx context.Context, path string, p Policy, users int, mix []Share, rounds int, progress func(done, of int)) error {
	log := &mixLog{users: users, mix: mix, rounds: rounds, progress: progress}
	s, err := Open(ctx, Config{Path: path, Log: log, Policies: map[string]Policy{"": p}, Durability: Relaxed,
		MaxUnflushed: 1 << 21, FlushAge: time.Hour, SweepRate: -1, unpopular: true})
	if err != nil {
		return err
	}
	if err := s.WaitReady(ctx); err != nil {
		s.Close()
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return nil
}

// MixUser is the user with a number, and MixKeys how many ids he has seen: shares are
// dealt out by a multiplicative hash, so that neighbours in the file differ.
func MixUser(i int) string { return fmt.Sprintf("u%d", i) }

// MixKeys is how many ids the user with a number has seen.
func MixKeys(i int, mix []Share) int {
	x := float64(uint32(i)*0x9e3779b1) / (1 << 32)
	for _, s := range mix {
		if x -= s.Part; x < 0 {
			return s.Keys
		}
	}
	return mix[len(mix)-1].Keys
}

// mixLog is a log that makes its events up as they are read.
type mixLog struct {
	users, rounds int
	mix           []Share
	progress      func(done, of int)
}

func (l *mixLog) Append(context.Context, string, []byte) (uint64, error) { return 0, ErrFull }
func (l *mixLog) Route(context.Context, Entry, string) error             { return ErrFull }
func (l *mixLog) Release(context.Context, uint64) error                  { return nil }

func (l *mixLog) State(context.Context) (LogState, error) {
	last := uint64(l.users * l.rounds)
	return LogState{ID: "mix", First: 1, Last: last, Mine: last}, nil
}

func (l *mixLog) Consume(ctx context.Context, after uint64, fn func(Entry) error) error {
	now := time.Now()
	var body []byte
	for n := int(after); n < l.users*l.rounds; n++ {
		// A fixed permutation: users report in no order the file could like.
		round, i := n/l.users, int(uint64(n%l.users)*2654435761%uint64(l.users))
		if l.users%2654435761 == 0 {
			i = n % l.users
		}
		keys := MixKeys(i, l.mix)
		user := MixUser(i)
		name, _ := json.Marshal(user)
		body = append(append(append(body[:0], `{"user":`...), name...), `,"items":[`...)
		from, to := keys*round/l.rounds, keys*(round+1)/l.rounds
		for k := from; k < to; k++ {
			if k > from {
				body = append(body, ',')
			}
			body = append(append(append(body, '"'), user...), '-',
				byte('0'+k/100000%10), byte('0'+k/10000%10), byte('0'+k/1000%10), byte('0'+k/100%10), byte('0'+k/10%10), byte('0'+k%10), '"')
		}
		body = append(body, "]}"...)
		if to == from {
			continue
		}
		if err := fn(Entry{Seq: uint64(n) + 1, Subject: subjectPrefix + "seen.0", Data: body, Time: now}); err != nil {
			return err
		}
		if l.progress != nil && n%1000 == 0 {
			l.progress(n, l.users*l.rounds)
		}
	}
	<-ctx.Done()
	return nil
}
