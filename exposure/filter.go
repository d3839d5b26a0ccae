package exposure

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// Request asks which items a user has not been shown.
type Request struct {
	User  string
	Items []string
	Scene string
	Scope string // "" or "item"; "story" needs Config.Stories
	// Max cuts the answer; 0 does not.
	Max int
	// AtLeast brings back up to so many items that only shards hold, those of
	// the oldest shard first, never what tail or ring hold.
	AtLeast int
	// Mark reports the answer as delivered before it is given. It takes a Max
	// of at most RingSize: who ranks afterwards reports what was delivered then.
	Mark bool
	// Deadline bounds the wait for the user's state; 0 does not.
	Deadline time.Duration
}

// Response answers in the order asked. An id asked for twice is answered once.
type Response struct {
	Items    []string
	Relaxed  []string
	Dropped  int    // ids not answered because seen, delivered or repeated
	Degraded string // "" or why everything (open) or nothing (closed) was returned
}

// Outcome is what is known of an answer besides the ids.
type Outcome struct {
	Items, Relaxed, Dropped int
	Degraded                string
	Count                   int // ids asked for
}

// Final marks, after those of the kernel.
const (
	relaxed = 3
	cut     = 4 // unseen, but past Max
	repeat  = 5
)

var messages = sync.Pool{New: func() any { return new(message) }}

// hash computes the keys of all ids.
func (m *message) hash(seed uint64) {
	m.keys = slices.Grow(m.keys[:0], len(m.spans))[:len(m.spans)]
	body, keys := m.body, m.keys
	for i := 0; i < len(keys); {
		i += m.hashVector(i, seed)
		for end := min(i+8, len(keys)); i < end; i++ {
			// Most ids have 9 to 16 bytes. Nothing is called for those, so that the
			// multiplications of one overlap with those of the next.
			sp := m.spans[i]
			if n := sp.to - sp.from; n-9 <= 7 && sp.from&isOdd == 0 {
				id := body[sp.from:sp.to]
				keys[i] = nonZero(hash16(binary.LittleEndian.Uint64(id), binary.LittleEndian.Uint64(id[len(id)-8:]), uint64(n), seed))
			} else {
				keys[i] = keyOf(m.id(i), seed)
			}
		}
	}
}

// Filter answers a request.
func (s *Store) Filter(ctx context.Context, req Request) (Response, error) {
	m := messages.Get().(*message)
	defer messages.Put(m)
	m.reset(nil)
	m.user, m.scene, m.scope = req.User, req.Scene, req.Scope
	m.max, m.atLeast, m.deadlineMS = req.Max, req.AtLeast, int(req.Deadline.Milliseconds())
	if req.Deadline > 0 && m.deadlineMS == 0 {
		m.deadlineMS = 1
	}
	if req.Mark {
		m.mark = "delivered"
	}
	if len(req.Items) > MaxItems {
		return Response{}, tooLarge("items", "has %d ids, the limit is %d", len(req.Items), MaxItems)
	}
	for i, id := range req.Items {
		if n := len(id); n == 0 || n > MaxIDBytes {
			return Response{}, idLength(i, n)
		}
		if !utf8.ValidString(id) {
			return Response{}, malformed("items", "id %d is not UTF-8", i)
		}
		from := len(m.scratch)
		m.scratch = append(m.scratch, id...)
		m.addOdd(0, 0, from)
	}
	o, err := s.filter(ctx, m)
	if err != nil {
		return Response{}, err
	}
	r := Response{Items: make([]string, 0, o.Items), Dropped: o.Dropped, Degraded: o.Degraded}
	for _, i := range m.answer {
		r.Items = append(r.Items, req.Items[i])
	}
	for i, mark := range m.marks {
		if mark == relaxed {
			r.Relaxed = append(r.Relaxed, req.Items[i])
		}
	}
	return r, nil
}

// Format is the form of an answer's bytes.
type Format uint8

const (
	JSON   Format = iota // {"items":[...],"relaxed":[...],"dropped":n,"degraded":"..."}
	Bitmap               // bit i%8, from the lowest, of byte i/8 is 1 where item i is in the answer
)

