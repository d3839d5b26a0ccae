package index

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"

	"jianguo/compare"
	"jianguo/index/indextest"
	"jianguo/index/match"
	"jianguo/index/reindex"
	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
	"jianguo/simhash"
)

// dialect is a recipe for tests. Its words have two characters. One word in forty has
// another weight than in the other dialect, and each dialect ignores a residue.
type dialect int

func (d dialect) name() string { return fmt.Sprint("dialect ", int(d)) }

func (d dialect) normal(_, body string) compare.Text {
	return compare.Text{Body: strings.Map(func(r rune) rune {
		if r%60 == rune(d) {
			return -1
		}
		return r
	}, body)}
}

func (d dialect) analyze(title, body string, _ time.Time) *Article {
	a := &Article{Title: title, Text: d.normal(title, body)}
	if a.Blank = a.Text.Body == ""; a.Blank {
		return a
	}
	sum := sha256.Sum256([]byte(a.Text.Body))
	copy(a.Exact[:], sum[:])
	var s simhash.Sum
	runes := []rune(a.Text.Body)
	for i := range len(runes) - 1 {
		weight := float32(1)
		if runes[i]%40 == rune(d) {
			weight = 8
		}
		s.Add(xxh3.HashString(string(runes[i:i+2])), weight)
	}
	a.Print, a.Sketch = s.Print(), compare.NewSketch(&a.Text)
	return a
}

func (d dialect) article(id, body string) *Article {
	a := d.analyze("t", body, time.Time{})
	a.ID, a.Packed = id, PackText(body)
	return a
}

// open opens a directory without background work, so that two indexes with the same
// history have the same postings in the same order.
func (d dialect) open(t *testing.T, dir string) *Index {
	t.Helper()
	return openTest(t, dir, d.configure)
}

func (d dialect) configure(c *Config) {
	*c.Policy = DefaultPolicy()
	c.Policy.Judged, c.Policy.Texts = 6, 3
	c.Policy.Window, c.Policy.Cap = 24*time.Hour, 48*time.Hour
	c.Relaxed, c.SnapshotEvery, c.SweepEvery = true, 1<<40, -1
	c.Recipe, c.Normal = func() (string, error) { return d.name(), nil }, d.normal
}

func (d dialect) reindex(t *testing.T, dir string, change func(*ReindexConfig)) (*ReindexReport, error) {
	t.Helper()
	cfg := ReindexConfig{Recipe: d.name(), Analyze: d.analyze, Batch: 7}
	if change != nil {
		change(&cfg)
	}
	x := d.open(t, dir)
	report, err := x.Reindex(context.Background(), cfg, func() {})
	testbed.OK(t, x.Close())
	// A start from rows has the postings in the order of a catalogue of that recipe.
	testbed.OK(t, sqlite.Remove(filepath.Join(dir, SnapshotFileName)))
	return report, err
}

// archive makes random steps and articles for an index.
type archive struct {
	t   *testing.T
	r   *rand.Rand
	p   *indextest.Press
	seq uint64
}

func newArchive(t *testing.T, seed uint64) *archive {
	r := rand.New(rand.NewPCG(seed, 7))
	return &archive{t: t, r: r, p: &indextest.Press{Rand: r}}
}

// step is one action: an article, a withdrawal, a decision, an undo.
type step struct {
	mutation *Mutation
	body     string
	decision *DecisionRequest
}

func (a *archive) now() time.Time { return testStart.Add(time.Duration(a.seq) * 20 * time.Minute) }

func (a *archive) next(decisions uint64) step {
	if len(a.p.IDs) > 8 && a.r.IntN(6) == 0 {
		req := &DecisionRequest{Kind: []string{Release, Reject, Block, Merge, MakeLead, Undo}[a.r.IntN(6)], Item: a.p.IDs[a.r.IntN(len(a.p.IDs))],
			Cluster: uint32(1 + a.r.IntN(len(a.p.IDs))), Into: uint32(1 + a.r.IntN(len(a.p.IDs))), By: "张三", At: testStart}
		if req.Kind == Undo {
			req.Undo = 1 + a.r.Uint64N(decisions+1)
		}
		return step{decision: req}
	}
	a.seq++
	m := a.p.Mutation(a.seq)
	m.At = a.now()
	s := step{mutation: &m}
	if m.Article != nil {
		s.body = m.Article.Text.Body
		if a.r.IntN(20) == 0 {
			// Only the residue of one of the two dialects.
			s.body = strings.Repeat(string(rune(60*400+a.r.IntN(2))), 30)
		}
	}
	return s
}

// do applies a step to an index of a dialect and returns the result as text.
func (s *step) do(t *testing.T, x *Index, d dialect) string {
	t.Helper()
	if s.decision != nil {
		_, err := x.Decide(context.Background(), *s.decision)
		return fmt.Sprint(s.decision.Kind, " ", s.decision.Item, ": ", err)
	}
	m := *s.mutation
	if m.Article != nil {
		m.Article = d.article(s.mutation.Article.ID, s.body)
	}
	outcomes := put(t, x, m)
	e := outcomes[0].Event
	return fmt.Sprint(outcomes[0].Changed, e.Number, e.ID, e.Verdict, e.Rule, e.Of, e.Cluster, e.Why)
}

