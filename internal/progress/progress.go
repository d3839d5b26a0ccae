// Package progress reports how far a long command has come: a bar on a terminal,
// and elsewhere a line every half minute.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// every is the usual interval of lines where no bar can be drawn: a run of seconds
// prints nothing.
const every = 30 * time.Second

// Reporter writes to one stream, usually standard error.
type Reporter struct {
	out      io.Writer
	terminal bool
	Every    time.Duration // between two lines where no bar can be drawn
}

// To returns a Reporter that draws bars if out is a terminal.
func To(out io.Writer) Reporter {
	f, ok := out.(*os.File)
	return Reporter{out: out, terminal: ok && term.IsTerminal(int(f.Fd())), Every: every}
}

// Bar draws progress on a terminal, and nothing elsewhere. total < 0: unknown.
func (r Reporter) Bar(total int64, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, progressbar.OptionSetDescription(what), progressbar.OptionSetWriter(r.out),
		progressbar.OptionSetVisibility(r.terminal), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("items"), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30))
}

// Rate returns a callback that draws a bar. Without a terminal it prints the
// number of items, their rate, and an estimate of the time that remains.
func (r Reporter) Rate(what string) func(done, total int64) {
	var bar *progressbar.ProgressBar
	began, last, first := time.Now(), time.Now(), int64(-1)
	return func(done, total int64) {
		if r.terminal {
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
		left := time.Duration(float64(total-done) / max(rate, 1e-9) * float64(time.Second))
		fmt.Fprintf(r.out, "%s: %d of %d items, %.0f/s, about %s left\n", what, done, total, rate, left.Round(time.Second))
	}
}

// Stages returns a callback that draws a bar for each stage in turn. Without a
// terminal it prints a line at intervals.
func (r Reporter) Stages(what string) func(stage string, done, total int64) {
	var bar *progressbar.ProgressBar
	current, last := "", time.Now()
	return func(stage string, done, total int64) {
		if !r.terminal {
			if now := time.Now(); now.Sub(last) >= r.Every {
				last = now
				fmt.Fprintf(r.out, "%s %s: %d of %d\n", what, stage, done, total)
			}
			return
		}
		if stage != current {
			current, bar = stage, r.Bar(total, what+" "+stage)
		}
		_ = bar.Set64(done) // as above
	}
}
