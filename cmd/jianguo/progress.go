package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress reports on one stream how far a long command has come: a bar on a terminal, and elsewhere a line at
// intervals.
type progress struct {
	out      io.Writer
	terminal bool // bars can be drawn
}

// progressTo returns a progress that draws bars if out is a terminal. A run of seconds prints nothing elsewhere.
func progressTo(out io.Writer) progress {
	f, ok := out.(*os.File)
	return progress{out: out, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// bar draws progress on a terminal, and nothing elsewhere. total < 0: unknown.
func (p progress) bar(total int64, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, progressbar.OptionSetDescription(what),
		progressbar.OptionSetWriter(p.out), progressbar.OptionSetVisibility(p.terminal),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("items"),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30))
}

// stages returns a callback that reports on each stage in turn.
func (p progress) stages(what string) func(stage string, done, total int64) {
	var bar *progressbar.ProgressBar
	current, last := "", time.Now()
	return func(stage string, done, total int64) {
		if !p.terminal {
			if now := time.Now(); now.Sub(last) >= 30*time.Second {
				last = now
				fmt.Fprintf(p.out, "%s %s: %d of %d\n", what, stage, done, total)
			}
			return
		}
		if bar == nil || stage != current {
			current, bar = stage, p.bar(total, what+" "+stage)
		}
		_ = bar.Set64(done) // a command does not fail because its bar cannot be drawn
	}
}
