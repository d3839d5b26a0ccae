package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/segment"
)

// job is one message on its way.
type job struct {
	msg      jetstream.Msg
	meta     *jetstream.MsgMetadata
	mutation index.Mutation
	text     *segment.Text // returned to the pool after the batch
	refused  error         // why it goes to the dead letters
	ready    chan struct{} // closed when it has been prepared
	weight   int64         // its share of inFlightBytes
}

func (j *job) isReady() bool {
	select {
	case <-j.ready:
		return true
	default:
		return false
	}
}

// Run takes items to their verdicts until ctx is done; what has been started
// is then finished. It returns nil after an orderly end.
func (s *Service) Run(ctx context.Context) error {
	if err := s.attach(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to end before it began
		}
		return err
	}
	// The position is the index's, written in the same transaction as what it
	// stands for; an ordered consumer starts there and never skips or reorders.
	// (A durable consumer would deliver late what was lost on the way, behind
	// messages that came after it: too late for an index that goes in order.)
	applied, _ := s.cfg.Index.Applied()
	s.applied.Store(applied - s.base.Load())
	tell, err := s.tellApplied()
	if err != nil {
		return err
	}
	defer tell()
	consumer, err := s.items.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: applied - s.base.Load() + 1, NamePrefix: consumerName,
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ingest: consumer: %w", err)
	}
	s.room = semaphore.NewWeighted(inFlightBytes)
	// The pipeline's own context ends with the first error of any part; the
	// caller's ends the intake, and the parts behind it run dry.
	g, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	intake, stop := context.WithCancel(ctx)
	defer stop()
	s.ending = intake
	context.AfterFunc(failed, stop)
	messages, ended := make(chan jetstream.Msg, 1), make(chan struct{})
	subscription, err := consumer.Consume(func(m jetstream.Msg) {
		select {
		case messages <- m:
		case <-ended: // nobody takes any more: it will come again, as will all after it
		}
	}, jetstream.PullMaxMessages(2*s.cfg.Batch), jetstream.PullHeartbeat(heartbeat),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { s.log.WarnContext(ctx, "item consumer", "error", err) }))
	if err != nil {
		return fmt.Errorf("ingest: consume: %w", err)
	}
	// A message goes to the workers and, in order, to the one who applies: two
	// batches' worth is on its way at most.
	order := make(chan *job, 2*s.cfg.Batch)
	work := make(chan *job, cap(order)+2) // sending to it never waits: see takeIn
	g.Go(func() error {
		defer close(order)
		defer close(work)
		defer subscription.Stop()
		defer close(ended)
		s.takeIn(intake, messages, work, order)
		return nil
	})
	for range s.cfg.Workers {
		g.Go(func() error { return s.prepareJobs(failed, work) })
	}
	done := make(chan struct{})
	g.Go(func() error {
		defer close(done)
		return s.applyBatches(failed, order)
	})
	g.Go(func() error { return s.outbox.run(failed, done) })
	return g.Wait()
}

// heartbeat is how often the bus says that there is nothing new. A bus that was opened
// anew has forgotten who consumes, which is noticed after two that did not come.
const heartbeat = time.Second

// takeIn hands messages on as they come, until intake ends.
func (s *Service) takeIn(intake context.Context, messages <-chan jetstream.Msg, work, order chan<- *job) {
	for {
		select {
		case <-intake.Done():
			return
		case m := <-messages:
			j := &job{msg: m, ready: make(chan struct{}), weight: min(int64(len(m.Data())), inFlightBytes)}
			if s.room.Acquire(intake, j.weight) != nil {
				return
			}
			select {
			case order <- j: // all in work are in order too, but for one that waits to be applied
				work <- j
			case <-intake.Done():
				s.room.Release(j.weight)
				return
			}
		}
	}
}

// inFlightBytes bounds the payloads between intake and commit, which take about
// ten times that while they are worked on. One message fits always.
const inFlightBytes = 32 << 20

// prepareJobs is one worker.
func (s *Service) prepareJobs(ctx context.Context, work <-chan *job) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case j, ok := <-work:
			if !ok {
				return nil
			}
			start := time.Now()
			if err := s.prepareJob(ctx, j); err != nil {
				return err
			}
			close(j.ready)
			s.metrics.stage.WithLabelValues("prepare").Observe(time.Since(start).Seconds())
			// Where articles wait, a worker would keep its processor until the
			// runtime takes it away, after 10 ms; all that is between the bus and
			// a verdict is due before the next article is.
			runtime.Gosched()
		}
	}
}

