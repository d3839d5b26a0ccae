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
//     their headers and their payload, and answers are the stream's. So ids, expected
//     sequences and clients' own batches mean what they always do.
//   - Consumers see a message before it has been synced. A consumer that makes durable
//     that it has dealt with one waits for Synced first: else a power cut could remove
//     that message from the end of the stream and give its sequence to another.
//   - After a failed sync nothing is acknowledged any more, and Synced fails: the
//     system may have marked as written what it could not write. Repair rewrites the
//     files before the stream is opened again.
//   - A gate that has no room (Config.Room), or more messages than it can pass on soon,
//     answers in the stream's form and stores nothing. Where an answer is lost (the
//     connection broke, the stream gave none), the publisher gets none.
//
// # The way of a message
//
// The bus maps the public subjects to In(stream) + subject, where the gate listens, and
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Prefix begins the subjects that gates listen on.
const Prefix = "_gate.in."

// In(stream) + a public subject is where the gate of a stream listens. It is one
// subscription for all subjects, so that their messages stay in order.
func In(stream string) string { return Prefix + stream + "." }

const (
	// maxWaiting is how many bytes may wait for being passed on. JetStream bounds what it
	// has read itself, at 128 MiB.
	maxWaiting = 64 << 20
	// maxSubjects bounds the two subjects of what is published. The bus ends a connection
	// that sends a longer line than 4,096 bytes.
	maxSubjects = 4000
)

// Config configures a Gate. All but Fail are required.
type Config struct {
	Conn   *nats.Conn // may use all subjects; the gate closes it
	Stream string
	Dir    string // with the stream's files
	// Subjects are those of the stream. They may have wildcards.
	Subjects []string
	Out      string // what the gate publishes on Out + subject is mapped to subject
	// MayAnswer reports whether a client may have its answer on a subject: the gate may
	// publish everywhere. Another subject gets none.
	MayAnswer func(subject string) bool
	Room      func() error // its error is why no message may be stored now
	Logger    *slog.Logger
	Stats     *Stats
	// Fail, if set, is called at named points. An error at "sync" is that of a
	// sync; one at "stored" loses the answers that would be passed on, as a crash
	// would. At "waiting" a call of Synced has to wait. For tests.
	Fail func(point string) error
}

var errClosing = errors.New("the gate is being closed")

// ErrBroken says that the files of a stream could not be synced. It is permanent.
var ErrBroken = errors.New("what was published could not be synced")

// Gate makes the messages of one stream durable.
type Gate struct {
	cfg   Config
	log   *slog.Logger
	inbox string // the stream answers on inbox, answerTo and where the answer goes
	files *files // owned by the goroutine that syncs

	storedTotal, refusedTotal prometheus.Counter
	commit                    prometheus.Observer

	mu            sync.Mutex
	changed       sync.Cond   // of mu
	answers       []*nats.Msg // of the stream, addressed to publishers, without a subject if none is wanted; under mu
	wanted        uint64      // sequence that a call of Synced waits for; 0: none; under mu
	synced        uint64      // sequence up to which all is durable; under mu
	busy          bool        // a group of answers is being synced; under mu
	broken        error       // why nothing is acknowledged any more; under mu
	barrierPassed bool        // the answer to the barrier of Close came; under mu
	closing       bool        // under mu
	ended         sync.WaitGroup

	in      *nats.Subscription // to what is published
	drained chan struct{}      // closed when in is closed and all it received was passed on
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
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	g := &Gate{cfg: cfg, drained: make(chan struct{}), log: cfg.Logger.With("stream", cfg.Stream),
		inbox:        "_gate.ack." + rand.Text() + ".",
		storedTotal:  cfg.Stats.messages.WithLabelValues(cfg.Stream, "stored"),
		refusedTotal: cfg.Stats.messages.WithLabelValues(cfg.Stream, "refused"),
		commit:       cfg.Stats.commit.WithLabelValues(cfg.Stream)}
	g.changed.L = &g.mu
	var err error
	if g.files, err = openFiles(cfg.Dir); err != nil {
		return nil, fmt.Errorf("gate of %s: %w", cfg.Stream, err)
	}
	if err := g.listen(); err != nil {
		g.files.close()
		return nil, fmt.Errorf("gate of %s: %w", cfg.Stream, err)
	}
	g.ended.Go(g.keepSynced)
	return g, nil
}

