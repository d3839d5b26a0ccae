package exposure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/exposure/kernel"
	"jianguo/exposure/state"
	"jianguo/exposure/story"
	"jianguo/exposure/wire"
	"jianguo/internal/clock"
)

// Format is the form of an answer's bytes.
type Format uint8

const (
	JSON   Format = iota // {"items":[...],"relaxed":[...],"dropped":n,"degraded":"..."}
	Bitmap               // bit i%8, from the lowest, of byte i/8 is 1 where item i is in the answer
)

// request is the memory of one filter request.
type request struct {
	wire.Query
	answer wire.Answer
	keys   []uint32
	marks  []byte
	order  []uint32 // for at_least: rank<<16 | number of an id that only shards hold

	links      state.Links // of the user asked last
	users      []string    // whose histories count
	otherKeys  []uint32    // keys and marks of such a user
	otherMarks []byte
	stories    story.Found // with scope story
}

var requests = sync.Pool{New: func() any { return new(request) }}

// FilterBytes answers a request from its bytes, and appends the answer to dst. Ids in a JSON answer are copied from
// the request as they were spelled. A Bitmap of ⌈n/8⌉ bytes is followed by a second one for relaxed items if at_least
// was given.
func (s *Store) FilterBytes(ctx context.Context, dst, body []byte, format Format) ([]byte, wire.Outcome, error) {
	r := requests.Get().(*request)
	defer requests.Put(r)
	if err := r.Decode(body); err != nil {
		return dst, wire.Outcome{}, err
	}
	if !r.HasItems {
		return dst, wire.Outcome{}, wire.Invalidf("items", "is missing")
	}
	o, err := s.filter(ctx, r)
	if err != nil {
		return dst, wire.Outcome{}, err
	}
	if format == Bitmap {
		return r.answer.AppendBitmap(dst), o, nil
	}
	return r.answer.AppendJSON(dst, o), o, nil
}

// wantsStories says that what the other items of a story were shown counts as well.
func (r *request) wantsStories() bool { return r.Scope == "telling" || r.Scope == "story" }

func (r *request) check() error {
	if err := cmp.Or(wire.CheckName("user", r.User, true), wire.CheckName("scene", r.Scene, false)); err != nil {
		return err
	}
	switch {
	case r.Scope != "" && r.Scope != "item" && r.Scope != "telling" && r.Scope != "story":
		return wire.Invalidf("scope", "is %.60q: item, telling or story", r.Scope)
	case r.Adds < 0 || r.Adds > 0 && r.Scope != "story":
		return wire.Invalidf("adds", "is a number of characters, with the scope story")
	case r.Mark != "" && r.Mark != "delivered":
		return wire.Invalidf("mark", "is %.60q: only delivered can be marked", r.Mark)
	case r.Max < 0:
		return wire.Invalidf("max", "is negative")
	case r.AtLeast < 0:
		return wire.Invalidf("at_least", "is negative")
	case r.DeadlineMS < 0:
		return wire.Invalidf("deadline_ms", "is negative")
	case r.Max > 0 && r.AtLeast > r.Max:
		return wire.Invalidf("at_least", "is %d, more than max, which is %d", r.AtLeast, r.Max)
	case r.Mark != "" && (r.Max == 0 || r.Max > state.RingSize):
		return wire.Invalidf("mark",
			"needs max between 1 and %d: report what was delivered to POST /exposures after ranking", state.RingSize)
	}
	return nil
}

// filter answers a decoded request: r.answer is ready to be written.
func (s *Store) filter(ctx context.Context, r *request) (wire.Outcome, error) {
	if err := r.check(); err != nil {
		return wire.Outcome{}, err
	}
	if errors.Is(s.Err(), ErrClosed) {
		return wire.Outcome{}, ErrClosed
	}
	s.metrics.requests.Inc()
	s.metrics.candidates.Add(float64(r.Len()))
	if r.DeadlineMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.DeadlineMS)*time.Millisecond)
		defer cancel()
	}
	degraded := ""
	if r.wantsStories() {
		if s.cfg.Stories == nil {
			return wire.Outcome{}, wire.Invalidf("scope", "%s is not available: this service has no articles", r.Scope)
		}
		r.stories.Clear()
		if !s.cfg.Stories.Ready() {
			degraded = "story"
		}
	}
	r.order = r.order[:0]
	if err := s.markSeen(ctx, r); err != nil {
		degraded = s.degrade(r, err)
	}
	n := r.Len()
	r.answer.Query, r.answer.Keys, r.answer.Marks, r.answer.Order = &r.Query, r.keys[:n], r.marks[:n], r.order
	o := r.answer.Choose()
	o.Degraded = degraded
	s.traceFilter(ctx, r, o)
	if r.Mark != "" && (o.Degraded == "" || o.Degraded == "story") && o.Items+o.Relaxed > 0 {
		if err := s.markDelivered(ctx, r); err != nil {
			if ctx.Err() == nil && !errors.Is(err, nats.ErrDisconnected) || errors.Is(err, ErrFull) {
				return wire.Outcome{}, err
			}
			// The report may or may not arrive, which the answer says. The answer itself
			// is that of the user's state.
			s.metrics.degraded.Inc()
			o.Degraded = "mark: " + reasonOf(err) + ", and the report may or may not count"
		}
	}
	return o, nil
}

