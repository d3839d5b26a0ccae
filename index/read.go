package index

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index/verdict"
	"jianguo/internal/must"
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

func (x *Index) item(ctx context.Context, id string) (it *Item) {
	var buf [8]uint32
	for _, ordinal := range x.tables.IDs.Get(buf[:0], xxh3.HashString(id)) {
		var r itemRow
		var source sql.NullString
		err := x.reader.QueryRowContext(ctx, `SELECT id, title, url, published_at, arrived_at,
			(SELECT name FROM sources WHERE number = source) FROM items WHERE ordinal = ?`, ordinal).
			Scan(&r.id, &r.title, &r.url, &r.publishedAt, &r.arrivedAt, &source)
		if errors.Is(err, sql.ErrNoRows) || err == nil && r.id != id {
			continue
		}
		must.Do(err)
		if it == nil {
			it = &Item{ID: id, Title: r.title, Source: source.String, URL: r.url.String,
				Arrived: time.UnixMilli(r.arrivedAt).UTC(), Body: must.Get(x.Text(ctx, ordinal))}
			if r.publishedAt.Valid {
				it.Published = new(time.UnixMilli(r.publishedAt.Int64).UTC())
			}
		}
		it.History = append(it.History, x.queryEvents(ctx, x.reader, `e.number IN (`+eventsOf+`) ORDER BY e.number DESC`,
			ordinal)...)
	}
	if it == nil || len(it.History) == 0 {
		must.Do(ErrNotFound)
		return nil // not reached: Do panics
	}
	it.Event = it.History[0]
	return it
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