func (g *Gate) listen() error {
	acks, err := g.cfg.Conn.Subscribe(g.inbox+">", g.answered)
	if err != nil {
		return err
	}
	if g.in, err = g.cfg.Conn.Subscribe(In(g.cfg.Stream)+">", g.receive); err != nil {
		return err
	}
	g.in.SetClosedHandler(func(string) { close(g.drained) })
	// receive bounds what waits for it; as many answers come as messages were passed on.
	return errors.Join(acks.SetPendingLimits(-1, -1), g.in.SetPendingLimits(-1, -1), g.cfg.Conn.Flush())
}

// receive passes a message on to the stream, or refuses it.
func (g *Gate) receive(m *nats.Msg) {
	subject := strings.TrimPrefix(m.Subject, In(g.cfg.Stream))
	matches := func(filter string) bool { return server.SubjectMatchesFilter(subject, filter) }
	if !slices.ContainsFunc(g.cfg.Subjects, matches) {
		return // not by way of the public subjects
	}
	to := answerNobody
	if g.cfg.MayAnswer(m.Reply) {
		to = answerTo + m.Reply
	}
	out := &nats.Msg{Subject: g.cfg.Out + subject, Reply: g.inbox + to, Header: m.Header, Data: m.Data}
	g.mu.Lock()
	err := g.broken
	g.mu.Unlock()
	if err == nil {
		err = g.cfg.Room()
	}
	_, waiting, _ := g.in.Pending()
	var why []byte
	switch {
	case err != nil:
		why = refusal(g.cfg.Stream, err)
	case len(out.Subject)+len(out.Reply) > maxSubjects:
		why = problem(g.cfg.Stream, server.NewJSBadRequestError())
	case waiting > maxWaiting:
		why = problem(g.cfg.Stream, server.NewJSStreamTooManyRequestsError())
	default:
		if err = g.cfg.Conn.PublishMsg(out); err == nil {
			return
		}
		why = refusal(g.cfg.Stream, err)
	}
	g.refusedTotal.Inc()
	if to != answerNobody {
		g.send(&nats.Msg{Subject: m.Reply, Data: why})
	}
}

func (g *Gate) send(m *nats.Msg) {
	if err := g.cfg.Conn.PublishMsg(m); err != nil {
		g.log.Warn("a publisher is left without an answer", "error", err)
	}
}

// answered records an answer of the stream.
func (g *Gate) answered(m *nats.Msg) {
	what := strings.TrimPrefix(m.Subject, g.inbox)
	g.mu.Lock()
	defer g.mu.Unlock()
	if what == answerBarrier {
		g.barrierPassed = true
	} else {
		m.Subject, _ = strings.CutPrefix(what, answerTo)
		if what == answerNobody {
			m.Subject = ""
		}
		m.Reply = ""
		g.answers = append(g.answers, m)
		if g.busy || len(g.answers) > 1 {
			return // keepSynced will check again
		}
	}
	g.changed.Broadcast()
}

