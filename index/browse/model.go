package browse

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"jianguo/index"
	"jianguo/internal/must"
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

// The overviews count by days and weeks of UTC+8.
const zone = 8 * 3600

// dayOf is the number of the day of a time in milliseconds.
func dayOf(ms int64) int64 { return (ms/1000 + zone) / 86400 }

// weekOf is, in a query, the number of the week of a time in milliseconds. Weeks begin on Monday.
func weekOf(ms string) string {
	return fmt.Sprintf(`(%s / 1000 + %d + 3 * 86400) / 604800`, ms, zone)
}

// weekTime is the beginning of a week.
func weekTime(week int64) time.Time {
	return time.Unix(week*604800-3*86400-zone, 0).In(time.FixedZone("UTC+8", zone))
}

// briefs reads versions in the order given; unknown ones are left out.
func (b *Model) briefs(ctx context.Context, ordinals []uint32) (out []index.Brief) {
	known := must.Get(b.cat.Briefs(ctx, ordinals))
	for _, o := range ordinals {
		if brief := known[o]; brief != nil {
			out = append(out, *brief)
		}
	}
	return out
}

// sourceNumber is the number of a source, -1 if nothing has come from it.
func (b *Model) sourceNumber(ctx context.Context, name string) int {
	return count(ctx, b.cat.Tables(), "source "+name, `SELECT coalesce((SELECT number FROM sources WHERE name = ?), -1)`, name)
}
