package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
)

// job is one message between intake and commit.
type job struct {
	msg      jetstream.Msg
	meta     *jetstream.MsgMetadata
	mutation index.Mutation
	edit     *index.Edit   // nil: a mutation
	refused  error         // why it goes to the dead letters
	buried   bool          // it is there
	ready    chan struct{} // closed when it has been prepared
	taken    time.Time     // from the bus
	weight   int64         // its share of inFlightBytes
}

func (s *Service) prepareJobs(ctx context.Context, toPrepare <-chan *job) error {
	for j := range toPrepare {
		if ctx.Err() != nil {
			return nil
		}
		if err := s.prepareJob(ctx, j); err != nil {
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
	j.mutation = index.Mutation{Seq: s.base.Load() + meta.Sequence.Stream, At: meta.Timestamp}
	j.refused = s.decode(ctx, j)
	if closed(j.ready) { // it is prepared again
		return nil
	}
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
			err = fmt.Errorf("panic: %v", v)
			s.log.ErrorContext(ctx, "analysis panicked",
				"sequence", j.meta.Sequence.Stream, "error", err, "stack", string(debug.Stack()))
		}
	}()
	switch j.msg.Subject() {
	case bus.SubjectWithdraw:
		j.mutation.Withdraw, err = DecodeWithdrawal(j.msg.Data())
		return err
	case bus.SubjectEdit:
		j.edit, err = decodeEdit(j.msg.Data())
		return err
	}
	it, err := DecodeItem(j.msg.Data())
	if err != nil {
		return err
	}
	if source, bound := strings.CutPrefix(j.msg.Subject(), bus.SubjectPublish+"."); bound {
		if it.Source = cmp.Or(it.Source, source); it.Source != source {
			return &FieldError{Field: "source",
				Problem: fmt.Sprintf("is %q, and the subject is for %q alone", it.Source, source)}
		}
	}
	a := Prepare(s.cfg.Segmenter, it)
	if err := refuseLong(a); err != nil {
		return err
	}
	if err := s.cfg.Index.CompareAhead(ctx, a, j.mutation.At); err != nil {
		// The index then compares all in its turn.
		s.log.DebugContext(ctx, "compare ahead", "error", err)
	}
	j.mutation.Article = a
	return nil
}

func decodeEdit(payload []byte) (*index.Edit, error) {
	e := new(index.Edit)
	if err := json.Unmarshal(payload, e); err != nil {
		return nil, &FieldError{Field: "payload", Problem: "is no edit: " + err.Error()}
	}
	if *e == (index.Edit{}) {
		return nil, &FieldError{Field: "payload", Problem: "is an edit that changes nothing"}
	}
	return e, nil
}
