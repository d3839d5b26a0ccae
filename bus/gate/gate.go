// Package gate makes what is published on an embedded bus durable, many messages
// a sync.
//
// A JetStream stream that syncs before it acknowledges syncs once a message, under
// its lock. So such a stream is left to write only, and a Gate stands before it:
// what is published goes on to the stream at once, as it came; the stream's answers
// come back to the gate, which syncs the files of the stream once for all answers
// that have come, and only then hands them to those who published. While it syncs,
// the stream writes on, and further answers gather. Nobody who publishes need know:
// each gets the stream's own answer, once it is true.
//
// # What is promised
//
//   - A message whose acknowledgement has been handed on survives a power cut.
//   - Messages reach the stream in the order in which the bus delivered them, with
//     headers and payload byte for byte, and answers are the stream's, byte for byte.
//     So ids, expected sequences and clients' own batches mean what they always do.
//   - Consumers see a message before it has been synced. Who makes durable that it
//     has dealt with one waits for Synced first: else a power cut could take off the
//     end of the stream what is said to be done, and give its sequence to another.
//   - Where a sync fails, nothing is acknowledged any more, and Synced fails: the
//     system may have marked as written what it could not write. What it was is
//     written anew by Repair before the stream is opened again.
//   - A gate that has no room (Config.Room), or that the bus reads from too slowly,
//     answers in the stream's form and stores nothing. Where an answer is lost (the
//     connection broke, the stream gave none), the publisher gets none.
//
// # How messages come and go
//
// The bus maps the public subjects to Prefix + subject, where the gate listens, and
// maps what the gate publishes back (Config.Out). The subject that a publisher wants
// its answer on becomes the end of the one that the stream answers on, so a gate
// remembers nothing of what is on its way. files.go says what is synced.
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
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Prefix stands before a public subject where a gate listens.
const Prefix = "_gate.in."

// maxUnread is how many bytes may wait for the bus to read them. JetStream bounds
// what it has read itself, at 128 MiB.
const maxUnread = 64 << 20

// Config configures a Gate. All but Secret, Room, Logger and Fail are required.
type Config struct {
	// Dial opens a connection to the bus. Its client may use all subjects.
	Dial   func() (net.Conn, error)
	Secret string // its token; empty: none is wanted
	Stream string
	Dir    string // with the stream's files
	// Subjects are those of the stream. They may have wildcards.
	Subjects []string
	Out      string       // what the gate publishes on Out + subject is mapped to subject
	Room     func() error // why no message may be stored now; nil or nil's answer: it may
	Logger   *slog.Logger
	// Fail, where set, is called at named points. An error at "sync" is that of a
	// sync; one at "stored" loses the answers that would be handed on, as a crash
	// would. At "waiting" somebody has to wait in Synced. For tests.
	Fail func(point string) error
}

// ErrBroken says that the files of a stream could not be synced. It does not pass.
var ErrBroken = errors.New("what was published could not be synced")

// Gate stands before one stream.
type Gate struct {
	cfg   Config
	log   *slog.Logger
	inbox string // the stream answers on inbox, answerTo and where the answer goes
	files *files // owned by the goroutine that syncs
	stats stats

	mu      sync.Mutex
	changed sync.Cond // of mu
	answers []answer  // that wait to be handed on; under mu
	wanted  uint64    // sequence that somebody waits for; 0: none; under mu
	synced  uint64    // sequence up to which all is durable; under mu
	busy    bool      // answers are being made true; under mu
	broken  error     // why nothing is acknowledged any more; under mu
	passed  bool      // the answer to a barrier came; under mu
	link    *link     // nil: there is no connection; under mu
	closing bool      // under mu
	ended   sync.WaitGroup
}

// answer is what the stream said.
type answer struct {
	to   string // "": nobody wants it
	head int    // bytes of headers
	body []byte
}

// What follows the inbox: an answer for somebody, for nobody, or to a barrier.
const (
	answerTo      = "to."
	answerNobody  = "no"
	answerBarrier = "end"
)