// FilterJSON answers a JSON request from its bytes, appending to dst. Ids in a JSON
// answer are copied from the request as they were spelled. A Bitmap of ⌈n/8⌉ bytes
// is followed by a second one for relaxed items if at_least was given.
func (s *Store) FilterJSON(ctx context.Context, dst, body []byte, format Format) ([]byte, Outcome, error) {
	m := messages.Get().(*message)
	defer messages.Put(m)
	if err := m.decode(body); err != nil {
		return dst, Outcome{}, err
	}
	if m.has&fItems == 0 {
		return dst, Outcome{}, invalid("items", "is missing")
	}
	o, err := s.filter(ctx, m)
	if err != nil {
		return dst, Outcome{}, err
	}
	if format == Bitmap {
		return m.appendBitmaps(dst), o, nil
	}
	return m.appendJSON(dst, o), o, nil
}

// FilterPacked answers a packed request (see packed.go).
func (s *Store) FilterPacked(ctx context.Context, dst, body []byte, format Format) ([]byte, Outcome, error) {
	m := messages.Get().(*message)
	defer messages.Put(m)
	if err := m.decodePacked(body); err != nil {
		return dst, Outcome{}, err
	}
	o, err := s.filter(ctx, m)
	if err != nil {
		return dst, Outcome{}, err
	}
	if format == Bitmap {
		return m.appendBitmaps(dst), o, nil
	}
	return m.appendJSON(dst, o), o, nil
}

func (m *message) checkFilter(s *Store) error {
	if err := checkName("user", m.user, true); err != nil {
		return err
	}
	if err := checkName("scene", m.scene, false); err != nil {
		return err
	}
	switch {
	case m.scope != "" && m.scope != "item" && m.scope != "story":
		return invalid("scope", "is %.60q: item or story", m.scope)
	case m.scope == "story": // the seat of Config.Stories
		return invalid("scope", "story is not available: this version filters item by item")
	case m.mark != "" && m.mark != "delivered":
		return invalid("mark", "is %.60q: only delivered can be marked", m.mark)
	case m.max < 0:
		return invalid("max", "is negative")
	case m.atLeast < 0:
		return invalid("at_least", "is negative")
	case m.deadlineMS < 0:
		return invalid("deadline_ms", "is negative")
	case m.max > 0 && m.atLeast > m.max:
		return invalid("at_least", "is %d, more than max, which is %d", m.atLeast, m.max)
	case m.mark != "" && (m.max == 0 || m.max > RingSize):
		return invalid("mark", "needs max between 1 and %d: report what was delivered to POST /exposures after ranking", RingSize)
	}
	return nil
}

// filter computes the marks of a decoded request.
func (s *Store) filter(ctx context.Context, m *message) (Outcome, error) {
	if err := m.checkFilter(s); err != nil {
		return Outcome{}, err
	}
	if errors.Is(s.Err(), ErrClosed) {
		return Outcome{}, ErrClosed
	}
	if err := s.owns(m.user); err != nil {
		return Outcome{}, err
	}
	s.metrics.requests.Inc()
	s.metrics.candidates.Add(float64(len(m.spans)))
	if m.deadlineMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(m.deadlineMS)*time.Millisecond)
		defer cancel()
	}
	m.marks = slices.Grow(m.marks[:0], len(m.spans))[:len(m.spans)]
	m.hash(seedOf(&s.secret, m.user))
	o := Outcome{Count: len(m.spans)}
	err := s.look(ctx, m)
	if err != nil {
		o.Degraded = s.degrade(m, err)
	}
	m.choose(&o)
	if m.mark != "" && o.Degraded == "" && o.Items+o.Relaxed > 0 {
		if err := s.markDelivered(ctx, m); err != nil {
			if ctx.Err() == nil || errors.Is(err, ErrFull) {
				return Outcome{}, err
			}
			// The report is on its way or lost: who asked can only be told. The
			// answer itself goes by the user's state.
			s.metrics.degraded.Inc()
			o.Degraded = "mark: " + reasonOf(err) + ", and the report may or may not count"
		}
	}
	return o, nil
}

