package browse

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"jianguo/index"
)

// Config configures a Model.
type Config struct {
	// Words returns the words under which an article is found; nil: there is
	// no search. It is called from several goroutines.
	Words func(title, body string) []string
	// Workers is how many texts are cut into words at a time; 0: half of the
	// processors, which leaves the others to ingest.
	Workers int
	Logger  *slog.Logger
	// Poll is the longest time that new events may go unnoticed; 0: 200 ms.
	Poll time.Duration
}

// location has the days that the overviews count by.
var location = time.FixedZone("UTC+8", 8*3600)

// fewStories is how many stories at most are read and sorted, instead of read
// along an order.
const fewStories = 2000

// Model is the editors' read model of one catalogue. It is safe for concurrent
// use.
type Model struct {
	cat Catalogue
	cfg Config
	projection

	// follow serialises FollowLists, and guards stale and slow.
	follow sync.Mutex
	stale  map[uint32]bool // large stories that wait to be counted again
	slow   time.Time       // when large stories were last counted

	few   int        // fewStories, except in tests
	words *wordIndex // nil: there is no search
}

// day is the number of the day of a time, in the editors' location.
func (b *Model) day(ms int64) int64 {
	t := time.UnixMilli(ms).In(location)
	_, offset := t.Zone()
	return (t.Unix() + int64(offset)) / 86400
}

// dayTime is the beginning of a day.
func (b *Model) dayTime(day int64) time.Time {
	y, m, d := time.Unix(day*86400, 0).UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, location)
}

// briefs reads versions in the order given; unknown ones are left out.
func (b *Model) briefs(ctx context.Context, ordinals []uint32) ([]index.Brief, error) {
	known, err := b.cat.Briefs(ctx, ordinals)
	var out []index.Brief
	for _, o := range ordinals {
		if brief := known[o]; brief != nil {
			out = append(out, *brief)
		}
	}
	return out, err
}

// sourceNumber is the number of a source, -1 if nothing has come from it.
func (b *Model) sourceNumber(ctx context.Context, name string) (number int64, err error) {
	err = b.cat.Tables().QueryRowContext(ctx, `SELECT coalesce((SELECT number FROM sources WHERE name = ?), -1)`, name).Scan(&number)
	if err != nil {
		err = fmt.Errorf("browse: source %q: %w", name, err)
	}
	return number, err
}