// history returns, table by table, the rows that a reindex must not change.
func history(t *testing.T, dir string) map[string][]string {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(dir, FileName), sqlite.Reads, "NORMAL")
	testbed.OK(t, err)
	defer db.Close()
	all := map[string][]string{}
	for _, table := range []string{"items", "texts", "events", "current", "clusters", "members", "decisions", "decision_items", "sources", "source_policies", "reviews"} {
		err := sqlite.Each(context.Background(), db, `SELECT * FROM `+table+` ORDER BY 1, 2`, func(r *sql.Rows) error {
			columns, err := r.Columns()
			if err != nil {
				return err
			}
			row, dests := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				dests[i] = &row[i]
			}
			if err := r.Scan(dests...); err != nil {
				return err
			}
			all[table] = append(all[table], fmt.Sprint(row...))
			return nil
		})
		testbed.OK(t, err)
	}
	return all
}

// translated returns a copy of a catalogue with its items written as a dialect makes
// them: the expected result of a reindex.
func (d dialect) translated(t *testing.T, dir string) string {
	t.Helper()
	ctx := context.Background()
	to := t.TempDir()
	db, err := sqlite.Open(filepath.Join(dir, FileName), sqlite.Writes, "NORMAL")
	testbed.OK(t, err)
	testbed.OK(t, errors.Join(sqlite.CopyTo(ctx, db, filepath.Join(to, FileName)), db.Close()))
	db, err = sqlite.Open(filepath.Join(to, FileName), sqlite.Writes, "NORMAL")
	testbed.OK(t, err)
	type text struct {
		ordinal     uint32
		title, body string
		published   sql.NullInt64
	}
	var texts []text
	err = sqlite.Each(ctx, db, `SELECT i.ordinal, i.title, t.body, i.published_at FROM items i JOIN texts t ON t.ordinal = i.ordinal`, func(r *sql.Rows) error {
		var k text
		var packed []byte
		err := r.Scan(&k.ordinal, &k.title, &packed, &k.published)
		if err == nil {
			k.body, err = verdict.UnpackText(packed)
		}
		texts = append(texts, k)
		return err
	})
	if err == nil {
		_, err = db.Exec(`DELETE FROM meta WHERE key = ?`, reindex.InForce)
	}
	for _, k := range texts {
		if err != nil {
			break
		}
		var published time.Time
		if k.published.Valid {
			published = time.UnixMilli(k.published.Int64).UTC()
		}
		a := d.analyze(k.title, k.body, published)
		if a.Blank {
			_, err = db.Exec(`UPDATE items SET exact = NULL, fingerprint = 0, sketch = NULL WHERE ordinal = ?`, k.ordinal)
			continue
		}
		_, err = db.Exec(`UPDATE items SET exact = ?, fingerprint = ?, sketch = ? WHERE ordinal = ?`, a.Exact[:], int64(a.Print.Fingerprint), a.Sketch.AppendBinary(nil), k.ordinal)
	}
	tables, e := sqlite.Summed(t.Context(), db)
	for _, table := range tables {
		if table.Name == "items" && err == nil {
			_, err = db.Exec(`UPDATE items SET sum = row_sum(` + table.Columns + `)`)
		}
	}
	testbed.OK(t, errors.Join(err, e, db.Close()))
	return to
}

// sameProposals compares the proposals and verdicts of both indexes for new articles.
func (a *archive) sameProposals(x, want *Index, d dialect) (met int) {
	a.t.Helper()
	ctx := context.Background()
	at := seconds(a.now())
	for range 60 {
		q := d.article("new", a.p.Write())
		query := match.Query{Article: q, At: at}
		got, expected := x.matcher.Propose(&query), want.matcher.Propose(&query)
		if diff := cmp.Diff(expected, got); diff != "" {
			a.t.Fatalf("proposals (-fresh +reindexed):\n%s", diff)
		}
		met += len(got)
		e1, err1 := x.Check(ctx, q, at)
		e2, err2 := want.Check(ctx, q, at)
		if diff := cmp.Diff(e2, e1); diff != "" || err1 != nil || err2 != nil {
			a.t.Fatalf("%v, %v; verdict (-fresh +reindexed):\n%s", err1, err2, diff)
		}
	}
	return met
}

