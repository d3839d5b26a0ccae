package index

import (
	"context"
	"math"
	"strings"
	"time"

	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Item is the current version of an item, in the form that the API returns.
type Item struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Source    string     `json:"source,omitempty"`
	URL       string     `json:"url,omitempty"`
	Published *time.Time `json:"published_at,omitempty"`
	Arrived   time.Time  `json:"arrived_at"`
	// Event is the last change of its state. History has all changes of all
	// versions, the newest first.
	Event   Event   `json:"event"`
	History []Event `json:"history"`
	// Body is the kept text; nil if it was not kept.
	Body *string `json:"body,omitempty"`
}

// InForce is History without what was taken back: without undos, and without what each of them undid; and without
// decisions that moved its telling only, which say nothing of its verdict.
func (it *Item) InForce() (events []Event) {
	next := uint64(math.MaxUint64)
	for _, e := range it.History {
		if e.Number > next {
			continue
		}
		if next = e.Number; e.Restores != 0 {
			next = e.Restores
			continue
		}
		if e.Cause != CauseEditor || e.Verdict != e.Previous {
			events = append(events, e)
		}
	}
	return events
}

// Before reports whether the item arrived before another one. It compares the numbers
// of their first events, since many items arrive in one millisecond.
func (it *Item) Before(other *Item) bool {
	first := func(i *Item) uint64 { return i.History[len(i.History)-1].Number }
	return first(it) < first(other)
}

// Item looks up the current version of an id.
func (x *Index) Item(ctx context.Context, id string) (*Item, error) {
	it, err := must.Try(func() *Item { return x.item(ctx, id) })
	return it, wrap.Err(err, "index: item %q", id)
}

func (x *Index) item(ctx context.Context, id string) *Item {
	own := x.versions(ctx, &x.recipe.Load().Reader, id)
	var history []Event
	for _, ordinal := range own {
		const where = `e.number IN (` + eventsOf + `) ORDER BY e.number DESC`
		history = append(history, x.queryEvents(ctx, x.reader, where, ordinal)...)
	}
	if len(history) == 0 {
		must.Do(ErrNotFound)
	}
	it := must.Get(x.Version(ctx, own[0]))
	it.Event, it.History = history[0], history
	return it
}

// Version reads a version as it arrived: Event is its first one, and History is not read.
func (x *Index) Version(ctx context.Context, ordinal uint32) (*Item, error) {
	return must.Try(func() *Item {
		it := new(Item)
		var published *sqlite.Millis
		must.Dof(x.reader.QueryRowContext(ctx, `SELECT i.id, i.title, coalesce(s.name, ''), coalesce(i.url, ''),
			i.published_at, i.arrived_at FROM items i LEFT JOIN sources s ON s.number = i.source
			WHERE i.ordinal = ?`, ordinal).Scan(&it.ID, &it.Title, &it.Source, &it.URL, &published,
			(*sqlite.Millis)(&it.Arrived)), "ordinal %d", ordinal)
		it.Published, it.Body = (*time.Time)(published), must.Get(x.Text(ctx, ordinal))
		it.Event = x.lastEvent(ctx, x.reader, ordinal, `e.number = i.event`)
		return it
	})
}

// Events returns up to limit events after a number, in order.
func (x *Index) Events(ctx context.Context, after uint64, limit int) ([]Event, error) {
	events, err := must.Try(func() []Event {
		return x.queryEvents(ctx, x.reader, `e.number > ? ORDER BY e.number LIMIT ?`, after, limit)
	})
	return events, wrap.Err(err, "index: events after %d", after)
}

// Note returns the end of an event's sentence: the name and reason of the editor, or
// the reason of the source's policy. Most events have none.
func (x *Index) Note(e *Event) string {
	rest, ok := strings.CutPrefix(e.Why, Why(e, x.cfg.Language))
	if !ok {
		return ""
	}
	return strings.TrimPrefix(rest, verdict.NoteSeparator.In(x.cfg.Language))
}
