package browse

import (
	"context"
	"time"

	"jianguo/internal/wait"
)

// pace slows background work down while many mutations arrive: ingest needs the
// processor more, and the work catches up later. The worker calls rest between
// small pieces of work, so that no article waits long for a processor. A pace is
// for one goroutine; a nil pace never rests.
type pace struct {
	arriving func() int64 // mutations a second, as of now
	from     time.Time    // when the worker began, or last rested
}

const (
	paceBusy    = 100 // mutations a second; above it, work rests
	paceStretch = 2 * time.Millisecond
	paceRest    = 3 // times as long as the work
)

// begin returns a pace for work that begins now, for the same or for another
// goroutine.
func (p *pace) begin() *pace {
	if p == nil {
		return nil
	}
	return &pace{p.arriving, time.Now()}
}

// rest waits if the worker has worked long enough and many mutations arrive. Its
// only error is that ctx is done.
func (p *pace) rest(ctx context.Context) error {
	if p == nil {
		return nil
	}
	now := time.Now()
	worked := now.Sub(p.from)
	if worked < paceStretch {
		return nil
	}
	var err error
	if p.arriving() > paceBusy {
		err = wait.For(ctx, paceRest*worked)
	}
	p.from = time.Now()
	return err
}
