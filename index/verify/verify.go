// Package verify proves that a catalogue is whole. It runs SQLite's own check of the
// file, and compares the facts with each other and the resident data with the facts.
package verify

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"jianguo/compare"
	"jianguo/index/bands"
	"jianguo/index/reindex"
	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
	"jianguo/simhash"
)

type Report struct {
	Items, Events, Clusters, Exemplars int64
	// Recipes are the recipes that items are compared by, the oldest first, if there
	// are several. Copies are found less well across recipes.
	Recipes []string `json:",omitempty"`
	// Problems are sentences, at most maxProblems of them. The directory is whole if
	// there are none.
	Problems []string
}

const maxProblems = 50

func (r *Report) problem(format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// rules must hold in every catalogue. Each is a query for its exceptions, which returns
// their numbers.
var rules = []struct{ what, query string }{
	{"ordinal is missing before it", gaps("ordinal", "items")},
	{"event is missing before it", gaps("number", "events")},
	{"decision is missing before it", gaps("number", "decisions")},
	{"decision about items is missing", `SELECT decision FROM decision_items
		WHERE decision NOT IN (SELECT number FROM decisions)`},
	{"event is about no item", `SELECT number FROM events WHERE ordinal NOT IN (SELECT ordinal FROM items)`},
	{"item's first event is not there, or about another", `SELECT i.ordinal FROM items i
		LEFT JOIN events e ON e.number = i.event WHERE e.ordinal IS NOT i.ordinal`},
	{"arrival is not the first event of its item", `SELECT e.number FROM events e
		JOIN items i ON i.ordinal = e.ordinal WHERE e.cause <= 2 AND e.number != i.event`},
	{"event comes before the first of its item", `SELECT e.number FROM events e
		JOIN items i ON i.ordinal = e.ordinal WHERE e.cause > 2 AND e.number < i.event`},
	{"item's last event differs from its state", `SELECT i.ordinal FROM items i
		LEFT JOIN current c ON c.ordinal = i.ordinal
		WHERE coalesce(c.verdict, i.verdict) IS NOT coalesce(
			(SELECT e.verdict FROM events e WHERE e.ordinal = i.ordinal AND e.cause > 2 ORDER BY e.number DESC LIMIT 1),
			(SELECT e.verdict FROM events e WHERE e.number = i.event))`},
	{"item has an unknown recipe or policy", `SELECT ordinal FROM items i
		WHERE NOT EXISTS (SELECT 1 FROM stamps WHERE number = i.recipe AND kind = 'recipe')
		OR NOT EXISTS (SELECT 1 FROM stamps WHERE number = i.policy AND kind = 'policy')`},
	{"item's source is missing", `SELECT ordinal FROM items WHERE source IS NOT NULL
		AND source NOT IN (SELECT number FROM sources)`},
	// A catalogue without a recipe, which jianguo-bench makes, has no texts.
	{"item's text is missing", `SELECT ordinal FROM items WHERE exact IS NOT NULL
		AND ordinal NOT IN (SELECT ordinal FROM texts)
		AND recipe NOT IN (SELECT number FROM stamps WHERE kind = 'recipe' AND hash = '')`},
	{"editor's event belongs to no decision", `SELECT number FROM events WHERE cause = 5
		AND at NOT IN (SELECT at FROM decisions)`},
	{"item is exempt or set aside, and nobody decided so", `SELECT ordinal FROM current WHERE flags & 0x300
		AND ordinal NOT IN (SELECT item FROM decisions WHERE item IS NOT NULL)`},
	{"sequence is applied, and meta lacks it, the policy or the stream", `SELECT coalesce(max(seq), 0) FROM items
		HAVING max(seq) > coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'applied'), 0)
		OR count(*) > 0
			AND NOT EXISTS (SELECT 1 FROM meta JOIN stamps ON kind = key AND hash = value WHERE key = 'policy')
		OR (SELECT count(*) FROM meta WHERE key IN ('stream_identity', 'stream_base')) = 1`},
	// A body of 128 tokens (the second byte of a sketch) that resembles nothing is learned from.
	{"source has learned nothing", `SELECT DISTINCT source FROM items JOIN events e ON e.number = event
		WHERE cause = 1 AND items.verdict = 1 AND items.of IS NULL AND source IS NOT NULL
		AND length(title) < 60 AND substr(sketch, 2, 1) >= x'80'
		AND source NOT IN (SELECT number FROM sources JOIN boilerplate ON source = name)`},
	{"state is about no item", `SELECT ordinal FROM current WHERE ordinal NOT IN (SELECT ordinal FROM items)`},
	{"item is a copy of something that was neither accepted nor blocked", `SELECT i.ordinal FROM items i
		LEFT JOIN items o ON o.ordinal = i.of WHERE i.verdict = 3 AND coalesce((SELECT verdict FROM events
			WHERE ordinal = i.of AND cause > 2 AND number < i.event ORDER BY number DESC LIMIT 1), o.verdict, 3) = 3`},
	{"accepted item does not lead its cluster", `SELECT i.ordinal FROM items i
		LEFT JOIN current c ON c.ordinal = i.ordinal LEFT JOIN clusters k ON k.id = coalesce(c.cluster, i.cluster)
		WHERE coalesce(c.verdict, i.verdict) IN (1, 2) AND coalesce(c.flags, 0) & 32 = 0
		AND coalesce(k.lead, c.cluster, i.cluster) != i.ordinal`},
	{"cluster's lead is neither accepted nor blocked", `SELECT k.id FROM clusters k
		JOIN items i ON i.ordinal = k.lead LEFT JOIN current c ON c.ordinal = i.ordinal WHERE k.merged_into IS NULL
		AND coalesce(c.verdict, i.verdict) NOT IN (1, 2) AND coalesce(c.flags, 0) & 16 = 0`},
	{"cluster's size is not the number of its members", `SELECT k.id FROM clusters k
		WHERE k.size != max((SELECT count(*) FROM members m WHERE m.cluster = k.id), k.size = 1)`},
	{"copy is not a member of its cluster", `SELECT i.ordinal FROM items i
		LEFT JOIN current c ON c.ordinal = i.ordinal
		WHERE coalesce(c.verdict, i.verdict) = 3 AND coalesce(c.flags, 0) & 32 = 0 AND NOT EXISTS
			(SELECT 1 FROM members m WHERE m.cluster = coalesce(c.cluster, i.cluster) AND m.ordinal = i.ordinal)`},
	{"member belongs to another cluster", `SELECT m.ordinal FROM members m JOIN items i ON i.ordinal = m.ordinal
		LEFT JOIN current c ON c.ordinal = i.ordinal WHERE coalesce(c.cluster, i.cluster) != m.cluster`},
	{"cluster follows what is no cluster, or not the one that it was merged into", `SELECT id FROM clusters k
		WHERE NOT EXISTS (SELECT 1 FROM items WHERE ordinal = follows) AND follows IS NOT NULL
		OR merged_into IS NOT NULL AND follows IS NOT merged_into`},
	{"member belongs to no cluster", `SELECT ordinal FROM members WHERE cluster NOT IN (SELECT id FROM clusters)`},
	{"form of no item", `SELECT place & 0xffffffff FROM overlay
		WHERE place & 0xffffffff NOT IN (SELECT ordinal FROM items)`},
	{"kept text belongs to no item", `SELECT ordinal FROM texts WHERE ordinal NOT IN (SELECT ordinal FROM items)`},
}

// gaps is a query for the numbers of a table before which one is missing: they count from 1.
func gaps(number, table string) string {
	return fmt.Sprintf(`SELECT %[1]s FROM (SELECT %[1]s, lag(%[1]s, 1, 0) OVER (ORDER BY %[1]s) AS before FROM %[2]s)
		WHERE %[1]s != before + 1`, number, table)
}

// Catalogue is the input of Run. Nothing may write to it meanwhile.
type Catalogue struct {
	DB       *sql.DB // read-only connections
	Tables   resident.Tables
	Overlay  reindex.Overlay
	Last     uint32 // the last ordinal
	Progress func(stage string, done, total int64)
}

// Run verifies a catalogue. It reports problems of the catalogue in the Report, and
// returns an error only if it could not read the catalogue.
func Run(ctx context.Context, c Catalogue) (*Report, error) {
	r := &Report{}
	err := must.Catch(func() {
		c.verifyFile(ctx, r)
		c.verifyForms(ctx, r)
		for i, rule := range rules {
			c.Progress("rules", int64(i), int64(len(rules)))
			culprits, err := sqlite.Column[int64](ctx, c.DB, rule.query+` LIMIT 5`)
			must.Dof(err, "%q", rule.what)
			for _, n := range culprits {
				r.problem("%d: %s", n, rule.what)
			}
		}
		c.verifyTexts(ctx, r)
		c.verifyResident(ctx, r)
	})
	return r, wrap.Err(err, "verify")
}

// verifyFile runs SQLite's own check and compares checksums. It panics on errors (must), as do the functions below.
func (c *Catalogue) verifyFile(ctx context.Context, r *Report) {
	// quick_check does not compare tables with their indexes; the small ones are: in a damaged page a row
	// that was written over may come back, with its checksum.
	for _, check := range []string{"quick_check(20)", "integrity_check(stamps)", "integrity_check(sources)"} {
		for _, text := range must.Get(sqlite.Column[string](ctx, c.DB, "PRAGMA "+check)) {
			if text != "ok" {
				r.problem("the file is damaged: %s", text)
			}
		}
	}
	must.Do(sqlite.VerifySums(ctx, c.DB, func(err error) { r.problem("%v", err) }))
	must.Do(c.DB.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM items),
		(SELECT count(*) FROM events), (SELECT count(*) FROM clusters WHERE size > 1)`).
		Scan(&r.Items, &r.Events, &r.Clusters))
}

// verifyTexts unpacks every kept text, which verifies its checksum.
func (c *Catalogue) verifyTexts(ctx context.Context, r *Report) {
	for ordinal, packed := range sqlite.Pairs[int64, sql.RawBytes](ctx, c.DB, `SELECT ordinal, body FROM texts`) {
		if _, err := verdict.UnpackText(packed); err != nil {
			r.problem("%d: the kept text is damaged: %v", ordinal, err)
		}
	}
}

// verifyResident compares every row with its look-ups and postings in memory.
func (c *Catalogue) verifyResident(ctx context.Context, r *Report) {
	var hits []bands.Hit
	var ordinals []uint32
	var postings int64
	query := `SELECT ordinal, id, exact, fingerprint, sketch FROM ` + c.Overlay.Compared() + ` ORDER BY ordinal`
	for rows := range sqlite.Rows(ctx, c.DB, query) {
		var ordinal uint32
		var id, exact, encoded sql.RawBytes
		var fingerprint int64
		must.Do(rows.Scan(&ordinal, &id, &exact, &fingerprint, &encoded))
		if ordinals = c.Tables.IDs.Get(ordinals[:0], xxh3.Hash(id)); !slices.Contains(ordinals, ordinal) {
			r.problem("%d: id %q is not in the look-up", ordinal, id)
		}
		if exact != nil {
			ordinals = c.Tables.Exacts.Get(ordinals[:0], resident.ExactKey(exact))
			if len(exact) != 16 {
				r.problem("%d: exact hash of %d bytes", ordinal, len(exact))
			} else if !slices.Contains(ordinals, ordinal) {
				r.problem("%d: exact hash is not in the look-up", ordinal)
			}
		}
		if _, err := compare.DecodeSketch(encoded); err != nil && exact != nil {
			r.problem("%d: sketch: %v", ordinal, err)
		}
		f := c.Tables.Rows.Flags(ordinal)
		if f&resident.Exemplar == 0 {
			continue
		}
		r.Exemplars++
		hit := bands.Hit{Fingerprint: simhash.Fingerprint(fingerprint), Ordinal: ordinal}
		hits = c.Tables.Bands.Hamming(hits[:0], hit.Fingerprint, 0, math.MaxInt)
		switch {
		case fingerprint == 0:
		case slices.Contains(hits, hit):
			postings++
		case f&resident.Swept == 0:
			r.problem("%d: exemplar is not in the bands", ordinal)
		}
	}
	if n := int64(c.Tables.Bands.Len()); n != postings {
		r.problem("%d fingerprints in the bands for %d exemplars that have one", n, postings)
	}
}

// verifyForms proves that the forms which meta speaks of are there, and finds the recipes if there are several. Forms
// in force are read with the items.
func (c *Catalogue) verifyForms(ctx context.Context, r *Report) {
	for _, key := range []string{reindex.InForce, reindex.Underway} {
		o := must.Get(reindex.Stored(ctx, c.DB, key))
		if o.Through > c.Last {
			r.problem("%s: it goes through item %d, and there are %d", key, o.Through, c.Last)
		}
		var forms int64
		var known bool
		must.Do(c.DB.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM overlay WHERE place > ?1 AND place <= ?2),
			EXISTS (SELECT 1 FROM stamps WHERE number = ?3 AND kind = 'recipe')`,
			o.Place(0), o.Place(o.Through), o.Recipe).Scan(&forms, &known))
		if !known && o.Recipe != 0 {
			r.problem("%s: recipe %d is unknown", key, o.Recipe)
		}
		if forms != o.Changed {
			r.problem("%s: %d forms, and %d were made", key, forms, o.Changed)
		}
	}
	hashes := must.Get(sqlite.Column[string](ctx, c.DB, `SELECT hash FROM stamps WHERE kind = 'recipe'
		AND (number = ?1 OR number IN (SELECT DISTINCT recipe FROM items WHERE ordinal > ?2))
		ORDER BY number`, c.Overlay.Recipe, c.Overlay.Through))
	if len(hashes) > 1 {
		r.Recipes = hashes
	}
}
