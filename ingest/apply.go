package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/bus"
	"jianguo/index"
)

// applyBatches applies what has been prepared, in order.
func (s *Service) applyBatches(ctx context.Context, toApply <-chan *job) error {
	defer s.oldest.Store(0) // what is in work now is delivered again
	var first *job
	for {
		var batch []*job
		if batch, first = s.gather(ctx, toApply, first); len(batch) == 0 {
			return nil
		}
		if err := s.applyBatch(ctx, batch); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		s.applied.Store(batch[len(batch)-1].meta.Sequence.Stream)
		s.oldest.Store(0)
	}
}

// gather returns the next batch: the jobs that are ready, without waiting for more, or one edit.
// While many jobs are in toApply it waits for a share of them, so that under load a commit
// serves many. Those that the bus has not synced yet are left to the next batch. first is the job that
// the last call returned as left: it was received from toApply and is not in the batch. The batch is empty at the end.
func (s *Service) gather(ctx context.Context, toApply <-chan *job, first *job) (batch []*job, left *job) {
	for synced := uint64(0); len(batch) < s.cfg.Batch; {
		j := first
		if first = nil; j == nil && (len(batch) == 0 || len(toApply) > 0) {
			select {
			case j = <-toApply:
			case <-ctx.Done():
			}
		}
		if j == nil {
			return batch, nil
		}
		if len(batch) == 0 {
			s.oldest.Store(j.taken.UnixNano())
		}
		edit := j.msg.Subject() == bus.SubjectEdit
		if len(batch) > 0 && (edit || len(batch) >= len(toApply)/gatherShare && !closed(j.ready)) {
			return batch, j
		}
		select {
		case <-j.ready:
		case <-ctx.Done():
			return nil, nil
		}
		if len(batch) == 0 {
			synced, _ = s.cfg.Bus.Synced(ctx, bus.StreamItems, j.meta.Sequence.Stream) // retry has the error
		} else if j.meta.Sequence.Stream > synced {
			return batch, j
		}
		if batch = append(batch, j); edit {
			return batch, nil
		}
	}
	return batch, nil
}

// gatherShare is the inverse of the least share of the jobs in toApply that a batch holds.
const gatherShare = 4

func (s *Service) applyBatch(ctx context.Context, batch []*job) error {
	start := time.Now()
	if batch[0].edit != nil {
		return s.applyEdit(ctx, batch)
	}
	var outcomes []index.Outcome
	err := s.retry(ctx, batch, func() (err error) {
		mutations := make([]index.Mutation, len(batch))
		for i, j := range batch {
			mutations[i] = j.mutation
		}
		outcomes, err = s.cfg.Index.Add(ctx, mutations)
		return err
	})
	if err != nil {
		return err
	}
	for i, j := range batch {
		s.reply(j, &outcomes[i])
		s.inFlight.Release(j.weight)
		s.metrics.latency.Observe(time.Since(j.meta.Timestamp).Seconds())
	}
	s.metrics.pending.Set(float64(batch[len(batch)-1].meta.NumPending))
	s.metrics.batch.Observe(float64(len(batch)))
	s.metrics.stage.WithLabelValues("apply").Observe(time.Since(start).Seconds())
	return nil
}

func (s *Service) applyEdit(ctx context.Context, batch []*job) error {
	j := batch[0]
	var r editResult
	err := s.retry(ctx, batch, func() (err error) {
		r.decision, r.refused, err = s.cfg.Index.Edit(ctx, j.mutation.Seq, j.mutation.At, j.edit)
		return err
	})
	if err != nil {
		return err
	}
	if done, ok := s.edits.LoadAndDelete(j.msg.Headers().Get(headerEdit)); ok {
		done.(chan editResult) <- r
	}
	s.inFlight.Release(j.weight)
	return nil
}

// retry applies a batch once the bus has made it durable, and tries until that succeeds: a catalogue ahead of a stream
// that lost its end would skip the next messages with these sequences. When the catalogue cannot be written (a full
// disk), nothing is applied, and the bus keeps the items meanwhile.
func (s *Service) retry(ctx context.Context, batch []*job, apply func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		_, err := s.cfg.Bus.Synced(ctx, bus.StreamItems, batch[len(batch)-1].meta.Sequence.Stream)
		for _, j := range batch {
			if err == nil && j.refused != nil {
				err = s.bury(ctx, j)
			}
		}
		if err == nil {
			err = apply()
		}
		if errors.Is(err, index.ErrRecipe) {
			if err := s.prepareAgain(ctx, batch); err != nil {
				return err
			}
			continue
		}
		if err == nil {
			s.trouble.Set(nil)
			if err := s.cfg.Fail("applied"); err != nil {
				return err
			}
			s.outbox.wake()
			return nil
		}
		if errors.Is(err, index.ErrClosed) || errors.Is(err, bus.ErrBroken) && s.ending.Err() != nil {
			return err
		}
		s.trouble.Set(fmt.Errorf("ingest: items wait: %w", err))
		s.metrics.retries.Inc()
		s.log.ErrorContext(ctx, "batch not applied, trying again", "items", len(batch), "wait", wait, "error", err)
		var ending <-chan struct{}
		if errors.Is(err, bus.ErrBroken) {
			ending = s.ending.Done() // no time will help
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ending:
		case <-time.After(wait):
		}
	}
}

// prepareAgain prepares the articles that an earlier recipe prepared.
func (s *Service) prepareAgain(ctx context.Context, batch []*job) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.cfg.Workers)
	for _, j := range batch {
		if a := j.mutation.Article; a != nil && a.Recipe != s.cfg.Index.Recipe() {
			g.Go(func() error { return s.prepareJob(ctx, j) })
		}
	}
	return g.Wait()
}

// bury stores a refused message in the stream DEAD; twice only if a restart within its batch takes longer than bus.Bury
// remembers.
func (s *Service) bury(ctx context.Context, j *job) error {
	if j.buried {
		return nil
	}
	l := bus.DeadLetter{Subject: j.msg.Subject(), Data: j.msg.Data(), Sequence: j.meta.Sequence.Stream,
		Arrived: j.meta.Timestamp, Reason: j.refused.Error()}
	if f, ok := errors.AsType[*FieldError](j.refused); ok {
		l.Field = f.Field
	}
	if err := bus.Bury(ctx, s.js, bus.SubjectDead, fmt.Sprint(j.mutation.Seq), &l); err != nil {
		return fmt.Errorf("dead letter stream: %w", err)
	}
	j.buried = true
	s.metrics.dead.Inc()
	s.log.WarnContext(ctx, "dead letter", "sequence", j.meta.Sequence.Stream, "reason", j.refused)
	return nil
}

// reply sends the outcome of a message to a publisher that asked for it.
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
		if f, ok := errors.AsType[*FieldError](j.refused); ok {
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