// keysOf are the keys of a request for a user: those of its items, and those of the stories found.
func (s *Store) keysOf(r *request, dst []uint32, user string) []uint32 {
	seed := wire.Seed(&s.secret, user)
	dst = r.Keys(dst, seed)
	if r.wantsStories() {
		dst = r.stories.AppendKeys(dst, seed)
	}
	return dst
}

// markSeen marks the keys by the histories that the scene reads.
func (s *Store) markSeen(ctx context.Context, r *request) (err error) {
	reads := s.scene(r.Scene).Reads
	if s.fleet != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, redisWait)
		defer cancel()
	}
	for i, history := range reads {
		if err = s.markInHistory(ctx, r, history, i == 0); err != nil {
			break
		}
	}
	if err != nil || len(reads) == 0 {
		r.keys = s.keysOf(r, r.keys, r.User)
		r.marks = slices.Grow(r.marks[:0], len(r.keys))[:len(r.keys)]
		clear(r.marks)
	}
	if err != nil {
		return err
	}
	if r.wantsStories() {
		r.stories.Spread(r.Scope == "story", r.Adds, r.keys, r.marks)
	}
	r.sortOrder()
	return nil
}

// markInHistory marks the keys by one history, of the user and of those linked to the user. What another history than
// the first holds is never relaxed.
func (s *Store) markInHistory(ctx context.Context, r *request, history string, first bool) error {
	r.users = append(r.users[:0], r.User)
	for i := 0; i < len(r.users); i++ {
		firstState := first && i == 0
		if err := s.markByState(ctx, r, history, r.users[i], firstState); err != nil {
			return err
		}
		if !firstState {
			r.mergeMarks(first)
		}
		r.users = state.Union(r.users, r.links.From)
	}
	return nil
}

func (r *request) mergeMarks(relaxed bool) {
	for i, mark := range r.otherMarks {
		if mark == kernel.InShard && !relaxed {
			mark = kernel.Exact
		}
		if mark == kernel.Exact || r.marks[i] == kernel.Unseen {
			r.marks[i] = mark
		}
	}
}

// markByState marks keys by the state of a user in one history, which it reads if it is not in memory: of the first
// state, the user's own, r.keys into r.marks; of a later history of the user, the same keys into r.otherMarks; of a
// linked user, r.otherKeys into r.otherMarks.
func (s *Store) markByState(ctx context.Context, r *request, history, user string, first bool) (err error) {
	if err := s.notReady(); err != nil {
		return err
	}
	c, e, known := s.entry(history, user)
	now := s.cfg.Clock().In(s.cfg.Location)
	// Checked again: if the store failed and resumed meanwhile, the entry may lack events
	// that are still to be read from the log.
	if err := s.notReady(); err != nil {
		c.release(e, known)
		return err
	}
	ticket := e.tickets.Add(1)
	var version func() (string, error)
	if s.fleet != nil && known { // the answer is not waited for yet
		version = s.fleet.Redis.Ask(ctx, e.addr)
	}
	keys, marks, aged := &r.keys, &r.marks, len(r.order)
	if user != r.User {
		keys = &r.otherKeys
	}
	if !first {
		marks = &r.otherMarks
	}
	if first || user != r.User {
		*keys = s.keysOf(r, *keys, user)
	}
	*marks = slices.Grow((*marks)[:0], len(*keys))[:len(*keys)]
	var exact, inShards int // by the last view
	mark := func(v *state.View) {
		r.order = r.order[:aged]
		if first && r.wantsStories() { // items that this state holds need no story
			exact, inShards = s.markAndFindStories(v, r)
		} else {
			exact, inShards = s.markKeys(v, r, *keys, *marks)
		}
	}
	var done, fetched bool
	if s.fleet != nil {
		done, fetched, err = s.fleet.refresh(ctx, e, ticket, version, func() bool { return useView(e, now, mark) })
	}
	if !done && err == nil {
		done, err = useViewOrLock(ctx, e, now, mark)
	}
	if done || err != nil {
		c.release(e, known || err == nil)
	} else {
		fetched = fetched || e.st == nil
		if err = s.loadWhole(ctx, e); err == nil {
			mark(e.st.View(e.pol, now, e.hits))
		}
		c.unlockAndRelease(e, known || err == nil)
	}
	if err == nil {
		s.metrics.marked(fetched, exact, inShards)
	}
	return err
}

