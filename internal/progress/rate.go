package progress

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Rate returns a callback that draws a bar. Without a terminal it prints the
// number of items, their rate, and an estimate of the time that remains.
func (r Reporter) Rate(what string) func(done, total int64) {
	var bar *progressbar.ProgressBar
	began, last, first := time.Now(), time.Now(), int64(-1)
	return func(done, total int64) {
		if r.Terminal {
			if bar == nil {
				bar = r.Bar(total, what)
			}
			_ = bar.Set64(done) // a command does not fail because its bar cannot be drawn
			return
		}
		now := time.Now()
		if first < 0 {
			first, began = done, now // the rate is that of this run
		}
		if now.Sub(last) < r.Every {
			return
		}
		last = now
		rate := float64(done-first) / max(now.Sub(began).Seconds(), 1e-9)
		if total < 0 {
			fmt.Fprintf(r.Out, "%s: %d, %.0f/s\n", what, done, rate)
			return
		}
		left := time.Duration(float64(total-done) / max(rate, 1e-9) * float64(time.Second))
		fmt.Fprintf(r.Out, "%s: %d of %d, %.0f/s, about %s left\n", what, done, total, rate, left.Round(time.Second))
	}
}
