package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go"
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
	buried   bool           // it is there
	ready    chan struct{}  // closed when it has been prepared
	weight   int64          // its share of inFlightBytes
}

// prepareJobs is one worker. Segmenters that are there get its jobs, in g, so that the
// processors of this machine are left to what only this process can do.
func (s *Service) prepareJobs(ctx context.Context, g *errgroup.Group, work <-chan *job) error {
	defer context.AfterFunc(ctx, s.segmenters.free.Broadcast)()
	for j := range work {
		if ctx.Err() != nil {
			return nil
		}
		id := s.segmenters.take(ctx)
		jobs, size := []*job{j}, j.weight // and for a segmenter those that wait too
		for id != "" && j != nil && len(jobs) < prepared.Items && size < prepared.Bytes {
			if j, _ = receive(ctx, work, false); j != nil {
				jobs, size = append(jobs, j), size+j.weight
			}
		}
		if id != "" {
			g.Go(func() error { return s.sendJobs(ctx, jobs, size, id) })
		} else if err := s.prepareJob(ctx, j); err != nil {
			return err
		}
	}
	return nil
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
	// While articles wait, a worker would keep its processor until the
	// runtime preempts it, after 10 ms. The goroutines between the bus and
	// a verdict are more urgent than the next article.
	runtime.Gosched()
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

// answerPatience is how long a segmenter may take for an answer. Then the items are prepared here, and the segmenter gets
// none until it is heard again.
const answerPatience = 300 * time.Millisecond

// sendJobs has a segmenter prepare jobs, whose payloads have size bytes, and does here what it has not done: what is no article,
// and what does not fit in a message of the bus.
func (s *Service) sendJobs(ctx context.Context, jobs []*job, size int64, id string) error {
	request := append(make([]byte, 0, size+8*prepared.Items), prepared.Version)
	for _, j := range jobs {
		request = prepared.Append(request, j.msg.Data())
	}
	reply, err := s.cfg.Conn.Request(bus.SubjectSegment+id, request, answerPatience)
	if err == nil {
		s.use(jobs, reply.Data)
	}
	s.segmenters.leave(id, err != nil && !errors.Is(err, nats.ErrMaxPayload))
	for _, j := range jobs {
		if err := s.prepareJob(context.WithoutCancel(ctx), j); err != nil {
			return err
		}
	}
	return nil
}

// use gives jobs the articles of an answer, if this process would have prepared the same.
func (s *Service) use(jobs []*job, answer []byte) {
	recipe := s.cfg.Segmenter.Recipe()
	articles, err := prepared.DecodeMessage(answer)
	if err != nil || len(articles) != 1+len(jobs) || string(articles[0]) != recipe {
		return
	}
	for i, b := range articles[1:] {
		a, err := prepared.Decode(b)
		if err != nil {
			continue
		}
		if a.Recipe, jobs[i].prepared = recipe, a; s.cfg.DropTexts {
			a.Packed = nil
		}
		s.metrics.prepared.Inc()
	}
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
