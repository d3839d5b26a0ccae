package main

import (
	"fmt"
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

// progressEvery is how often progress is told where nothing can be drawn: seldom
// enough that a run of seconds says nothing.
const progressEvery = 30 * time.Second

// pace returns a callback that draws a bar, or, where there is no terminal, tells
// from time to time how far it is, how fast, and how long about it will take yet.
func (co *streams) pace(what string) func(done, total int64) {
	var bar *progressbar.ProgressBar
	began, last, first := time.Now(), time.Now(), int64(-1)
	return func(done, total int64) {
		if co.screen {
			if bar == nil {
				bar = co.bar(total, what)
			}
			_ = bar.Set64(done) // as below
			return
		}
		now := time.Now()
		if first < 0 {
			first, began = done, now // the rate is that of this run
		}
		if now.Sub(last) < progressEvery {
			return
		}
		last = now
		rate := float64(done-first) / max(now.Sub(began).Seconds(), 1e-9)
		left := time.Duration(float64(total-done) / max(rate, 1e-9) * float64(time.Second))
		fmt.Fprintf(co.err, "%s: %d of %d items, %.0f/s, about %s left\n", what, done, total, rate, left.Round(time.Second))
	}
}

// progress returns a callback that draws a bar for each stage in turn, or, where
// there is no terminal, prints a line from time to time.
func (co *streams) progress(what string) func(stage string, done, total int64) {
	var bar *progressbar.ProgressBar
	current, last := "", time.Now()
	return func(stage string, done, total int64) {
		if !co.screen {
			if now := time.Now(); now.Sub(last) >= progressEvery {
				last = now
				fmt.Fprintf(co.err, "%s %s: %d of %d\n", what, stage, done, total)
			}
			return
		}
		if stage != current {
			current, bar = stage, co.bar(total, what+" "+stage)
		}
		_ = bar.Set64(done) // a bar that cannot be drawn is no reason to fail
	}
}
