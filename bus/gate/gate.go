// Package gate makes what is published on an embedded bus durable, many messages
// a sync.
//
// A JetStream stream that syncs before it acknowledges syncs once a message, under
// its lock. So the stream only writes, and a Gate stands in front of it. The gate passes
// what is published to the stream at once and unchanged. The stream's answers come back
// to the gate, which syncs the files of the stream once for all answers that it has, and
// only then passes them to the publishers. While it syncs, the stream writes more, and
// further answers gather. A publisher sees no difference: it gets the stream's own answer,
// once it is true.
//
// # What is promised
//
//   - A message whose acknowledgement has been passed on survives a power cut.
//   - Messages reach the stream in the order in which the bus delivered them, with
//     headers and payload byte for byte, and answers are the stream's, byte for byte.
//     So ids, expected sequences and clients' own batches mean what they always do.
//   - Consumers see a message before it has been synced. A consumer that makes durable
//     that it has dealt with one waits for Synced first: else a power cut could remove
//     that message from the end of the stream and give its sequence to another.
//   - After a failed sync nothing is acknowledged any more, and Synced fails: the
//     system may have marked as written what it could not write. Repair rewrites the
//     files before the stream is opened again.
//   - A gate that has no room (Config.Room), or that the bus reads from too slowly,
//     answers in the stream's form and stores nothing. Where an answer is lost (the
//     connection broke, the stream gave none), the publisher gets none.
//
// # The way of a message
//
// The bus maps the public subjects to Prefix + subject, where the gate listens, and
// maps what the gate publishes back (Config.Out). The subject that a publisher wants
// its answer on becomes the end of the one that the stream answers on, so a gate
// keeps no state for messages in flight. files.go says what is synced.
package gate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Prefix + a public subject is where a gate listens.
const Prefix = "_gate.in."

// maxUnread is how many bytes may wait for the bus to read them. JetStream bounds
// what it has read itself, at 128 MiB.
const maxUnread = 64 << 20

// Config configures a Gate. All but Secret, Room, Logger, Before and Fail are required.
type Config struct {
	// Dial opens a connection to the bus. Its client may use all subjects.
	Dial   func() (net.Conn, error)
	Secret string // its token; empty: none is wanted
	Stream string
	Dir    string // with the stream's files
	// Subjects are those of the stream. They may have wildcards.
	Subjects []string
	Out      string // what the gate publishes on Out + subject is mapped to subject
	// MayAnswer reports whether a client may have its answer on a subject: the gate may
	// publish everywhere. Another subject gets none.
	MayAnswer func(subject string) bool
	Room      func() error // its error is why no message may be stored now; nil: they always may
	Logger    *slog.Logger
	Before    *Gate // closed, of the same stream; its metrics are continued; nil: none
	// Fail, if set, is called at named points. An error at "sync" is that of a
	// sync; one at "stored" loses the answers that would be passed on, as a crash
	// would. At "waiting" a call of Synced has to wait. For tests.
	Fail func(point string) error
}

// ErrBroken says that the files of a stream could not be synced. It is permanent.
var ErrBroken = errors.New("what was published could not be synced")

// Gate makes the messages of one stream durable.
type Gate struct {
	cfg   Config
	log   *slog.Logger
	inbox string // the stream answers on inbox, answerTo and where the answer goes
	files *files // owned by the goroutine that syncs
	stats stats

	mu      sync.Mutex
	changed sync.Cond // of mu
	answers []answer  // not yet passed on; under mu
	wanted  uint64    // sequence that a call of Synced waits for; 0: none; under mu
	synced  uint64    // sequence up to which all is durable; under mu
	busy    bool      // a group of answers is being synced; under mu
	broken  error     // why nothing is acknowledged any more; under mu
	passed  bool      // the answer to a barrier came; under mu
	link    *link     // nil: there is no connection; under mu
	closing bool      // under mu
	ended   sync.WaitGroup
}

// answer is an answer of the stream to one message.
type answer struct {
	to   string // "": the publisher wants none
	head int    // bytes of headers
	body []byte
}

// What follows the inbox in a subject: an answer for a publisher, for none, or to a barrier.
const (
	answerTo      = "to."
	answerNobody  = "no"
	answerBarrier = "end"
)