// TestReindex: a reindex keeps all verdicts and decisions. Afterwards the catalogue
// behaves as if the new recipe had made all its items. This holds after interruptions,
// and for a reindex back to the old recipe.
func TestReindex(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testbed.Count(1, 3, 3)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := newArchive(t, seed)
			dir := t.TempDir()
			x := dialect(0).open(t, dir)
			decisions := uint64(0)
			for range 150 {
				s := a.next(decisions)
				s.do(t, x, dialect(0))
				if s.decision != nil {
					decisions++
				}
			}
			testbed.OK(t, x.Close())
			met, swept := 0, 0
			for _, d := range testbed.Sequential([]dialect{1, 0, 1}[:testbed.Count(2, 3, 3)]) {
				before, want := history(t, dir), d.translated(t, dir)
				a.interrupted(dir, d)
				if diff := cmp.Diff(before, history(t, dir)); diff != "" {
					t.Fatalf("the reindex changed history:\n%s", diff)
				}
				x, fresh := d.open(t, dir), d.open(t, want)
				mustVerify(t, x)
				if diff := cmp.Diff(visibleState(t, fresh), visibleState(t, x)); diff != "" {
					t.Fatalf("what stands (-fresh +reindexed):\n%s", diff)
				}
				met += a.sameProposals(x, fresh, d)
				for i := range 90 {
					if i == 45 {
						swept += sweepAndSave(t, x, fresh)
					}
					s := a.next(decisions)
					if got, expected := s.do(t, x, d), s.do(t, fresh, d); got != expected {
						t.Fatalf("after the reindex: %s, fresh: %s", got, expected)
					}
					if s.decision != nil {
						decisions++
					}
				}
				testbed.OK(t, errors.Join(x.Close(), fresh.Close()))
				x, fresh = d.open(t, dir), d.open(t, want)
				mustVerify(t, x)
				a.sameProposals(x, fresh, d)
				testbed.OK(t, errors.Join(x.Close(), fresh.Close()))
			}
			if met < 30 || swept == 0 && !testbed.Race { // the race detector sees one reindex of each world
				t.Errorf("%d proposals, %d exemplars swept: it is another world that this needs", met, swept)
			}
		})
	}
}

// sweepAndSave sweeps and writes a snapshot, which otherwise happens in the background.
// It returns the number of swept exemplars.
func sweepAndSave(t *testing.T, indexes ...*Index) (swept int) {
	t.Helper()
	for _, x := range indexes {
		n, err := x.Sweep(context.Background())
		testbed.OK(t, errors.Join(err, x.Snapshot(context.Background())))
		swept += n
		mustVerify(t, x)
	}
	return swept
}

var errTorn = errors.New("torn")

// interrupted reindexes a directory and is interrupted many times. Meanwhile the
// directory can be read and verified.
func (a *archive) interrupted(dir string, d dialect) {
	t := a.t
	t.Helper()
	torn := 0
	for {
		r, err := d.reindex(t, dir, func(c *ReindexConfig) {
			c.Batch = 1 + a.r.IntN(30)
			left := 1 + a.r.IntN(3)
			c.Fail = func(string) error {
				if left--; left == 0 {
					return errTorn
				}
				return nil
			}
		})
		if err == nil {
			if again, err := d.reindex(t, dir, nil); err != nil || again.Switched || again.Changed != r.Changed {
				t.Fatalf("once more: %+v, %v; before %+v", again, err, r)
			}
			break
		}
		if !errors.Is(err, errTorn) {
			t.Fatal(err)
		}
		if torn++; torn%5 == 0 {
			x := d.open(t, dir)
			mustVerify(t, x)
			testbed.OK(t, x.Close())
		}
	}
	if torn == 0 {
		t.Log("never interrupted")
	}
}

// TestReindexKeepsNewest: of the texts that share a key, the newest are still met first after a reindex that gave the
// oldest of them another form, under another key.
func TestReindexKeepsNewest(t *testing.T) {
	from, to := dialect(1), dialect(2)
	x := from.open(t, t.TempDir())
	text := func(first rune, length int) (s string) { // of characters that both dialects treat alike
		for r := first; length > 0; r++ {
			if r%60 > 2 && r%40 > 2 {
				s, length = s+string(r), length-1
			}
		}
		return s
	}
	const texts = 12
	keys := map[uint64]int{}
	for n := range texts {
		body := text('一', 60) + text(rune('一'+1000*(n+1)), 200)
		if n == 0 {
			body += string(rune(60*400 + int(to)))
		}
		a := from.article(fmt.Sprint(n), body)
		put(t, x, Mutation{Seq: uint64(n + 1), At: testStart, Article: a})
		for _, k := range slices.Concat(a.Sketch.Keys(), a.Sketch.PassageKeys()) {
			keys[k]++
		}
	}
	report, err := x.Reindex(t.Context(), ReindexConfig{Recipe: to.name(), Analyze: to.analyze}, func() {})
	if err != nil || report.Changed != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	shared := 0
	for k, n := range keys {
		if n == texts {
			shared++
			if got := x.tables.Bands.Candidates(nil, []uint64{k}, 1); !slices.Equal(got, []uint32{texts}) {
				t.Errorf("under a key that all texts have the newest is %d", got)
			}
		}
	}
	if shared == 0 {
		t.Error("no key is shared")
	}
	mustVerify(t, x)
	testbed.OK(t, x.Close())
}
