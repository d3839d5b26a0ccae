// Package gate lets what is published one by one on an embedded bus be synced
// together.
//
// A stream that syncs before it acknowledges syncs once a message, or once an
// atomic batch. A Gate stands before such a stream: it takes what is published,
// and while some of it is being stored, what else comes waits and goes on
// together, as an atomic batch where there is enough of it. A lone message goes
// on at once. Nobody who publishes need know: each gets the stream's ordinary
// acknowledgement, once its message is durable, or its ordinary error.
//
// # What is kept
//
//   - Messages reach the stream in the order in which the bus delivered them,
//     so that of one publisher stays.
//   - Headers and payload arrive as they were sent; a message that was part of a
//     batch of the gate's has its Nats-Batch-Id, Nats-Batch-Sequence and
//     Nats-Batch-Commit besides.
//   - A message with a header of the server's own (Nats-Expected-…, Nats-Batch-…,
//     Nats-TTL and so on, but for Nats-Msg-Id) is never put into a batch: it goes
//     on as it is, in its turn, and the stream answers to its publisher itself. So
//     does one of more than a mebibyte.
//     Two messages of one Nats-Msg-Id are never in one batch, so that the second
//     is answered as a duplicate.
//   - A batch that the stream refuses is taken apart: the message at fault gets
//     the stream's error, the others are stored.
//   - What the gate holds is bounded (maxHeld, maxHeldBytes). Past that, messages
//     are answered as the stream itself answers them when it is overrun: error
//     429, 10167. A message that is lost between (the connection broke, the
//     stream did not answer) gets no answer. Nothing is acknowledged that the
//     stream has not acknowledged.
//
// # How messages come and go
//
// The bus maps the public subjects to Prefix + subject, where the gate listens,
// and maps what the gate publishes back (Config.Out). So the stream, its
// subjects and its consumers are as they would be without a gate.
package gate

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nuid"
)

// Prefix stands before a public subject where a gate listens.
const Prefix = "_gate.in."

// Bounds of what waits in a gate; JetStream's own are 100,000 and 128 MiB.
const (
	maxHeld      = 50_000
	maxHeldBytes = 64 << 20
)

// Config configures a Gate. All but Logger and Fail are required.
type Config struct {
	// Dial opens a connection to the bus. Its client may use all subjects.
	Dial   func() (net.Conn, error)
	Secret string // its token; empty: none is wanted
	Stream string
	// Subjects are those of the stream that are gated. They may have wildcards.
	Subjects []string
	Out      string // what the gate publishes on Out + subject is mapped to subject
	Logger   *slog.Logger
	// Fail, where set, is called at named points; an error loses what is on its
	// way there, as a crash would: the acknowledgement at "stored". For tests.
	Fail func(point string) error
}

// Gate stands before one stream.
type Gate struct {
	cfg   Config
	log   *slog.Logger
	inbox string // acknowledgements come on inbox + number

	mu      sync.Mutex
	changed sync.Cond // of mu: held, closing, link, answer or lost changed
	held    []message // in the order they came; under mu
	bytes   int       // of held; under mu
	link    *link     // nil: there is no connection; under mu
	closing bool      // under mu
	busy    bool      // a group is on its way; under mu
	number  uint64    // of the acknowledgement awaited, or the last one that was; under mu
	answer  *answer   // that came; under mu
	lost    bool      // it will not come; under mu
	passed  sync.WaitGroup
	stats   stats

	// owned by the goroutine that commits
	build   []byte
	batches uint64
	batchID string // before the number of a batch
}

// answer is what the stream said.
type answer struct {
	data         []byte
	noResponders bool
}

// patience is how long the stream may take to answer before what is on its way
// is given up. JetStream does not answer at all where it failed to write.
const patience = 30 * time.Second

// Open connects a gate and returns once it listens. From then on, what is
// mapped to it goes through it.
func Open(cfg Config) (*Gate, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	g := &Gate{cfg: cfg, log: cfg.Logger.With("stream", cfg.Stream), inbox: "_gate.ack." + nuid.Next() + ".", batchID: nuid.Next()[:12] + "-", stats: newStats(cfg.Stream)}
	g.changed.L = &g.mu
	l, err := g.connect()
	if err != nil {
		return nil, fmt.Errorf("gate of %s: %w", cfg.Stream, err)
	}
	g.passed.Add(2)
	go g.keepConnected(l)
	go g.commit()
	return g, nil
}

