package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"

	"jianguo/compare"
	"jianguo/index/reindex"
	"jianguo/index/resident"
	"jianguo/index/sources"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// loader fills the resident data at the start.
type loader struct{ *catalogue }

// load fills the resident data from the snapshot and the catalogue. It panics on errors (must).
func (x loader) load(ctx context.Context) {
	// The rows that every start reads; Verify reads the others.
	must.Do(sqlite.VerifySums(ctx, x.reader, must.Do, "meta", "stamps", "sources", "source_policies", "boilerplate"))
	x.loadMeta(ctx)
	for number, hash := range sqlite.Pairs[int64, string](ctx, x.reader, `SELECT number, hash FROM stamps`) {
		x.stampHashes.Store(number, hash)
	}
	x.boilerplate.DB = x.reader
	x.policies.Store(new(must.Get(sources.InForce(ctx, x.reader))))
	x.loadClusters(ctx)
	x.flood.load(ctx, x.reader)
	for _, ordinal := range []uint32{1, x.nextOrdinal - 1} { // to read all would take too long
		_, err := resident.ReadPosting(ctx, x.reader, x.recipe.Load().overlay.Compared(), ordinal)
		if errors.Is(err, compare.ErrVersion) {
			must.Do(fmt.Errorf("%w: %s", err, otherBuild))
		}
	}
	x.loadItems(ctx)
}

func (x loader) loadMeta(ctx context.Context) {
	values := maps.Collect(sqlite.Pairs[string, string](ctx, x.reader, `SELECT key, value FROM meta`))
	for key, field := range map[string]*uint64{"applied": &x.applied, "logged": &x.logged,
		"stream_base": &x.stream.Base} {
		if text, ok := values[key]; ok {
			n, err := strconv.ParseUint(text, 10, 64)
			must.Dof(err, "meta %s", key)
			*field = n
		}
	}
	x.recipe.Store(&recipeInForce{overlay: must.Get(reindex.Stored(ctx, x.reader, reindex.InForce))})
	x.stream.Identity = values["stream_identity"]
	// A random number that ties a snapshot to its catalogue.
	text := values["identity"]
	if text == "" {
		text = fmt.Sprintf("%016x", rand.Uint64())
		must.Get(x.writer.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('identity', ?)`, text))
	}
	identity, err := strconv.ParseUint(text, 16, 64)
	must.Dof(err, "identity %q of the catalogue is damaged", text)
	x.identity = int64(identity >> 1)
	var ordinal, event sql.NullInt64
	must.Do(x.reader.QueryRowContext(ctx, `SELECT (SELECT max(ordinal) FROM items),
		(SELECT max(number) FROM events)`).Scan(&ordinal, &event))
	x.nextOrdinal, x.nextEvent = uint32(ordinal.Int64)+1, uint64(event.Int64)+1
	x.events = uint64(event.Int64)
}

func (x loader) loadClusters(ctx context.Context) {
	for r := range sqlite.Rows(ctx, x.reader, `SELECT id, lead, coalesce(merged_into, 0) FROM clusters
		WHERE lead != id OR merged_into IS NOT NULL`) {
		var id, lead, merged uint32
		must.Do(r.Scan(&id, &lead, &merged))
		x.clusters.Set(id, lead, merged)
	}
}

// loadItems loads versions, look-ups and postings: from the snapshot and the rows that
// have changed since, or from every row.
func (x loader) loadItems(ctx context.Context) {
	tables, m, err := x.snapshot.Load(ctx, x.recipe.Load().overlay.SnapshotOf(x.identity), x.mark(), x.cfg.Progress)
	switch {
	case err == nil:
		x.log.DebugContext(ctx, "snapshot loaded", "items", m.Ordinal, "of", x.nextOrdinal-1, "events", m.Event)
	case !errors.Is(err, resident.ErrSnapshot):
		must.Do(err)
	case err != resident.ErrSnapshot || x.nextOrdinal > 100_000:
		x.log.WarnContext(ctx, "building the resident index from the catalogue", "items", x.nextOrdinal-1,
			"reason", err)
	}
	x.setTables(tables)
	x.snapshotEvent.Store(m.Event)
	must.Do(x.builder().Load(ctx, m))
}

// builder returns a builder over the present end of the catalogue.
func (x loader) builder() *resident.Builder {
	return &resident.Builder{
		Tables: x.tables, DB: x.reader, Compared: x.recipe.Load().overlay.Compared(), Last: x.mark(),
		Policy: &x.policy, Clusters: &x.clusters, Progress: x.cfg.Progress,
	}
}

// outlineInBackground reads the outlines of the versions that exist at the start.
func (x loader) outlineInBackground() {
	b := x.builder()
	x.outlined = make(chan struct{})
	x.background.Go(func() {
		defer close(x.outlined)
		if err := b.Outlines(x.ending, x.metrics.outlines.Set); err != nil && x.ending.Err() == nil {
			// Judging reads sketches where outlines are missing.
			x.log.ErrorContext(x.ending, "reading outlines of sketches", "error", err)
		}
	})
}

// warnOfRecipe logs a warning if the first or the last version is compared by another
// recipe than new ones. To check every version would take too long.
func (x loader) warnOfRecipe(ctx context.Context) {
	if x.cfg.Recipe == nil || x.nextOrdinal == 1 {
		return
	}
	f := x.recipe.Load()
	for _, ordinal := range []uint32{1, x.nextOrdinal - 1} {
		theirs := f.overlay.Recipe
		if ordinal > f.overlay.Through {
			must.Do(x.reader.QueryRowContext(ctx, `SELECT recipe FROM items WHERE ordinal = ?`, ordinal).Scan(&theirs))
		}
		if theirs != f.stamp {
			x.log.WarnContext(ctx,
				"older items have fingerprints of another recipe, and meet new texts less well "+
					"until `jianguo reindex` has run",
				"recipe", f.hash, "theirs", x.stampHash(theirs))
			return
		}
	}
}