// prepareJob decodes and analyses one message. A panic of the analysis is the
// message's fault until shown otherwise: it is tried again, then refused.
func (s *Service) prepareJob(ctx context.Context, j *job) error {
	meta, err := j.msg.Metadata()
	if err != nil {
		return fmt.Errorf("ingest: message without metadata: %w", err)
	}
	j.meta = meta
	j.mutation.Seq, j.mutation.At = s.base.Load()+meta.Sequence.Stream, meta.Timestamp
	for attempt := 1; ; attempt++ {
		err := s.decode(ctx, j)
		var panicked *panicError
		if !errors.As(err, &panicked) {
			j.refused = err
			return nil
		}
		s.log.ErrorContext(ctx, "analysis panicked", "sequence", meta.Sequence.Stream, "attempt", attempt, "error", err, "stack", string(panicked.stack))
		if attempt >= s.cfg.Retries {
			j.refused = fmt.Errorf("failed %d times: %w", attempt, err)
			return nil
		}
	}
}

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func (s *Service) decode(ctx context.Context, j *job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			j.mutation.Article, j.mutation.Withdraw, j.text = nil, nil, nil
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	if j.msg.Subject() == bus.SubjectWithdraw {
		w, err := DecodeWithdrawal(j.msg.Data())
		if err != nil {
			return err
		}
		j.mutation.Withdraw = &index.Withdrawal{ID: w.ID, Revision: w.Revision, Promote: w.Mode == ModePromote, Reason: w.Reason}
		return nil
	}
	it, err := DecodeItem(j.msg.Data())
	if err != nil {
		return err
	}
	j.text = s.texts.Get().(*segment.Text)
	a := Prepare(s.cfg.Segmenter, j.text, it)
	if !s.cfg.DropTexts {
		a.Packed = index.PackText(it.Body)
	}
	j.mutation.Article = a
	if err := s.cfg.Index.Preview(ctx, a, j.mutation.At); err != nil {
		// Judging finds out for itself what is missing.
		s.log.DebugContext(ctx, "preview", "error", err)
	}
	return nil
}

// applyBatches applies what has been prepared, in order.
func (s *Service) applyBatches(ctx context.Context, order <-chan *job) error {
	purge := &purger{stream: s.items, bus: s.cfg.Bus, log: s.log, applied: &s.applied}
	done := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(done)
	wg.Go(func() { purge.run(ctx, done) })
	var first *job
	for {
		var batch []*job
		if batch, first = s.gather(ctx, order, first); len(batch) == 0 {
			return nil
		}
		if err := s.applyBatch(ctx, batch); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		s.applied.Store(batch[len(batch)-1].meta.Sequence.Stream)
	}
}

// gather returns the next batch: what is ready, without waiting for more. Only
// where many wait it waits for a share of them, so that under load a commit
// serves many. left is a job that has been taken from order and not into the
// batch; it comes first next time. The batch is empty at the end.
func (s *Service) gather(ctx context.Context, order <-chan *job, first *job) (batch []*job, left *job) {
	for len(batch) < s.cfg.Batch {
		j := first
		if first = nil; j == nil {
			var ok bool
			if j, ok = next(ctx, order, len(batch) == 0); !ok {
				return batch, nil
			}
		}
		if len(batch) > 0 && len(batch) >= len(order)/gatherShare && !j.isReady() {
			return batch, j
		}
		select {
		case <-j.ready:
			batch = append(batch, j)
		case <-ctx.Done():
			return nil, nil
		}
	}
	return batch, nil
}

// gatherShare: a batch holds at least one in so many of those that wait.
const gatherShare = 4

// next takes a job from order; without wait, only if one is there.
func next(ctx context.Context, order <-chan *job, wait bool) (j *job, ok bool) {
	if !wait {
		select {
		case j, ok = <-order:
		default:
		}
		return j, ok
	}
	select {
	case j, ok = <-order:
	case <-ctx.Done():
	}
	return j, ok
}

