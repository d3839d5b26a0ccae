package main

import (
	"context"
	"log/slog"
	"time"

	"jianguo/exposure/story"
	"jianguo/index"
	"jianguo/index/stories"
	"jianguo/internal/clock"
)

const (
	storyEvents = 100_000               // events read at a time
	storyPoll   = 10 * time.Millisecond // after a decision, so soon filters follow it
)

// followStories keeps the stories of the filter up to date with the catalogue.
func followStories(ctx context.Context, view *index.Index, filter *story.Stories, log *slog.Logger) {
	for after := uint64(0); ; {
		_, last := view.Applied()
		for after < last && ctx.Err() == nil {
			to := min(after+storyEvents, last)
			if err := updateStories(ctx, view, filter, after, to); err != nil {
				if ctx.Err() == nil {
					log.ErrorContext(ctx, "stories of the filter lag behind", "error", err)
				}
				break
			}
			after = to
		}
		if after >= last {
			filter.SetReady()
		}
		if clock.Sleep(ctx, storyPoll) != nil {
			return
		}
	}
}

// updateStories gives the filter the stories that the events (after, to] have changed.
func updateStories(ctx context.Context, view *index.Index, filter *story.Stories, after, to uint64) error {
	changed, err := stories.Changed(ctx, view.Tables(), view.Versions, after, to, story.Most)
	for number, told := range changed {
		items := make([]story.Item, len(told))
		for i := range told {
			items[i] = story.Item(told[i])
		}
		filter.Set(number, items)
	}
	return err
}
