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
	Out      io.Writer
	Terminal bool          // bars can be drawn
	Every    time.Duration // between two lines where no bar can be drawn
}

// To returns a Reporter that draws bars if out is a terminal.
func To(out io.Writer) Reporter {
	f, ok := out.(*os.File)
	return Reporter{Out: out, Terminal: ok && term.IsTerminal(int(f.Fd())), Every: every}
}

// Bar draws progress on a terminal, and nothing elsewhere. total < 0: unknown.
func (r Reporter) Bar(total int64, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, progressbar.OptionSetDescription(what), progressbar.OptionSetWriter(r.Out),
		progressbar.OptionSetVisibility(r.Terminal), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("items"), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30))
}

// Stages returns a callback that draws a bar for each stage in turn. Without a
// terminal it prints a line at intervals.
func (r Reporter) Stages(what string) func(stage string, done, total int64) {
	var bar *progressbar.ProgressBar
	current, last := "", time.Now()
	return func(stage string, done, total int64) {
		if !r.Terminal {
			if now := time.Now(); now.Sub(last) >= r.Every {
				last = now
				fmt.Fprintf(r.Out, "%s %s: %d of %d\n", what, stage, done, total)
			}
			return
		}
		if stage != current {
			current, bar = stage, r.Bar(total, what+" "+stage)
		}
		_ = bar.Set64(done) // as above
	}
}
