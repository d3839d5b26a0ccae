package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jianguo/compare"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
)

// TestReindexOfRunningIndex: articles, decisions, comparisons ahead and checks go on during a reindex,
// which fails at random points and is called again. Afterwards the catalogue and what is
// resident are whole, and a start derives what a catalogue of the new recipe would.
func TestReindexOfRunningIndex(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testbed.Count(1, 6, 20)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a, dir := newArchive(t, seed), t.TempDir()
			var speaks atomic.Int64 // the dialect that articles are prepared by
			x := openTest(t, dir, func(c *Config) {
				dialect(0).configure(c)
				c.Normal = func(title, body string) compare.Text { return dialect(speaks.Load()).normal(title, body) }
			})
			decisions := uint64(0)
			step := func() {
				s := a.next(decisions)
				s.speak(t, x, &speaks)
				if s.decision != nil {
					decisions++
				}
			}
			for range 150 {
				step()
			}
			for _, d := range []dialect{1, 0, 1} {
				before := history(t, dir)
				failing, done := a.r.IntN(40), make(chan error, 1)
				go func() { done <- d.renew(x, failing, &speaks) }()
				steps := 0
				for running := true; running; steps++ {
					select {
					case err := <-done:
						if running = false; err != nil {
							t.Fatal(err)
						}
					default:
						step()
						time.Sleep(time.Millisecond) // the reindex is to end some time
					}
				}
				if x.Recipe() != d.name() {
					t.Fatalf("recipe %s", x.Recipe())
				}
				mustVerify(t, x)
				after := history(t, dir)
				for i, row := range before["items"] {
					if after["items"][i] != row {
						t.Fatalf("the reindex changed history: %s, was %s", after["items"][i], row)
					}
				}
				step()
			}
			sweepAndSave(t, x)
			outlinesInForce(t, x)
			judged := a.judgements(x, nil)
			testbed.OK(t, x.Close())
			for _, name := range []string{"a snapshot", "no snapshot"} {
				y := dialect(1).open(t, dir)
				mustVerify(t, y)
				if name == "a snapshot" {
					a.judgements(y, judged)
				}
				if name == "no snapshot" {
					fresh := dialect(1).open(t, dialect(1).translated(t, dir))
					if diff := cmp.Diff(visibleState(t, fresh), visibleState(t, y)); diff != "" {
						t.Fatalf("what stands (-fresh +reindexed):\n%s", diff)
					}
					a.sameProposals(y, fresh, dialect(1))
					_ = fresh.Close()
				}
				testbed.OK(t, errors.Join(y.Close(), os.RemoveAll(filepath.Join(dir, SnapshotFileName))))
			}
		})
	}
}

// TestChecksBesideReindex: nothing that a check reads is written meanwhile (for the race detector).
func TestChecksBesideReindex(t *testing.T) {
	x := dialect(0).open(t, t.TempDir())
	defer func() { _ = x.Close() }()
	var ended atomic.Bool
	var checks sync.WaitGroup
	for range 3 {
		checks.Go(func() {
			for !ended.Load() {
				if _, err := x.Check(t.Context(), dialect(0).article("a", "一二三四五六七八九十"), seconds(testStart)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 20 {
		d := dialect(i % 2)
		if _, err := x.Reindex(t.Context(), ReindexConfig{Recipe: d.name(), Analyze: d.analyze}, func() {}); err != nil {
			t.Error(err)
		}
	}
	ended.Store(true)
	checks.Wait()
}

// outlinesInForce fails if an outline in memory is not of the form that its version is compared by.
func outlinesInForce(t *testing.T, x *Index) {
	t.Helper()
	outlines := 0
	err := sqlite.Each(context.Background(), x.reader, `SELECT ordinal, sketch FROM `+x.recipe.Load().overlay.Compared()+` WHERE sketch IS NOT NULL`, func(r *sql.Rows) error {
		var ordinal uint32
		var encoded []byte
		if err := r.Scan(&ordinal, &encoded); err != nil {
			return err
		}
		sketch, err := compare.DecodeSketch(encoded)
		if got, ok := x.tables.Rows.Outline(ordinal); ok {
			if outlines++; got != sketch.Outline {
				t.Errorf("outline of ordinal %d is of another form", ordinal)
			}
		}
		return err
	})
	if err != nil || outlines == 0 {
		t.Errorf("%d outlines, %v", outlines, err)
	}
}

// judgements checks articles that nearly equal what there is, and compares the verdicts with
// those of before, if there are any.
func (a *archive) judgements(x *Index, before []Event) (events []Event) {
	a.t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	for _, id := range a.p.IDs[max(0, len(a.p.IDs)-80):] {
		it, err := x.Item(context.Background(), id)
		if err != nil || it.Body == nil {
			continue
		}
		body := []rune(*it.Body)
		for range min(3, len(body)) {
			body[r.IntN(len(body))] = rune(0x4e00 + r.IntN(2000))
		}
		e, err := x.Check(context.Background(), dialect(1).article("new", string(body)), seconds(a.now()))
		testbed.OK(a.t, err)
		events = append(events, e)
	}
	if diff := cmp.Diff(before, events); before != nil && diff != "" {
		a.t.Fatalf("verdicts (-running +opened again):\n%s", diff)
	}
	return events
}

// renew reindexes a running index. The first tries fail.
func (d dialect) renew(x *Index, failing int, speaks *atomic.Int64) error {
	for try := 0; ; try++ {
		left := failing
		_, err := x.Reindex(context.Background(), ReindexConfig{Recipe: d.name(), Analyze: d.analyze, Batch: 7, Fail: func(string) error {
			if left--; left == 0 && try < 2 {
				return errTorn
			}
			return nil
		}}, func() { speaks.Store(int64(d)) })
		if !errors.Is(err, errTorn) {
			return err
		}
	}
}

// speak does a step on an index that changes its recipe meanwhile.
func (s *step) speak(t *testing.T, x *Index, speaks *atomic.Int64) {
	t.Helper()
	if s.decision != nil {
		s.do(t, x, 0)
		return
	}
	m := *s.mutation
	for {
		if m.Article != nil {
			d := dialect(speaks.Load())
			m.Article = d.article(s.mutation.Article.ID, s.body)
			m.Article.Recipe = d.name()
			testbed.OK(t, x.CompareAhead(context.Background(), m.Article, m.At))
		}
		_, err := x.Add(context.Background(), []Mutation{m})
		if err == nil {
			return
		}
		if !errors.Is(err, ErrRecipe) {
			t.Fatal(err)
		}
	}
}
