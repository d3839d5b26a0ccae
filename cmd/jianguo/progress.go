package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// bar draws progress on a terminal, and nothing elsewhere. total < 0: unknown.
func (co *streams) bar(total int64, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, progressbar.OptionSetDescription(what), progressbar.OptionSetWriter(co.err),
		progressbar.OptionSetVisibility(co.screen), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("items"), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30))
}

// progress returns a callback that draws a bar for each stage in turn.
func (co *streams) progress(what string) func(stage string, done, total int64) {
	var bar *progressbar.ProgressBar
	current := ""
	return func(stage string, done, total int64) {
		if stage != current {
			current, bar = stage, co.bar(total, what+" "+stage)
		}
		_ = bar.Set64(done) // a bar that cannot be drawn is no reason to fail
	}
}