// Open connects a gate and returns once it listens, and all that the stream holds
// is durable. From then on, what is mapped to its subjects goes through it.
func Open(cfg Config) (*Gate, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	if cfg.Room == nil {
		cfg.Room = func() error { return nil }
	}
	g := &Gate{cfg: cfg, log: cfg.Logger.With("stream", cfg.Stream), inbox: "_gate.ack." + rand.Text() + "."}
	if cfg.Before != nil {
		g.stats = cfg.Before.stats
	} else {
		g.stats = newStats(cfg.Stream)
	}
	g.changed.L = &g.mu
	var err error
	if g.files, err = openFiles(cfg.Dir); err != nil {
		return nil, fmt.Errorf("gate of %s: %w", cfg.Stream, err)
	}
	l, err := g.connect()
	if err != nil {
		g.files.close()
		return nil, fmt.Errorf("gate of %s: %w", cfg.Stream, err)
	}
	g.ended.Add(2)
	go g.keepConnected(l)
	go g.keepSynced()
	return g, nil
}

// keepConnected reopens the connection whenever it ends, until Close.
func (g *Gate) keepConnected(l *link) {
	defer g.ended.Done()
	for {
		err := l.wait()
		g.mu.Lock()
		g.link = nil
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

// connect opens a connection for the gate.
func (g *Gate) connect() (*link, error) {
	conn, err := g.cfg.Dial()
	if err != nil {
		return nil, err
	}
	subjects := []string{g.inbox + ">"}
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

// receive handles a message of the bus; it never waits.
func (g *Gate) receive(l *link, f *frame) {
	if what, ok := strings.CutPrefix(f.subject, g.inbox); ok {
		g.answered(what, f)
		return
	}
	subject, ok := strings.CutPrefix(f.subject, Prefix)
	if !ok {
		return
	}
	if !g.cfg.MayAnswer(f.reply) {
		f.reply = ""
	}
	g.mu.Lock()
	err := g.broken
	g.mu.Unlock()
	if err == nil {
		err = g.cfg.Room()
	}
	if err != nil {
		g.stats.refused.Inc()
		l.refuse(f.reply, refusal(g.cfg.Stream, err))
		return
	}
	reply := g.inbox + answerNobody
	if f.reply != "" {
		reply = g.inbox + answerTo + f.reply
	}
	subject = g.cfg.Out + subject
	switch {
	case len(subject)+len(reply) > maxSubjects:
		l.refuse(f.reply, problem(g.cfg.Stream, server.NewJSBadRequestError()))
	case !l.publish(subject, reply, f.header, f.body):
		l.refuse(f.reply, problem(g.cfg.Stream, server.NewJSStreamTooManyRequestsError()))
	default:
		return
	}
	g.stats.refused.Inc()
}

// answered records an answer of the stream.
func (g *Gate) answered(what string, f *frame) {
	to, forPublisher := strings.CutPrefix(what, answerTo)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case forPublisher || what == answerNobody:
		if !forPublisher {
			to = ""
		}
		g.answers = append(g.answers, answer{to: to, head: f.header, body: f.body})
		if g.busy || len(g.answers) > 1 {
			return // keepSynced will check again
		}
	case what == answerBarrier:
		g.passed = true
	}
	g.changed.Broadcast()
}

// keepSynced syncs the files for the answers that have gathered, and passes these on.
func (g *Gate) keepSynced() {
	defer g.ended.Done()
	defer g.files.close()
	var spare []answer
	var build []byte
	var began time.Time
	for {
		g.mu.Lock()
		for len(g.answers) == 0 && g.wanted == 0 && !g.closing {
			g.changed.Wait()
		}
		if soon := pace - time.Since(began); soon > 0 && len(spare) >= many && !g.closing {
			g.mu.Unlock()
			time.Sleep(soon)
			g.mu.Lock()
		}
		began = time.Now()
		if g.closing && len(g.answers) == 0 {
			g.mu.Unlock()
			return
		}
		group, wanted, err := g.answers, g.wanted, g.broken
		g.answers, g.wanted, g.busy = spare[:0], 0, true
		g.mu.Unlock()

		last, messages := stored(group)
		if last = max(last, wanted); last > 0 && err == nil {
			err = g.sync(messages)
		}
		if err == nil && g.cfg.Fail("stored") != nil {
			group = nil
		}
		build = g.handOn(build[:0], group, err)
		spare = group
		if cap(build) > maxSpare {
			build = nil
		}
		g.mu.Lock()
		g.busy = false
		switch g.broken = err; {
		case err != nil:
		case messages > 0:
			g.synced = last // lower than before after the stream was created again
		default:
			g.synced = max(g.synced, last)
		}
		g.changed.Broadcast()
		g.mu.Unlock()
		clear(spare)
	}
}

// If more than many answers came at a time, the next sync begins at least pace after the
// last one began: on a fast disk, more syncs would take the processor from publishers.
// With few answers no publisher waits for others.
const (
	pace = 2 * time.Millisecond
	many = 4
)

// sync makes durable what the stream has written.
func (g *Gate) sync(messages int) error {
	start := time.Now()
	err := g.syncOnce()
	for n := 0; cannotOpen(err) && !g.ending(); n++ {
		if n == 0 {
			g.log.Error("files cannot be opened to sync them: publishers wait until they can", "error", err)
		}
		time.Sleep(50 * time.Millisecond)
		err = g.syncOnce()
	}
	if err != nil {
		err = fmt.Errorf("%w: start the service again: %w", ErrBroken, err)
		g.log.Error("nothing is acknowledged any more", "error", errors.Join(err, g.files.mark()))
		return err
	}
	g.stats.commit.Observe(time.Since(start).Seconds())
	g.stats.stored.Add(float64(messages))
	return nil
}

func (g *Gate) syncOnce() error {
	if err := g.cfg.Fail("sync"); err != nil {
		return err
	}
	return g.files.sync()
}

// cannotOpen reports whether a sync did not take place for want of a descriptor: no sync
// fails with these errors, so it can be done later.
func cannotOpen(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (g *Gate) ending() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closing
}

// handOn passes answers to the publishers that want them. After a failed sync it answers
// instead that what the stream has stored is not durable.
func (g *Gate) handOn(build []byte, group []answer, err error) []byte {
	for _, a := range group {
		if a.to == "" {
			continue
		}
		if err != nil {
			if _, what := a.sequence(); what != refused {
				build = appendMessage(build, a.to, "", 0, refusal(g.cfg.Stream, err))
				continue
			}
		}
		build = appendMessage(build, a.to, "", a.head, a.body)
	}
	g.mu.Lock()
	l := g.link
	g.mu.Unlock()
	if l != nil && len(build) > 0 {
		l.write(build)
	}
	return build
}

// Synced returns once every message of the stream up to one that a consumer has
// received is durable.
func (g *Gate) Synced(ctx context.Context, seq uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.synced >= seq {
		return nil
	}
	_ = g.cfg.Fail("waiting") // a test observes it; it cannot fail
	defer context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.changed.Broadcast()
	})()
	for g.synced < seq {
		switch {
		case g.broken != nil:
			return g.broken
		case g.closing:
			return errClosing
		case ctx.Err() != nil:
			return ctx.Err()
		}
		// The stream has written a message that a consumer has received, and its
		// acknowledgement may be lost. So one more sync is enough.
		if !g.busy && len(g.answers) == 0 && g.wanted < seq {
			g.wanted = seq
			g.changed.Broadcast()
		}
		g.changed.Wait()
	}
	return nil
}

