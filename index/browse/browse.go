package browse

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"time"

	"jianguo/index"
	"jianguo/index/sqlite"
	"jianguo/index/verdict"

	"golang.org/x/sync/errgroup"
)

// FileName is the file of a Model's lists inside the data directory.
const FileName = "browse.db"

// listsFormat is the version of browse.db. A file of another version is made
// anew: everything in it follows from the catalogue.
const listsFormat = 6

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
CREATE TABLE delays (source INTEGER, bucket INTEGER, n INTEGER NOT NULL, PRIMARY KEY (source, bucket)) WITHOUT ROWID;
CREATE TABLE families (series INTEGER PRIMARY KEY, n INTEGER NOT NULL);
CREATE TABLE queue (ordinal INTEGER PRIMARY KEY, error REAL NOT NULL, series INTEGER NOT NULL, source INTEGER NOT NULL);
CREATE INDEX queue_by_error ON queue (error, ordinal, series, source);
CREATE INDEX queue_by_series ON queue (series, error, ordinal);
CREATE TABLE rejected (ordinal INTEGER PRIMARY KEY, day INTEGER NOT NULL, doubt REAL NOT NULL, lot INTEGER NOT NULL);
CREATE INDEX rejected_by_lot ON rejected (day, lot);
CREATE INDEX rejected_by_doubt ON rejected (doubt, ordinal);
CREATE TABLE licensed (of INTEGER, ordinal INTEGER, PRIMARY KEY (of, ordinal)) WITHOUT ROWID;
`

// Config configures a Browse.
type Config struct {
	// Words returns the words under which an article is found; nil: there is
	// no search. It is called from several goroutines.
	Words func(title, body string) []string
	// Workers is how many texts are cut into words at a time; 0: half as many as
	// there are processors, which leaves the rest to ingest.
	Workers int
	// Location is whose days the overviews count; nil: eight hours east.
	Location *time.Location
	Logger   *slog.Logger
	// Poll is how long new events may go unnoticed; 0: 200 ms.
	Poll time.Duration
}

// Browse is what editors see of a catalogue: stories in several orders,
// queues, counts by hour and source, and a search over words. It follows the
// event log and keeps what it derives in two files of its own, so that the
// writer of the catalogue never waits for it, and the lists never wait for the
// search; both can be removed and are then made again. It lags behind by
// Config.Poll and the time that a batch takes, the search by seconds to minutes
// while thousands of articles a second come; what it lists is checked
// against the present state when it is read.
type Model struct {
	cat Catalogue
	cfg Config
	log *slog.Logger
	projection

	// follow serialises FollowLists. It guards stale and slow.
	follow sync.Mutex
	stale  map[uint32]bool // stories too large to be counted again at once
	slow   time.Time       // when they were last

	few   int        // fewStories, but for tests
	words *wordIndex // nil: there is no search
}

// Open opens what there is of the files; Run brings them up to date.
func Open(ctx context.Context, cat Catalogue, cfg Config) (_ *Model, err error) {
	if cfg.Location == nil {
		cfg.Location = time.FixedZone("UTC+8", 8*3600)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Poll == 0 {
		cfg.Poll = 200 * time.Millisecond
	}
	if cfg.Workers <= 0 {
		cfg.Workers = (runtime.GOMAXPROCS(0) + 1) / 2
	}
	b := &Model{cat: cat, cfg: cfg, log: cfg.Logger, few: fewStories, stale: map[uint32]bool{}}
	b.projection, err = openProjection(ctx, cat, cfg.Logger, FileName, listsSchema, listsFormat)
	if err == nil && cfg.Words != nil {
		b.words = &wordIndex{cat: cat, of: cfg.Words, workers: cfg.Workers}
		b.words.projection, err = openProjection(ctx, cat, cfg.Logger, index.WordsFileName, wordsSchema, wordsFormat)
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

// Run follows the event log until ctx is done, and then returns nil. An error
// of a file ends it.
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
				if err := pace.rest(inner); err != nil {
					return nil
				}
				if more {
					continue
				}
				select {
				case <-inner.Done():
					return nil
				case <-time.After(b.cfg.Poll):
				}
			}
		})
	}
	return g.Wait()
}

// Follow takes in every event there is now.
func (b *Model) Follow(ctx context.Context) error {
	err := b.FollowLists(ctx)
	for more := true; more && err == nil; {
		more, err = b.followWords(ctx, nil)
	}
	return err
}

// FollowLists takes every event there is now into all but the search.
func (b *Model) FollowLists(ctx context.Context) error {
	b.follow.Lock()
	defer b.follow.Unlock()
	for {
		n, err := b.step(ctx)
		if err != nil {
			return fmt.Errorf("browse: follow the events: %w", err)
		}
		if n < listsBatch {
			return nil
		}
	}
}

// followWords takes one batch of events into the search.
func (b *Model) followWords(ctx context.Context, p *pace) (more bool, err error) {
	if b.words == nil {
		return false, nil
	}
	if more, err = b.words.step(ctx, p); err != nil {
		return false, fmt.Errorf("browse: follow the words: %w", err)
	}
	return more, nil
}

// listsBatch is how many events one transaction takes in.
const listsBatch = 1024

// Lag is how many events the lists have not taken in yet, and how many the
// search has not.
func (b *Model) Lag(ctx context.Context) (lists, search uint64, err error) {
	if lists, err = b.lag(ctx, b.cat); err == nil && b.words != nil {
		search, err = b.words.lag(ctx, b.cat)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("browse: lag: %w", err)
	}
	return lists, search, nil
}

// seen is one event and its item, as the follower reads them.
type seen struct {
	number                   uint64
	ordinal, of, cluster     uint32
	series                   uint32
	verdict, previous        verdict.Verdict
	cause                    verdict.Cause
	rule                     verdict.Rule
	source                   int64
	published, arrived       int64
	distance                 sql.NullInt64
	resemblance              sql.NullFloat64
	evidence                 sql.NullString
	id                       string
	ofSource                 int64
	ofSeries                 uint32
	ofPublished, ofArrived   int64
	wasCluster, wasOfCluster uint32
}

const seenQuery = `SELECT e.number, e.ordinal, coalesce(e.of, 0), e.cluster, i.cluster, coalesce(i.series, 0), e.verdict, e.previous, e.cause, e.rule,
	coalesce(i.source, 0), coalesce(i.published_at, 0), i.arrived_at, i.distance, i.resemblance, i.evidence, i.id, coalesce(o.source, 0), coalesce(o.published_at, 0), coalesce(o.arrived_at, 0), coalesce(o.cluster, 0), coalesce(o.series, 0)
	FROM events e JOIN items i ON i.ordinal = e.ordinal LEFT JOIN items o ON o.ordinal = e.of WHERE e.number > ? ORDER BY e.number LIMIT ?`

func (s *seen) scan(r *sql.Rows) error {
	return r.Scan(&s.number, &s.ordinal, &s.of, &s.cluster, &s.wasCluster, &s.series, &s.verdict, &s.previous, &s.cause, &s.rule,
		&s.source, &s.published, &s.arrived, &s.distance, &s.resemblance, &s.evidence, &s.id, &s.ofSource, &s.ofPublished, &s.ofArrived, &s.wasOfCluster, &s.ofSeries)
}

// arrives reports whether the event is the arrival of a version.
func (s *seen) arrives() bool {
	return s.cause == verdict.CauseIngest || s.cause == verdict.CauseRevision
}

// copied reports whether the event says for the first time that one item is a
// copy of another: rejected, licensed, or found out by the arrival of what it
// copied.
func (s *seen) copied() bool {
	return s.arrives() && (s.verdict == verdict.Duplicate || s.rule == verdict.ByLicence) || s.cause == verdict.CausePromotion && s.rule == verdict.ByPreference
}

// step takes in one batch of events and returns how many it had.
func (b *Model) step(ctx context.Context) (n int, err error) {
	mark, err := b.mark(ctx)
	if err != nil {
		return 0, err
	}
	var events []seen
	err = sqlite.Each(ctx, b.cat.Tables(), seenQuery, func(r *sql.Rows) error {
		var s seen
		err := s.scan(r)
		events = append(events, s)
		return err
	}, mark, listsBatch)
	if err != nil {
		return 0, err
	}
	idle := len(events) == 0
	if idle && (len(b.stale) == 0 || time.Since(b.slow) < slowStories) {
		return 0, nil
	}
	tx, err := b.writer.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	w := &follower{Model: b, ctx: context.WithoutCancel(ctx), tx: tx, touched: map[uint32]bool{}, counts: counts{}}
	for i := range events {
		if err := w.take(&events[i]); err != nil {
			return 0, fmt.Errorf("event %d: %w", events[i].number, err)
		}
	}
	if err := errors.Join(w.counts.write(w), w.stories()); err != nil {
		return 0, err
	}
	if !idle {
		if err := setMark(ctx, tx, events[len(events)-1].number); err != nil {
			return 0, err
		}
	}
	return len(events), tx.Commit()
}

// follower is one transaction of Follow; its context is as that of a wordWriter.
type follower struct {
	*Model
	ctx     context.Context
	tx      *sql.Tx
	touched map[uint32]bool // clusters whose story may have changed
	counts  counts
}

func (w *follower) exec(query string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, query, args...)
	return err
}

// take counts one event, and notes what has to be counted again.
func (w *follower) take(s *seen) error {
	clusters := []uint32{s.cluster, s.wasCluster, s.wasOfCluster, w.cat.Cluster(s.ordinal)}
	if s.cause == verdict.CauseIngest && s.verdict != verdict.Duplicate {
		clusters = nil // it is alone in a cluster of its own
	}
	if s.cause != verdict.CauseIngest {
		// Rare, and able to move whole clusters: every story that any version of
		// the item was ever in is counted again.
		var err error
		if clusters, err = w.everIn(s.id, clusters); err != nil {
			return err
		}
	}
	for _, c := range clusters {
		if c != 0 {
			w.touched[c], w.touched[standing(w.cat, c)] = true, true
		}
	}
	if s.cause == verdict.CauseRevision {
		if err := w.superseded(s); err != nil {
			return err
		}
	}
	if s.previous == verdict.Duplicate {
		if err := w.exec(`DELETE FROM rejected WHERE ordinal = ?`, s.ordinal); err != nil {
			return err
		}
	}
	if s.previous == verdict.Suspect && s.verdict != verdict.Suspect {
		if err := w.exec(`DELETE FROM queue WHERE ordinal = ?`, s.ordinal); err != nil {
			return err
		}
	}
	switch s.verdict {
	case verdict.Suspect:
		if err := w.exec(`INSERT OR REPLACE INTO queue VALUES (?,?,?,?)`, s.ordinal, s.likely(), index.FamilyOf(s.series, s.of, s.ofSeries), s.source); err != nil {
			return err
		}
	case verdict.Duplicate:
		if s.rule != verdict.ByEditor && s.rule != verdict.ByPreference { // nothing that detection has to answer for
			day := w.day(s.arrived)
			if err := w.exec(`INSERT OR REPLACE INTO rejected VALUES (?,?,?,?)`, s.ordinal, day, 1-s.likely(), lot(s.ordinal)); err != nil {
				return err
			}
		}
	}
	if s.arrives() {
		w.count(s)
	}
	if s.copied() {
		w.countPair(s)
	}
	if s.rule == verdict.ByLicence && s.of != 0 {
		return w.exec(`INSERT OR IGNORE INTO licensed VALUES (?,?)`, s.of, s.ordinal)
	}
	return nil
}

// everIn appends the clusters that the versions of an id have been in.
func (w *follower) everIn(id string, clusters []uint32) ([]uint32, error) {
	for _, ordinal := range w.cat.Versions(id) {
		err := sqlite.Each(w.ctx, w.cat.Tables(), `SELECT cluster FROM items WHERE ordinal = ? UNION SELECT cluster FROM events WHERE ordinal = ? AND cause > 2`, func(r *sql.Rows) error {
			var c uint32
			err := r.Scan(&c)
			clusters = append(clusters, c, w.cat.Cluster(ordinal))
			return err
		}, ordinal, ordinal)
		if err != nil {
			return nil, err
		}
	}
	return clusters, nil
}

// superseded takes the earlier versions of a revised item out of the queues;
// their stories have lost a member, which no event of their own says.
func (w *follower) superseded(s *seen) error {
	for _, ordinal := range w.cat.Versions(s.id) {
		if ordinal >= s.ordinal {
			continue
		}
		w.touched[standing(w.cat, w.cat.Cluster(ordinal))] = true
		for _, table := range []string{"queue", "rejected"} {
			if err := w.exec(`DELETE FROM `+table+` WHERE ordinal = ?`, ordinal); err != nil {
				return err
			}
		}
	}
	return nil
}

// day is the number of the day of a time, in the place of the editors.
func (b *Model) day(ms int64) int64 {
	t := time.UnixMilli(ms).In(b.cfg.Location)
	_, offset := t.Zone()
	return (t.Unix() + int64(offset)) / 86400
}

// dayTime is the beginning of a day.
func (b *Model) dayTime(day int64) time.Time {
	y, m, d := time.Unix(day*86400, 0).UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, b.cfg.Location)
}

// lot draws an item's place in the daily sample: fixed, but for nobody to
// foresee who publishes it.
func lot(ordinal uint32) int64 {
	h := uint64(ordinal) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return int64(h >> 33)
}

// likely is how likely the item is a copy, 0…1, by what was measured: the
// judge's own score where it is kept, else resemblance, less where figures
// stand against each other.
func (s *seen) likely() float64 {
	if s.rule == verdict.ByExact || s.rule == verdict.ByBlocked && !s.resemblance.Valid {
		return 1
	}
	p := 0.5
	switch {
	case s.resemblance.Valid:
		p = s.resemblance.Float64
	case s.distance.Valid:
		p = 1 - float64(s.distance.Int64)/16
	}
	if !s.evidence.Valid {
		return p
	}
	var f struct {
		verdict.Facts
		Score *float64 `json:"score"`
	}
	if json.Unmarshal([]byte(s.evidence.String), &f) != nil {
		return p
	}
	if f.Score != nil {
		return math.Max(0, math.Min(1, *f.Score))
	}
	if f.Numbers > 0 {
		p *= 0.5 + 0.5*float64(f.Shared)/float64(f.Numbers)
	}
	return p
}