// markAndFindStories marks the request's items by the first state, then finds the stories of those that it does not
// hold, and marks the other items of these stories.
func (s *Store) markAndFindStories(v *state.View, r *request) (exact, inShards int) {
	n := r.Len()
	exact, inShards = s.markKeys(v, r, r.keys[:n], r.marks[:n])
	r.stories.Find(s.cfg.Stories, &r.Query, r.marks[:n], r.AtLeast > 0)
	r.keys = r.stories.AppendKeys(r.keys[:n], wire.Seed(&s.secret, r.User))
	r.marks = slices.Grow(r.marks[:n], len(r.keys)-n)[:len(r.keys)]
	v.Mark(r.keys[n:], r.marks[n:])
	return exact, inShards
}

// useViewOrLock marks keys by the view in memory, or else locks the entry. It waits for another request that is
// reading the user's row no longer than ctx.
func useViewOrLock(ctx context.Context, e *entry, now time.Time, mark func(*state.View)) (done bool, err error) {
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		if e.mu.TryRLock() {
			done = useView(e, now, mark)
			e.mu.RUnlock()
		}
		if done || e.mu.TryLock() {
			return done, nil
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}

// useView marks keys by the view in memory, if there is one that is still valid. The caller holds e.mu for reading.
func useView(e *entry, now time.Time, mark func(*state.View)) bool {
	if e.st == nil || e.st.CachedView() == nil || now.Unix() >= e.st.CachedView().Until {
		return false
	}
	mark(e.st.CachedView())
	return true
}

// loadWhole makes sure that the whole state is in memory. The caller holds e.mu.
func (s *Store) loadWhole(ctx context.Context, e *entry) error {
	if err := s.load(ctx, e); err != nil {
		return err
	}
	if err := e.st.Need(s.db.fetch(ctx)); err != nil {
		return err
	}
	e.hits++
	return ctx.Err()
}

// markKeys marks keys by a view, counts those it holds, and notes the age of those that only shards hold for at_least.
func (s *Store) markKeys(v *state.View, r *request, keys []uint32, marks []byte) (exact, inShards int) {
	exact, inShards = v.Mark(keys, marks)
	if s.metrics.viewsUsed.Add(1)%rateEvery == 1 {
		s.metrics.measureRate(v)
	}
	r.links = v.Links
	if r.AtLeast == 0 {
		return exact, inShards
	}
	for i, mark := range marks[:r.Len()] {
		if mark == kernel.InShard {
			r.order = append(r.order, uint32(v.Lanes.Rank(keys[i]))<<16|uint32(i))
		}
	}
	return exact, inShards
}

// sortOrder orders the ids that only shards hold for at_least: by the age of the newest shard
// that holds them, oldest first.
func (r *request) sortOrder() {
	slices.Sort(r.order)
	last := map[uint32]int{}
	for i, o := range r.order {
		r.order[i] = o & (1<<16 - 1)
		last[r.order[i]] = i
	}
	at := 0
	for i, number := range r.order {
		if r.marks[number] == kernel.InShard && last[number] == i {
			r.order[at] = number
			at++
		}
	}
	r.order = r.order[:at]
}

// degrade answers without the state.
func (s *Store) degrade(r *request, err error) string {
	mark, mode := byte(kernel.Unseen), "open"
	if s.cfg.FailClosed {
		mark, mode = kernel.Exact, "closed"
	}
	for i := range r.marks {
		r.marks[i] = mark
	}
	r.order = r.order[:0]
	s.metrics.degraded.Inc()
	reason := reasonOf(err)
	if reason == unread && !errors.Is(err, ErrFailed) && s.Trouble() == nil { // else it was logged, for all
		s.cfg.Logger.Error("exposure: filter without state", "mode", mode, "err", err)
	}
	return fmt.Sprintf("%s: %s", mode, reason)
}

const unread = "the state could not be read"

func reasonOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the deadline passed"
	case errors.Is(err, context.Canceled):
		return "the request was cancelled"
	case errors.Is(err, nats.ErrDisconnected):
		return "the bus is away"
	case errors.Is(err, ErrNotReady):
		return "the server is still replaying its log"
	}
	return unread
}

// markDelivered reports the answer, and returns when that is durable and applied.
func (s *Store) markDelivered(ctx context.Context, r *request) error {
	ev := Event{Kind: state.Delivered, User: r.User, Scene: r.Scene}
	for i, mark := range r.marks[:r.Len()] {
		if mark == kernel.Unseen || mark == wire.Relaxed {
			ev.Items = append(ev.Items, string(r.ID(i)))
		}
	}
	return s.Expose(ctx, ev)
}