// keepSynced syncs the files for the answers that have gathered, and passes these on.
func (g *Gate) keepSynced() {
	defer g.files.close()
	var spare []*nats.Msg
	var began time.Time
	for {
		g.mu.Lock()
		for len(g.answers) == 0 && g.wanted == 0 && !g.closing {
			g.changed.Wait()
		}
		if soon := pace - time.Since(began); soon > 0 && len(spare) >= paceFrom && !g.closing {
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

		last, messages := storedUpTo(group)
		if last = max(last, wanted); last > 0 && err == nil {
			err = g.sync(messages)
		}
		if err == nil && g.cfg.Fail("stored") != nil {
			group = nil
		}
		g.handOn(group, err)
		spare = group
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

// If paceFrom answers or more came at a time, the next sync begins at least pace after the
// last one began: on a fast disk, more syncs would take the processor from publishers.
// With few answers no publisher waits for others.
const (
	pace     = 2 * time.Millisecond
	paceFrom = 4
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
		g.log.Error("nothing is acknowledged any more", "error", errors.Join(err, g.files.markUnsynced()))
		return err
	}
	g.commit.Observe(time.Since(start).Seconds())
	g.storedTotal.Add(float64(messages))
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
func (g *Gate) handOn(group []*nats.Msg, err error) {
	for _, a := range group {
		if a.Subject == "" {
			continue
		}
		if err != nil && ackOf(a) != nil {
			a = &nats.Msg{Subject: a.Subject, Data: refusal(g.cfg.Stream, err)}
		}
		g.send(a)
	}
}

// Synced returns once every message of the stream up to one that a consumer has
// received is durable, and up to which one all are.
func (g *Gate) Synced(ctx context.Context, seq uint64) (upTo uint64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.synced >= seq {
		return g.synced, nil
	}
	_ = g.cfg.Fail("waiting") // a test observes it; it cannot fail
	defer context.AfterFunc(ctx, g.wake)()
	for g.synced < seq {
		switch {
		case g.broken != nil:
			return g.synced, g.broken
		case g.closing:
			return g.synced, errClosing
		case ctx.Err() != nil:
			return g.synced, ctx.Err()
		}
		// The stream has written a message that a consumer has received, and its
		// acknowledgement may be lost. So one more sync is enough.
		if !g.busy && len(g.answers) == 0 && g.wanted < seq {
			g.wanted = seq
			g.changed.Broadcast()
		}
		g.changed.Wait()
	}
	return g.synced, nil
}

// wake has all that waits for a change look again.
func (g *Gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changed.Broadcast()
}

// Close accepts no more messages, waits until those accepted are stored and answered, for
// closePatience at most, and closes the connection.
func (g *Gate) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	defer context.AfterFunc(ctx, g.wake)()
	err := g.in.Drain()
	if err == nil {
		select {
		case <-g.drained:
			err = g.barrier()
		case <-ctx.Done():
			err = errors.New("messages still wait for the stream")
		}
	}
	g.mu.Lock()
	for err == nil && (len(g.answers) > 0 || g.busy || !g.barrierPassed) {
		if ctx.Err() != nil {
			err = errors.New("the stream does not answer")
			break
		}
		g.changed.Wait()
	}
	g.closing = true
	g.changed.Broadcast()
	g.mu.Unlock()
	if err != nil {
		g.log.Warn("publishers may be left without an acknowledgement at the end", "error", err)
	}
	g.ended.Wait()
	_ = g.cfg.Conn.FlushTimeout(time.Second)
	g.cfg.Conn.Close()
}

// barrier publishes a message that the stream refuses: that answer comes after the answers
// to all messages before it.
func (g *Gate) barrier() error {
	return g.cfg.Conn.PublishMsg(&nats.Msg{
		Subject: g.cfg.Out + strings.ReplaceAll(g.cfg.Subjects[0], "*", "end"), Reply: g.inbox + answerBarrier,
		Header: nats.Header{"Nats-Expected-Stream": {"none behind this"}},
	})
}

const closePatience = 5 * time.Second

// refusal is an answer in the stream's form that says why nothing is stored.
func refusal(stream string, why error) []byte {
	e := server.NewJSInsufficientResourcesError()
	description := e.Description + ": " + why.Error()
	return problem(stream, &server.ApiError{Code: e.Code, ErrCode: e.ErrCode, Description: description})
}

// problem is an answer in JetStream's form.
func problem(stream string, e *server.ApiError) []byte {
	b, _ := json.Marshal(&server.JSPubAckResponse{PubAck: &server.PubAck{Stream: stream}, Error: e}) // of plain fields
	return b
}

type Stats struct {
	messages *prometheus.CounterVec
	commit   *prometheus.HistogramVec
}

// NewStats registers the metrics.
func NewStats(metrics prometheus.Registerer) *Stats {
	auto := promauto.With(metrics)
	return &Stats{auto.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_bus_gate_messages_total",
		Help: "Messages at the gate of a stream: stored, or refused by the gate itself because the disk has no room, " +
			"a sync failed or the bus is overrun."}, []string{"stream", "how"}),
		auto.NewHistogramVec(prometheus.HistogramOpts{Name: "jianguo_bus_gate_commit_seconds",
			Help:    "What it took to sync the files of a stream; its count is the number of syncs.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)}, []string{"stream"})}
}
