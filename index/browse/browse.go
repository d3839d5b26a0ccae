// Package browse is the editors' read model of a catalogue: stories in several
// orders, queues, counts by hour and source, and a search over words.
//
// # Contract
//
// A Model follows the event log of an index and keeps what it derives in two
// files of its own, browse.db (lists) and words.db (search). The writer of the
// catalogue never waits for it, and the lists never wait for the search. The
// lists lag by Config.Poll and the time of one batch; the search lags by seconds
// to minutes while thousands of articles a second arrive. Whatever is listed is
// checked against the present state of the catalogue when it is read.
//
// Everything in the two files follows from the catalogue. They may be deleted; a
// file that is damaged, of another format, or ahead of the catalogue (a backup
// was restored) is rebuilt. Each has a format number in SQLite's user_version.
//
// Of the index it reads what the interface Catalogue lists.
package browse

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/wait"
	"jianguo/internal/wrap"
)

// Open opens the files as they are; Run brings them up to date.
func Open(ctx context.Context, cat Catalogue, cfg Config) (_ *Model, err error) {
	cfg.Logger, cfg.Poll = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), cmp.Or(cfg.Poll, 200*time.Millisecond)
	cfg.Workers = cmp.Or(cfg.Workers, (runtime.GOMAXPROCS(0)+1)/2)
	b := &Model{cat: cat, cfg: cfg, few: fewStories, stale: map[uint32]bool{}}
	b.projection, err = openProjection(ctx, cat, cfg.Logger, FileName, listsSchema, listsFormat)
	if err == nil && cfg.Words != nil {
		b.words = &wordIndex{cat: cat, of: cfg.Words, workers: cfg.Workers}
		b.words.projection, err = openProjection(ctx, cat, cfg.Logger, WordsFileName, wordsSchema, wordsFormat)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close closes the files. Run must have ended.
func (b *Model) Close() error {
	err := b.projection.close()
	if b.words != nil {
		err = errors.Join(err, b.words.close())
	}
	return err
}

// Run follows the event log until ctx is done, and then returns nil. It returns
// the first error of a file.
func (b *Model) Run(ctx context.Context) error {
	g, inner := errgroup.WithContext(ctx)
	lists := func(ctx context.Context, _ *pace) (bool, error) { return false, b.FollowLists(ctx) }
	for _, follow := range []func(context.Context, *pace) (more bool, err error){lists, b.followWords} {
		g.Go(func() error {
			for {
				pace := (&pace{arriving: b.cat.Arriving}).begin()
				more, err := follow(inner, pace)
				if err != nil && inner.Err() == nil {
					return err
				}
				if pace.rest(inner) != nil || !more && wait.For(inner, b.cfg.Poll) != nil {
					return nil
				}
			}
		})
	}
	return g.Wait()
}

// Follow takes in all events up to now.
func (b *Model) Follow(ctx context.Context) error {
	err := b.FollowLists(ctx)
	for more := true; more && err == nil; {
		more, err = b.followWords(ctx, nil)
	}
	return err
}

// FollowLists takes all events up to now into the lists, not into the search.
func (b *Model) FollowLists(ctx context.Context) error {
	b.follow.Lock()
	defer b.follow.Unlock()
	err := must.Catch(func() {
		for b.step(ctx) == listsBatch {
		}
	})
	return wrap.Err(err, "browse: follow the events")
}

// followWords takes one batch of events into the search.
func (b *Model) followWords(ctx context.Context, p *pace) (more bool, err error) {
	if b.words == nil {
		return false, nil
	}
	if more, err = must.Try(func() bool { return b.words.step(ctx, p) }); err != nil {
		return false, fmt.Errorf("browse: follow the words: %w", err)
	}
	return more, nil
}

// Lag is how many events the lists have not taken in yet, and how many the
// search has not.
func (b *Model) Lag(ctx context.Context) (lists, search uint64, err error) {
	err = must.Catch(func() {
		if lists = b.lag(ctx, b.cat); b.words != nil {
			search = b.words.lag(ctx, b.cat)
		}
	})
	return lists, search, err
}

// Search returns the versions that have all of the words, the newest first,
// at most limit of them.
func (b *Model) Search(ctx context.Context, words []string, limit int) ([]uint32, error) {
	if len(words) == 0 || limit <= 0 || b.words == nil {
		return nil, nil
	}
	return must.Try(func() []uint32 { return b.words.search(ctx, words, limit) })
}

// FileName is the file of a Model's lists inside the data directory.
const FileName = "browse.db"

// WordsFileName is the file of the search inside the data directory.
const WordsFileName = "words.db"

// listsFormat is the version of browse.db.
const listsFormat = 8

const listsSchema = `
CREATE TABLE stories (cluster INTEGER PRIMARY KEY, lead INTEGER NOT NULL, original INTEGER NOT NULL, size INTEGER NOT NULL, sources INTEGER NOT NULL,
  rules INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, heat REAL NOT NULL, pull REAL NOT NULL, spark BLOB NOT NULL);
CREATE INDEX stories_by_last ON stories (last_at, cluster);
CREATE INDEX stories_by_first ON stories (first_at, cluster);
CREATE INDEX stories_by_size ON stories (size, cluster);
CREATE INDEX stories_by_heat ON stories (heat, cluster);
CREATE INDEX stories_by_pull ON stories (pull, cluster);
CREATE TABLE story_sources (source INTEGER, cluster INTEGER, n INTEGER NOT NULL, PRIMARY KEY (source, cluster)) WITHOUT ROWID;
CREATE INDEX story_sources_by_cluster ON story_sources (cluster);
CREATE TABLE story_rules (rule INTEGER, cluster INTEGER, PRIMARY KEY (rule, cluster)) WITHOUT ROWID;
CREATE TABLE hours (hour INTEGER PRIMARY KEY, items INTEGER NOT NULL, duplicates INTEGER NOT NULL, suspects INTEGER NOT NULL);
CREATE TABLE source_days (source INTEGER, day INTEGER, items INTEGER NOT NULL, duplicates INTEGER NOT NULL, suspects INTEGER NOT NULL,
  PRIMARY KEY (source, day)) WITHOUT ROWID;
CREATE TABLE pairs (origin INTEGER, copier INTEGER, day INTEGER, n INTEGER NOT NULL, PRIMARY KEY (origin, copier, day)) WITHOUT ROWID;
CREATE TABLE pairings (source INTEGER, day INTEGER, n INTEGER NOT NULL, PRIMARY KEY (source, day)) WITHOUT ROWID;
CREATE TABLE copies (ordinal INTEGER PRIMARY KEY, of INTEGER NOT NULL, origin INTEGER NOT NULL, copier INTEGER NOT NULL, at INTEGER NOT NULL, delay INTEGER);
CREATE INDEX copies_by_origin ON copies (origin, copier, at);
CREATE INDEX copies_by_copier ON copies (copier, at);
CREATE INDEX copies_by_delay ON copies (copier, delay) WHERE delay IS NOT NULL;
CREATE INDEX copies_by_time ON copies (at);
CREATE TABLE queue (ordinal INTEGER PRIMARY KEY, error REAL NOT NULL, series INTEGER NOT NULL, source INTEGER NOT NULL, arrived INTEGER NOT NULL, kind TEXT NOT NULL);
CREATE INDEX queue_by_error ON queue (error, ordinal, series, source, arrived, kind);
CREATE INDEX queue_by_series ON queue (series, error, ordinal);
CREATE TABLE rejected (ordinal INTEGER PRIMARY KEY, day INTEGER NOT NULL, doubt REAL NOT NULL, lot INTEGER NOT NULL);
CREATE INDEX rejected_by_lot ON rejected (day, lot);
CREATE INDEX rejected_by_doubt ON rejected (doubt, ordinal);
CREATE TABLE licensed (of INTEGER, ordinal INTEGER, PRIMARY KEY (of, ordinal)) WITHOUT ROWID;
`

// Catalogue is what a Model reads of an index: an index.View.
type Catalogue interface {
	Tables() *sql.DB
	Dir() string
	Recipe() string
	Applied() (seq, event uint64)
	Arriving() int64
	State(ordinal uint32) (v verdict.Verdict, superseded bool)
	Versions(id string) []uint32
	Cluster(ordinal uint32) uint32
	Lead(cluster uint32) (standing, lead uint32)
	MembersFrom(cluster uint32) (from string, args []any)
	Briefs(ctx context.Context, ordinals []uint32) (map[uint32]*index.Brief, error)
	SourcePolicies(ctx context.Context) (map[string]index.SourcePolicy, error)
}

// standing is the cluster that stands for a cluster after merges.
func standing(cat Catalogue, cluster uint32) uint32 {
	cluster, _ = cat.Lead(cluster)
	return cluster
}