// Open connects a gate and returns once it listens, and all that the stream holds
// is durable. From then on, what is mapped to it goes through it.
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
	g := &Gate{cfg: cfg, log: cfg.Logger.With("stream", cfg.Stream), inbox: "_gate.ack." + rand.Text() + ".", stats: newStats(cfg.Stream)}
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

// keepConnected opens the connection anew whenever it ends, until Close.
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

// connect opens a connection and makes it the gate's.
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

// receive takes a message that came; it never waits.
func (g *Gate) receive(l *link, f *frame) {
	if what, ok := strings.CutPrefix(f.subject, g.inbox); ok {
		g.answered(what, f)
		return
	}
	subject, ok := strings.CutPrefix(f.subject, Prefix)
	if !ok {
		return
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

// answered notes what the stream said.
func (g *Gate) answered(what string, f *frame) {
	to, forSomebody := strings.CutPrefix(what, answerTo)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case forSomebody || what == answerNobody:
		if !forSomebody {
			to = ""
		}
		g.answers = append(g.answers, answer{to: to, head: f.header, body: f.body})
		if g.busy || len(g.answers) > 1 {
			return // who syncs will look again
		}
	case what == answerBarrier:
		g.passed = true
	}
	g.changed.Broadcast()
}

// keepSynced makes answers true and hands them on.
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

		last, messages := stored(g.cfg.Stream, group)
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
			g.synced = last // less than before in a stream that was made anew
		default:
			g.synced = max(g.synced, last)
		}
		g.changed.Broadcast()
		g.mu.Unlock()
		clear(spare)
	}
}

// Where many answers come at a time, pace is from the beginning of one sync to that of
// the next, at least: on a disk that is fast, more would take the processor from those
// who publish. With a few, nobody waits for others.
const (
	pace = 2 * time.Millisecond
	many = 4
)

// sync makes durable what the stream has written.
func (g *Gate) sync(messages int) error {
	start := time.Now()
	err := g.cfg.Fail("sync")
	if err == nil {
		err = g.files.sync()
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

// handOn gives answers to those who want them, or tells them that what the stream
// has stored is not durable.
func (g *Gate) handOn(build []byte, group []answer, err error) []byte {
	for _, a := range group {
		switch _, what := a.sequence(g.cfg.Stream); {
		case a.to == "":
		case err != nil && what != refused:
			build = appendMessage(build, a.to, "", 0, refusal(g.cfg.Stream, err))
		default:
			build = appendMessage(build, a.to, "", a.head, a.body)
		}
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
// been given is durable.
func (g *Gate) Synced(ctx context.Context, seq uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.synced >= seq {
		return nil
	}
	_ = g.cfg.Fail("waiting") // only to be told
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
		// Whoever has been given a message may not wait for its acknowledgement,
		// which may be lost: it has been written, so one more sync is enough.
		if !g.busy && len(g.answers) == 0 && g.wanted < seq {
			g.wanted = seq
			g.changed.Broadcast()
		}
		g.changed.Wait()
	}
	return nil
}

// Before is the sequence of the first message of the file that holds one, or what
// comes next to one that all files lie before; 0: that is not known. To remove the
// messages before it removes files and writes none anew.
func (g *Gate) Before(seq uint64) uint64 { return firstOfBlock(g.cfg.Dir, seq) }

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

// barrier asks the stream for something that it refuses, in its turn: behind its
// answers to all that came before.
func (g *Gate) barrier(l *link) {
	subject := g.cfg.Out + strings.ReplaceAll(g.cfg.Subjects[0], "*", "end")
	const header = headerVersion + "Nats-Expected-Stream: none behind this\r\n\r\n"
	l.publish(subject, g.inbox+answerBarrier, len(header), []byte(header))
}

const closePatience = 5 * time.Second

// refusal says in the stream's form why nothing is stored.
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