// look runs the kernel over the user's state, reading it if need be.
func (s *Store) look(ctx context.Context, m *message) error {
	if err := s.notReady(); err != nil {
		return err
	}
	history := s.history(m.scene)
	var buf [2*MaxIDBytes + 1]byte
	addr := append(append(append(buf[:0], history...), 0), m.user...)
	g := s.segmentOf(addr)
	e, known := g.acquire(addr, s.policies[history])
	now := s.cfg.Clock().In(s.cfg.Location)
	// Again: if the store failed and goes on meanwhile, the entry may lack what is
	// still to be read from the log.
	if err := s.notReady(); err != nil {
		g.release(e, -1, known)
		return err
	}

	done, err := s.enter(ctx, e, m, now)
	if done || err != nil {
		g.release(e, -1, known || err == nil)
		return err
	}
	err = s.readAndLook(ctx, e, m, now)
	w := e.weigh()
	e.mu.Unlock()
	g.release(e, w, known || err == nil)
	return err
}

// notReady is why users' states cannot be had, or nil.
func (s *Store) notReady() error {
	if s.ready.Load() {
		return nil
	}
	if err := s.Err(); err != nil {
		return err
	}
	return ErrNotReady
}

// enter answers from what is in memory, or else locks the entry. A request with a
// deadline does not wait beyond it for whoever is reading the user's row.
func (s *Store) enter(ctx context.Context, e *entry, m *message, now time.Time) (done bool, err error) {
	if m.deadlineMS == 0 {
		e.mu.RLock()
		done = s.lookView(e, m, now)
		e.mu.RUnlock()
		if !done {
			e.mu.Lock()
		}
		return done, nil
	}
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, time.Millisecond) {
		if e.mu.TryRLock() {
			done = s.lookView(e, m, now)
			e.mu.RUnlock()
		}
		if done || e.mu.TryLock() {
			return done, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// lookView runs the kernel over the view, if there is one that still holds. The caller
// holds e.mu for reading.
func (s *Store) lookView(e *entry, m *message, now time.Time) bool {
	if e.st == nil || e.st.view == nil || now.Unix() >= e.st.view.until {
		return false
	}
	s.metrics.hits.Inc()
	s.runKernel(e.st.view, m)
	return true
}

func (s *Store) readAndLook(ctx context.Context, e *entry, m *message, now time.Time) error {
	if e.st != nil {
		s.metrics.hits.Inc()
	} else {
		s.metrics.misses.Inc()
	}
	r := s.db.rows(ctx)
	if err := e.load(s, r); err != nil {
		return err
	}
	if err := e.st.need(r.fetch, 0, len(e.st.shards)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	e.hits++
	s.runKernel(e.st.look(e.pol, now, e.hits, &m.room), m)
	return nil
}

func (s *Store) runKernel(v *view, m *message) {
	exact, shards := v.mark(m.keys, m.marks)
	s.metrics.inExact.Add(float64(exact))
	s.metrics.inShards.Add(float64(shards))
	if m.atLeast > 0 {
		m.rankBy(v)
	}
}

// rankBy orders the items that only shards hold by the age of the newest shard
// that does, oldest first, for at_least.
func (m *message) rankBy(v *view) {
	m.order = m.order[:0]
	for i, mark := range m.marks {
		if mark == inShards {
			m.order = append(m.order, uint32(v.rank(m.keys[i]))<<16|uint32(i))
		}
	}
	slices.Sort(m.order)
}

// degrade answers without the state.
func (s *Store) degrade(m *message, err error) string {
	mark := byte(unseen)
	if s.cfg.FailClosed {
		mark = inExact
	}
	for i := range m.marks {
		m.marks[i] = mark
	}
	m.order = m.order[:0]
	return s.degradeText(err)
}

func (s *Store) degradeText(err error) string {
	s.metrics.degraded.Inc()
	mode := "open"
	if s.cfg.FailClosed {
		mode = "closed"
	}
	reason := reasonOf(err)
	if reason == unread {
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
	case errors.Is(err, ErrNotReady):
		return "the server is still replaying its log"
	}
	return unread
}

// markDelivered reports the answer, and returns when that is durable and applied.
func (s *Store) markDelivered(ctx context.Context, m *message) error {
	ev := Event{Kind: Delivered, User: m.user, Scene: m.scene}
	for i, mark := range m.marks {
		if mark == unseen || mark == relaxed {
			ev.Items = append(ev.Items, string(m.id(i)))
		}
	}
	return s.Expose(ctx, ev)
}