func (s *Service) applyBatch(ctx context.Context, batch []*job) error {
	start := time.Now()
	for _, j := range batch {
		if j.refused != nil {
			if err := s.bury(ctx, j); err != nil {
				return err
			}
		}
	}
	mutations := make([]index.Mutation, len(batch))
	for i, j := range batch {
		mutations[i] = j.mutation
	}
	outcomes, err := s.addPatiently(ctx, mutations, batch[len(batch)-1].meta.Sequence.Stream)
	if err != nil {
		return err
	}
	if err := s.cfg.Fail("applied"); err != nil {
		return err
	}
	s.outbox.wake()
	for i, j := range batch {
		s.reply(j, &outcomes[i])
		if j.text != nil {
			s.texts.Put(j.text)
		}
		s.room.Release(j.weight)
		s.metrics.latency.Observe(time.Since(j.meta.Timestamp).Seconds())
	}
	s.metrics.pending.Set(float64(batch[len(batch)-1].meta.NumPending))
	s.metrics.batch.Observe(float64(len(batch)))
	s.metrics.stage.WithLabelValues("apply").Observe(time.Since(start).Seconds())
	return nil
}

// addPatiently applies a batch, which ends at a sequence of ITEMS, once the bus has
// it for good: a catalogue that were ahead of a stream that lost its end would pass
// over what comes at these sequences next. When the catalogue cannot be written (a full
// disk), nothing was applied: it says so, waits and tries again, and the bus
// keeps the items meanwhile.
func (s *Service) addPatiently(ctx context.Context, mutations []index.Mutation, last uint64) ([]index.Outcome, error) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		var outcomes []index.Outcome
		err := s.cfg.Bus.Synced(ctx, bus.StreamItems, last)
		if err == nil {
			outcomes, err = s.cfg.Index.Add(ctx, mutations)
		}
		if err == nil {
			s.setTrouble(nil)
			return outcomes, nil
		}
		if errors.Is(err, index.ErrClosed) || errors.Is(err, bus.ErrBroken) && s.ending.Err() != nil {
			return nil, err
		}
		s.setTrouble(fmt.Errorf("ingest: items wait: %w", err))
		s.metrics.retries.Inc()
		s.log.ErrorContext(ctx, "batch not applied, trying again", "items", len(mutations), "wait", wait, "error", err)
		var ending <-chan struct{}
		if errors.Is(err, bus.ErrBroken) {
			ending = s.ending.Done() // no time will help
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ending:
		case <-time.After(wait):
		}
	}
}

// reply tells a publisher that asked what became of its message.
func (s *Service) reply(j *job, o *index.Outcome) {
	subject := j.msg.Headers().Get(bus.HeaderReply)
	if !bus.MayAnswer(subject) {
		return
	}
	out := Outcome{Seq: j.meta.Sequence.Stream, Changed: o.Changed}
	if o.Event.Number != 0 {
		out.Event = &o.Event
	}
	if j.refused != nil {
		out.Error = j.refused.Error()
		var f *FieldError
		if errors.As(j.refused, &f) {
			out.Error, out.Field = f.Problem, f.Field
		}
	}
	data, err := json.Marshal(&out)
	if err == nil {
		err = s.cfg.Conn.Publish(subject, data)
	}
	if err != nil {
		s.log.Warn("reply to publisher", "sequence", out.Seq, "error", err)
	}
}

// purger removes applied messages from ITEMS in the background: now and then,
// many at once, and whether or not more come, since a full stream takes none.
type purger struct {
	stream  jetstream.Stream
	bus     *bus.Embedded // nil: elsewhere
	log     *slog.Logger
	applied *atomic.Uint64 // sequence of the last message applied; 0: none yet
}

const purgeEvery = time.Second

func (p *purger) run(ctx context.Context, done <-chan struct{}) {
	tick := time.NewTicker(purgeEvery)
	defer tick.Stop()
	var seen, purged uint64
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		applied := p.applied.Load()
		if applied == seen || p.bus.Full() {
			continue
		}
		// A purge leaves the sequence it names.
		if before := p.bus.Purgeable(bus.StreamItems, applied+1); before > purged {
			if err := p.stream.Purge(ctx, jetstream.WithPurgeSequence(before)); err != nil {
				p.log.WarnContext(ctx, "purge of applied items", "error", err)
				continue
			}
			purged = before
		}
		seen = applied
	}
}
