package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest/prepared"
	"jianguo/segment"
)

// job is one message between intake and commit.
type job struct {
	msg      jetstream.Msg
	meta     *jetstream.MsgMetadata
	mutation index.Mutation
	text     *segment.Text  // returned to the pool after the batch
	edit     *index.Edit    // nil: a mutation
	prepared *index.Article // by a segmenter; nil: to be prepared here
	refused  error          // why it goes to the dead letters
	ready    chan struct{}  // closed when it has been prepared
	weight   int64          // its share of inFlightBytes
}

// prepareJobs is one worker. Segmenters that are there get its jobs, in g, so that the
// processors of this machine are left to what only this process can do.
func (s *Service) prepareJobs(ctx context.Context, g *errgroup.Group, work <-chan *job) error {
	defer context.AfterFunc(ctx, s.segmenters.free.Broadcast)()
	for {
		select {
		case <-ctx.Done():
			return nil
		case j, ok := <-work:
			if !ok {
				return nil
			}
			if id := s.segmenters.take(ctx); id != "" {
				g.Go(func() error { return s.sendJob(ctx, j, id) })
				continue
			}
			if err := s.prepareJob(ctx, j); err != nil {
				return err
			}
			// While articles wait, a worker would keep its processor until the
			// runtime preempts it, after 10 ms. The goroutines between the bus and
			// a verdict are more urgent than the next article.
			runtime.Gosched()
		}
	}
}

// prepareJob decodes and analyses one message. If that panics, the message is refused.
func (s *Service) prepareJob(ctx context.Context, j *job) error {
	start := time.Now()
	meta, err := j.msg.Metadata()
	if err != nil {
		return fmt.Errorf("ingest: message without metadata: %w", err)
	}
	j.meta = meta
	j.mutation.Seq, j.mutation.At = s.base.Load()+meta.Sequence.Stream, meta.Timestamp
	j.refused = s.decode(ctx, j)
	if closed(j.ready) { // it is prepared again
		return nil
	}
	s.segmenters.count(1)
	close(j.ready)
	s.metrics.stage.WithLabelValues("prepare").Observe(time.Since(start).Seconds())
	return nil
}

// decode makes the mutation of a message; its error refuses the message.
func (s *Service) decode(ctx context.Context, j *job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			j.mutation.Article, j.mutation.Withdraw, j.text = nil, nil, nil
			err = fmt.Errorf("panic: %v", v)
			s.log.ErrorContext(ctx, "analysis panicked", "sequence", j.meta.Sequence.Stream, "error", err, "stack", string(debug.Stack()))
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
	if j.msg.Subject() == bus.SubjectEdit {
		j.edit, err = decodeEdit(j.msg.Data())
		return err
	}
	if j.prepared == nil {
		if j.prepared, err = s.prepare(j); err != nil {
			return err
		}
	}
	j.mutation.Article = j.prepared
	if err := s.cfg.Index.Preview(ctx, j.prepared, j.mutation.At); err != nil {
		// The index then judges without it.
		s.log.DebugContext(ctx, "preview", "error", err)
	}
	return nil
}

// prepare analyses the article of a message.
func (s *Service) prepare(j *job) (*index.Article, error) {
	it, err := DecodeItem(j.msg.Data())
	if err != nil {
		return nil, err
	}
	j.text = s.texts.Get().(*segment.Text)
	a := Prepare(s.cfg.Segmenter, j.text, it)
	if !s.cfg.DropTexts {
		a.Packed = index.PackText(it.Body)
	}
	return a, nil
}

// itemPatience is how long a segmenter may take for an item. Then it is prepared here, and the segmenter gets none until
// it is heard again.
const itemPatience = 300 * time.Millisecond

// sendJob has a segmenter prepare a job, and does it here if that fails.
func (s *Service) sendJob(ctx context.Context, j *job, id string) error {
	failed := false
	if j.msg.Subject() == bus.SubjectPublish {
		reply, err := s.cfg.Conn.Request(bus.SubjectSegment+id, j.msg.Data(), itemPatience)
		if failed = err != nil; !failed {
			j.prepared = s.usable(reply.Data)
		}
	}
	s.segmenters.leave(id, failed)
	return s.prepareJob(context.WithoutCancel(ctx), j)
}

// usable decodes an article, if this process would have prepared the same; else nil.
func (s *Service) usable(b []byte) *index.Article {
	if len(b) == 0 {
		return nil // refused there
	}
	a, err := prepared.Decode(b)
	if err != nil {
		s.log.Warn("a segmenter's article cannot be read", "error", err)
		return nil
	}
	if a.Recipe != s.cfg.Segmenter.Recipe() {
		return nil
	}
	if s.cfg.DropTexts {
		a.Packed = nil
	}
	s.metrics.prepared.Inc()
	return a
}

// decodeEdit reads the payload of an edit.
func decodeEdit(payload []byte) (*index.Edit, error) {
	e := new(index.Edit)
	if err := json.Unmarshal(payload, e); err != nil {
		return nil, &FieldError{Field: "payload", Problem: "is no edit: " + err.Error()}
	}
	if *e == (index.Edit{}) {
		return nil, errors.New("payload: is an edit that changes nothing")
	}
	return e, nil
}