// Before is the sequence of the first message in the file that holds seq or would hold
// it; 0: unknown. Removing the messages before it removes files and rewrites none.
func (g *Gate) Before(seq uint64) uint64 { return firstOfBlock(g.cfg.Dir, seq) }

// Close accepts no more messages, waits until those accepted are stored and answered, for
// closePatience at most, and closes the connection.
func (g *Gate) Close() {
	late := time.NewTimer(closePatience)
	defer late.Stop()
	g.mu.Lock()
	l := g.link
	g.mu.Unlock()
	if l != nil {
		l.unsubscribe()
		if l.flush(late.C) {
			g.barrier(l)
		}
	}
	drained := make(chan struct{})
	go func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		defer close(drained)
		for (len(g.answers) > 0 || g.busy || !g.passed) && g.link != nil && !g.closing {
			g.changed.Wait()
		}
	}()
	select {
	case <-drained:
	case <-late.C:
		g.log.Warn("the stream did not answer before the end; publishers may be left without an acknowledgement")
	}
	g.mu.Lock()
	l, g.closing = g.link, true
	g.changed.Broadcast()
	g.mu.Unlock()
	<-drained
	if l != nil {
		l.flush(time.After(time.Second))
		l.close()
	}
	g.ended.Wait()
}

// barrier publishes a message that the stream refuses: that answer comes after the answers
// to all messages before it.
func (g *Gate) barrier(l *link) {
	subject := g.cfg.Out + strings.ReplaceAll(g.cfg.Subjects[0], "*", "end")
	const header = headerVersion + "Nats-Expected-Stream: none behind this\r\n\r\n"
	l.publish(subject, g.inbox+answerBarrier, len(header), []byte(header))
}

const closePatience = 5 * time.Second

// refusal is an answer in the stream's form that says why nothing is stored.
func refusal(stream string, why error) []byte {
	e := server.NewJSInsufficientResourcesError()
	return problem(stream, &server.ApiError{Code: e.Code, ErrCode: e.ErrCode, Description: e.Description + ": " + why.Error()})
}

// problem is an answer in JetStream's form.
func problem(stream string, e *server.ApiError) []byte {
	b, err := json.Marshal(&server.JSPubAckResponse{PubAck: &server.PubAck{Stream: stream}, Error: e})
	if err != nil {
		panic(err) // of plain fields
	}
	return b
}
