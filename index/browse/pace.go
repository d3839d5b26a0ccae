package browse

import (
	"context"
	"time"
)

// pace makes work in the background give way while many mutations come: ingest
// needs the processor more, and what is behind catches up when fewer come. Whoever
// works calls rest between small pieces of work, so that no article waits for long
// behind it. For one goroutine; nil never rests.
type pace struct {
	arriving func() int64 // mutations a second, as of now
	from     time.Time    // when the present stretch of work began
}

const (
	paceBusy    = 100 // mutations a second, and more are many
	paceStretch = 2 * time.Millisecond
	paceRest    = 3 // times as long as it worked
)

// begin is the pace of work that begins now; that of another goroutine at the same
// pace, too.
func (p *pace) begin() *pace {
	if p == nil {
		return nil
	}
	return &pace{p.arriving, time.Now()}
}

// rest waits, where enough has been worked and many mutations come. Its error is
// that ctx is done.
func (p *pace) rest(ctx context.Context) error {
	if p == nil {
		return nil
	}
	now := time.Now()
	worked := now.Sub(p.from)
	if worked < paceStretch {
		return nil
	}
	if p.arriving() > paceBusy {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(paceRest * worked):
		}
	}
	p.from = time.Now()
	return nil
}
