// Package browse is the editors' read model of a catalogue: clusters in several
// orders, queues, counts by hour and source, and a search over words.
//
// # Contract
//
// A Model follows the event log of an index and keeps what it derives in browse.db.
// The writer of the catalogue never waits for it. Lists and search follow the log each
// with a mark of its own: the lists lag by Config.Poll and the time of one batch; the
// search costs a hundred times as much, and rests while more than a hundred articles a
// second arrive: it had taken in the last of 620,000 eleven minutes after they came.
// Its transactions are short, so that the lists do not wait for it. Whatever is listed is
// checked against the present state of the catalogue when it is read.
//
// Everything in the file follows from the catalogue. It may be deleted; a file that is
// damaged, of another format, or ahead of the catalogue (a backup was restored) is
// rebuilt. Its format is SQLite's user_version.
package browse

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/clock"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

type Config struct {
	// Words returns the words under which an article is found. Required.
	Words  func(title, body string) []string
	Logger *slog.Logger
	// Poll is the longest time that new events may go unnoticed; 0: 200 ms.
	Poll time.Duration
	// Tell is called with each silenced source, once a day; may be nil.
	Tell    func(*Silenced) error
	Metrics prometheus.Registerer // nil: they are not shown
}

// fewClusters is how many clusters at most are read and sorted, instead of read
// along an order.
const fewClusters = 2000

// Model is the editors' read model of one catalogue. It is safe for concurrent
// use.
type Model struct {
	cat *index.Index
	cfg Config
	*file
	few   int                                                       // fewClusters, except in tests
	state func(ordinal uint32) (v verdict.Verdict, superseded bool) // of cat, except in tests

	silenced prometheus.Gauge
	told     time.Time // when silenced sources were last looked for; of Run

	lists        sync.Mutex      // serialises listEvents, and guards stale and largeCounted
	stale        map[uint32]bool // large clusters that wait to be counted again
	largeCounted time.Time       // when large clusters were last counted

	words   sync.Mutex // serialises indexer.step
	indexer indexer
}

// Open opens the file as it is; Run brings it up to date.
func Open(ctx context.Context, cat *index.Index, cfg Config) (*Model, error) {
	cfg.Logger, cfg.Poll = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), cmp.Or(cfg.Poll, 200*time.Millisecond)
	f, err := openFile(ctx, cat, cfg.Logger)
	if err != nil {
		return nil, err
	}
	return &Model{
		cat: cat, cfg: cfg, file: f, few: fewClusters, state: cat.State,
		silenced: promauto.With(cfg.Metrics).NewGauge(prometheus.GaugeOpts{Name: "jianguo_sources_silenced",
			Help: "Sources of which nearly all articles of today were rejected."}),
		stale:   map[uint32]bool{},
		indexer: indexer{cat, f, cfg.Words},
	}, nil
}

// Close closes the file. Run must have ended.
func (b *Model) Close() error { return b.file.close() }

// Run follows the event log until ctx is done. It logs an error of the file, and tries again soon: lists or search lag
// behind meanwhile.
func (b *Model) Run(ctx context.Context) {
	var following sync.WaitGroup
	for _, follow := range []func(context.Context) error{b.followLists, b.followWords} {
		following.Go(func() {
			for pause := time.Duration(0); clock.Sleep(ctx, pause) == nil; {
				pause = b.cfg.Poll
				if err := follow(ctx); err != nil && ctx.Err() == nil {
					b.cfg.Logger.ErrorContext(ctx, "the console lags behind", "error", err)
					pause = 5 * time.Second
				}
			}
		})
	}
	following.Wait()
}

// followLists is FollowLists, and every tellEvery tells what is new of silenced sources.
func (b *Model) followLists(ctx context.Context) error {
	if err := b.FollowLists(ctx); err != nil || time.Since(b.told) < tellEvery {
		return err
	}
	b.told = time.Now()
	return b.tellSilenced(ctx)
}

// Follow takes in all events up to now.
func (b *Model) Follow(ctx context.Context) error {
	return errors.Join(b.FollowLists(ctx), b.followWords(ctx))
}

// FollowLists takes all events up to now into the lists, not into the search.
func (b *Model) FollowLists(ctx context.Context) error {
	return catchUp(ctx, &b.lists, b.listEvents)
}

func (b *Model) followWords(ctx context.Context) error { return catchUp(ctx, &b.words, b.indexer.step) }

// catchUp calls step, which takes in one batch of events and may panic (must), until
// there are no more.
func catchUp(ctx context.Context, one *sync.Mutex, step func(context.Context) (more bool)) error {
	one.Lock()
	defer one.Unlock()
	err := must.Catch(func() {
		for step(ctx) {
		}
	})
	return wrap.Err(err, "browse: follow the events")
}

// Lag is how many events the lists have not taken in yet, and how many the
// search has not.
func (b *Model) Lag(ctx context.Context) (lists, search uint64, err error) {
	err = must.Catch(func() {
		listed, found := b.mark(ctx, listsMark), b.mark(ctx, wordsMark)
		_, last := b.cat.Applied()
		lists, search = last-min(listed, last), last-min(found, last)
	})
	return lists, search, err
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
	return count(ctx, b.cat.Tables(), "source "+name,
		`SELECT coalesce((SELECT number FROM sources WHERE name = ?), -1)`, name)
}

// SourcesNamed lists sources that have a text in their names, the shortest names first.
func (b *Model) SourcesNamed(ctx context.Context, part string, limit int) ([]string, error) {
	return sqlite.Column[string](ctx, b.cat.Tables(),
		`SELECT name FROM sources WHERE instr(name, ?) ORDER BY length(name), name LIMIT ?`, part, limit)
}