// keepConnected opens the connection anew whenever it ends, until Close.
func (g *Gate) keepConnected(l *link) {
	defer g.passed.Done()
	for {
		err := l.wait()
		g.mu.Lock()
		g.link, g.lost = nil, true
		closing := g.closing
		g.changed.Broadcast()
		g.mu.Unlock()
		if closing {
			return
		}
		g.log.Error("the gate lost its connection to the bus", "error", err)
		for l = nil; l == nil; {
			time.Sleep(100 * time.Millisecond)
			if l, err = g.connect(); errors.Is(err, errClosing) {
				return
			}
		}
	}
}

// connect opens a connection and makes it the gate's.
func (g *Gate) connect() (*link, error) {
	conn, err := g.cfg.Dial()
	if err != nil {
		return nil, err
	}
	subjects := []string{g.inbox + "*"}
	for _, s := range g.cfg.Subjects {
		subjects = append(subjects, Prefix+s)
	}
	l, err := openLink(conn, "jianguo gate "+g.cfg.Stream, g.cfg.Secret, subjects, g.receive)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		l.close()
		return nil, errClosing
	}
	g.link = l
	g.changed.Broadcast()
	return l, nil
}

var errClosing = errors.New("the gate is being closed")

// receive takes a message that came; it never waits.
func (g *Gate) receive(l *link, f *frame) {
	if number, ok := strings.CutPrefix(f.subject, g.inbox); ok {
		g.acknowledged(number, f)
		return
	}
	if !strings.HasPrefix(f.subject, Prefix) {
		return
	}
	m := newMessage(f)
	g.mu.Lock()
	full := len(g.held) >= maxHeld || g.bytes+len(m.body) > maxHeldBytes
	if !full {
		g.held = append(g.held, m)
		g.bytes += len(m.body)
		if len(g.held) == 1 {
			g.changed.Broadcast()
		}
	}
	g.mu.Unlock()
	if full {
		g.stats.refused.Inc()
		l.refuse(m.reply, tooMany(g.cfg.Stream))
	}
}

// acknowledged notes the answer that is awaited; others came too late.
func (g *Gate) acknowledged(number string, f *frame) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.busy || g.answer != nil || number != strconv.FormatUint(g.number, 10) {
		return
	}
	g.answer = &answer{data: f.body[f.header:], noResponders: f.noResponders()}
	g.changed.Broadcast()
}

// Abandon gives up what is on its way: the stream has been closed, and will not
// answer.
func (g *Gate) Abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost = true
	g.changed.Broadcast()
}

// Close takes no more, waits until what came is stored and answered, for
// closePatience at most, and closes the connection.
func (g *Gate) Close() {
	late := time.NewTimer(closePatience)
	defer late.Stop()
	g.mu.Lock()
	l := g.link
	g.mu.Unlock()
	if l != nil {
		l.unsubscribe()
		l.flush(late.C)
	}
	g.mu.Lock()
	g.closing = true
	g.changed.Broadcast()
	g.mu.Unlock()
	drained := make(chan struct{})
	go func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		defer close(drained)
		for (len(g.held) > 0 || g.busy) && g.link != nil {
			g.changed.Wait()
		}
	}()
	select {
	case <-drained:
	case <-late.C:
		g.log.Warn("messages were not stored before the end; their publishers have no acknowledgement")
	}
	g.mu.Lock()
	l = g.link
	g.mu.Unlock()
	if l != nil {
		l.flush(time.After(time.Second))
		l.close()
	}
	g.mu.Lock()
	g.link, g.lost = nil, true
	g.held, g.bytes = nil, 0
	g.changed.Broadcast()
	g.mu.Unlock()
	g.passed.Wait()
}

const closePatience = 5 * time.Second

// take returns what goes on next: messages that go as they are, or some that
// may be one batch. It waits until there are any; with none the gate is closed.
func (g *Gate) take() []message {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.held) == 0 || g.link == nil {
		if g.closing && (len(g.held) == 0 || g.link == nil) {
			return nil
		}
		g.changed.Wait()
	}
	n := together(g.held)
	group := slices.Clone(g.held[:n])
	for i := range group {
		g.bytes -= len(group[i].body)
	}
	clear(g.held[:n])
	if g.held = g.held[n:]; len(g.held) == 0 {
		g.held = nil
	}
	// From here on an end waits for what is on its way.
	g.busy, g.answer, g.lost = true, nil, false
	g.number++
	return group
}
