package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"jianguo/index/indextest"
	"jianguo/internal/testbed"
)

// TestModel applies random publishes, revisions and withdrawals in batches of any size,
// with restarts and failed commits, and compares every verdict with the brute-force
// model. The model does not know decisions: undone in reverse order, they must leave no
// difference.
func TestModel(t *testing.T) {
	testbed.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		distance := rapid.IntRange(0, 3).Draw(rt, "distance")
		failing := false
		open := func() *Index {
			return openTest(t, dir, func(c *Config) {
				c.Policy.Distance = distance
				c.Relaxed = true
				c.Fail = func(point string) error {
					if failing && point == "commit" {
						return errors.New("the disk is full")
					}
					return nil
				}
			})
		}
		x := open()
		defer func() { _ = x.Close() }()
		m := newModel(distance)
		if rapid.Bool().Draw(rt, "policies") {
			for source, policy := range map[string]string{"a": SourceLicensed, "b": SourcePreferred, "c": SourcePreferred} {
				setPolicy(rt, x, m, source, policy)
			}
		}
		seq := uint64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "batches") {
			if rapid.IntRange(0, 2).Draw(rt, "set a policy") == 0 {
				setPolicy(rt, x, m, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "of source"),
					rapid.SampledFrom([]string{SourceNormal, SourceLicensed, SourcePreferred, SourceWatched}).Draw(rt, "policy"))
			}
			var batch []Mutation
			for range rapid.IntRange(1, 8).Draw(rt, "size") {
				seq++
				batch = append(batch, drawMutation(rt, seq))
			}
			if rapid.IntRange(0, 5).Draw(rt, "fail") == 0 {
				failing = true
				if _, err := x.Add(context.Background(), batch); err == nil {
					rt.Fatal("a failed commit was reported as done")
				}
				failing = false
			}
			var foretold Event
			if a := batch[0].Article; a != nil {
				var err error
				if foretold, err = x.Check(context.Background(), a, seconds(batch[0].At)); err != nil {
					rt.Fatal(err)
				}
			}
			outcomes := put(rt, x, batch...)
			if batch[0].Article != nil {
				fulfilled(rt, foretold, outcomes[0].Event)
			}
			for i := range batch {
				var v *modelVersion
				if a := batch[i].Article; a != nil {
					v = m.publish(a)
				} else {
					v = m.withdraw(batch[i].Withdraw)
				}
				// A promotion in the same batch may have changed it.
				if e := outcomes[i].Event; e.ID != v.id {
					rt.Fatalf("outcome %d is about %q, want %q", i, e.ID, v.id)
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "snapshot") == 0 {
				testbed.OK(rt, x.Snapshot(context.Background()))
			}
			restart := func() {
				if rapid.IntRange(0, 4).Draw(rt, "restart") != 0 {
					return
				}
				testbed.OK(rt, x.Close())
				if rapid.IntRange(0, 3).Draw(rt, "damage") == 0 {
					damageSnapshot(rt, dir, rapid.IntRange(0, 1<<20).Draw(rt, "where"))
				}
				x = open()
			}
			restart()
			m.compare(rt, x)
			decided := decideSome(rt, x, seq)
			restart()
			undoAll(rt, x, decided)
			_, events := x.Applied()
			m.events = int(events) // includes those of decisions and undos
			m.compare(rt, x)
			again := put(rt, x, batch[:1]...)
			if again[0].Changed {
				rt.Fatal("a redelivery changed something")
			}
		}
		mustVerify(rt, x)
	})
}

// decideSome makes up to four decisions and returns the numbers of the accepted ones.
func decideSome(rt *rapid.T, x *Index, seq uint64) (numbers []uint64) {
	for range rapid.IntRange(0, 4).Draw(rt, "decisions") {
		req := drawDecision(rt, seq)
		if req.Kind == Undo { // of an earlier one, which has been taken back
			req.Kind = Release
		}
		d, err := x.Decide(context.Background(), req)
		var conflict *ConflictError
		switch {
		case err == nil:
			numbers = append(numbers, d.Number)
		case !errors.Is(err, ErrQuery) && !errors.Is(err, ErrNotFound) && !errors.As(err, &conflict):
			rt.Fatal(err)
		}
	}
	return numbers
}

func undoAll(rt *rapid.T, x *Index, numbers []uint64) {
	for _, n := range slices.Backward(numbers) {
		if _, err := x.Decide(context.Background(), DecisionRequest{Kind: Undo, Undo: n, By: "张三"}); err != nil {
			rt.Fatalf("the undo of decision %d: %v", n, err)
		}
	}
}

func setPolicy(rt *rapid.T, x *Index, m *model, source, policy string) {
	testbed.OK(rt, x.SetSourcePolicy(context.Background(), SourcePolicy{Source: source, Policy: policy, By: "张三"}))
	m.policies[source] = policy
}

// damageSnapshot flips a byte of the snapshot, if there is one.
func damageSnapshot(t rapid.TB, dir string, where int) {
	t.Helper()
	path := filepath.Join(dir, SnapshotFileName)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	testbed.OK(t, err)
	b[where%len(b)] ^= 0x40
	testbed.OK(t, os.WriteFile(path, b, 0o600))
}

// TestSnapshotIsUsed: a start reads the snapshot, and from the catalogue only later
// changes. It discards a snapshot that belongs to another catalogue or is newer than the
// catalogue.
func TestSnapshotIsUsed(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	add := func(n int) {
		t.Helper()
		put(t, x, Mutation{Seq: uint64(n), At: testStart, Article: article(fmt.Sprint(n), fmt.Sprint("text", n), uint64(n)<<32|0xffff)})
	}
	reopen := func() {
		t.Helper()
		testbed.OK(t, x.Close())
		x = openTest(t, dir, nil)
	}
	for n := range 40 {
		add(n + 1)
	}
	testbed.OK(t, x.Snapshot(ctx))
	old, err := os.ReadFile(filepath.Join(dir, SnapshotFileName))
	testbed.OK(t, err)
	add(41)
	reopen()
	if got := x.snapshotEvent.Load(); got != 40 {
		t.Errorf("the snapshot used ends at event %d, want 40", got)
	}
	mustVerify(t, x)
	// The fields of the footer, from its end on.
	const format, catalogue, lowOrdinal, highEvent, pages, sum, bytes = 64, 56, 48, 24, 16, 8, 8
	field := func(b []byte, back int) []byte { return b[len(b)-back:][:bytes] }
	set := func(back int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.LittleEndian.PutUint64(field(b, back), v)
			binary.LittleEndian.PutUint64(field(b, sum), 0)
			binary.LittleEndian.PutUint64(field(b, sum), xxh3.Hash(b[len(b)-format:]))
			return b
		}
	}
	for what, change := range map[string]func(b []byte) []byte{
		"of another catalogue":     set(catalogue, 7),
		"newer than the catalogue": set(highEvent, 999),
		"of another format":        set(format, 99),
		"of fewer pages":           set(pages, 3),
		"torn":                     func(b []byte) []byte { return slices.Delete(b, 100, 200) },
		"with an older watermark":  func(b []byte) []byte { field(b, lowOrdinal)[0]--; return b },
	} {
		testbed.OK(t, os.WriteFile(filepath.Join(dir, SnapshotFileName), change(slices.Clone(old)), 0o600))
		reopen()
		if got := x.snapshotEvent.Load(); got != 0 {
			t.Errorf("a snapshot %s was used", what)
		}
		mustVerify(t, x)
	}
	testbed.OK(t, x.Close())
}

// TestNothingWithinReachIsMissed compares the look-ups of the index with a scan, at every
// distance, for random and adversarial fingerprints.
func TestNothingWithinReachIsMissed(t *testing.T) {
	for _, distance := range testbed.Sequential([]int{3, 2, 1, 0}) {
		t.Run(fmt.Sprint(distance), func(t *testing.T) {
			x := openTest(t, t.TempDir(), func(c *Config) { c.Policy.Distance = distance; c.Relaxed = true })
			defer func() { _ = x.Close() }()
			r := rand.New(rand.NewPCG(7, uint64(distance)))
			var leads []uint64
			seq := uint64(0)
			for range testbed.Count(30, 60, 60) {
				var batch []Mutation
				for range 64 {
					f := r.Uint64() | 1
					if len(leads) > 0 && r.IntN(2) == 0 {
						f = leads[r.IntN(len(leads))]
						for range r.IntN(6) {
							f ^= 1 << r.IntN(64)
						}
					}
					seq++
					batch = append(batch, Mutation{Seq: seq, At: testStart, Article: article(fmt.Sprint(seq), fmt.Sprint("text", seq), f)})
					near := slices.ContainsFunc(leads, func(l uint64) bool { return bits.OnesCount64(l^f) <= distance })
					if !near {
						leads = append(leads, f)
					}
				}

				put(t, x, batch...)
			}
			if got := x.tables.Bands.Len(); got != len(leads) {
				t.Errorf("%d exemplars, a scan has %d", got, len(leads))
			}
			mustVerify(t, x)
		})
	}
}

func TestBlankTextsNeverMeet(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	for i := range uint64(4) {
		// A text of stop words only is not blank, and has no fingerprint.
		text := []string{"", "", "的了", "吗呢"}[i]
		out := put(t, x, Mutation{Seq: i + 1, At: testStart, Article: article(fmt.Sprint(i), text, 0)})
		if v := out[0].Event.Verdict; v != Unique {
			t.Errorf("text %q is %s", text, v)
		}
	}
	mustVerify(t, x)
}

func TestWindow(t *testing.T) {
	x := openTest(t, t.TempDir(), func(c *Config) { c.Policy.Window, c.Policy.Cap = 10*time.Hour, 25*time.Hour })
	defer func() { _ = x.Close() }()
	// A copy every eight hours keeps the story alive until the cap. After it, a copy
	// is unique again.
	want := []Verdict{Unique, Duplicate, Duplicate, Duplicate, Unique, Duplicate}
	for i, w := range want {
		m := Mutation{Seq: uint64(i + 1), At: testStart.Add(time.Duration(i) * 8 * time.Hour), Article: article(fmt.Sprint(i), fmt.Sprint(i), 1<<40|uint64(i%2))}
		out := put(t, x, m)
		if got := out[0].Event.Verdict; got != w {
			t.Errorf("item %d is %s, want %s", i, got, w)
		}
	}
	mustVerify(t, x)
}

func TestAttachBeginsAnEpochWhereTheStreamLostItsEnd(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	ctx := context.Background()
	var seq, logged uint64 // asked
	has := func(last uint64) func(uint64, uint64) (uint64, error) {
		return func(s, l uint64) (uint64, error) { seq, logged = s, l; return min(s, last), nil }
	}
	base, err := x.Attach(ctx, "stream-1", has(0))
	if err != nil || base != 0 {
		t.Fatal(base, err)
	}
	put(t, x, Mutation{Seq: 5, At: testStart, Article: article("a", "a", 1)})
	if base, err = x.Attach(ctx, "stream-1", has(7)); err != nil || base != 0 || seq != 5 || logged != uint64(testStart.UnixNano()) {
		t.Fatalf("the same stream, longer: base %d, %v, asked for %d at %d", base, err, seq, logged)
	}
	if base, err = x.Attach(ctx, "stream-1", has(3)); err != nil || base != 2 {
		t.Fatalf("the same stream, with three of five: base %d, %v", base, err)
	}
	testbed.OK(t, x.Close())
	x = openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	if base, err = x.Attach(ctx, "stream-1", has(3)); err != nil || base != 2 || seq != 3 || logged != uint64(testStart.UnixNano()) {
		t.Fatalf("after a restart: base %d, %v, asked for %d at %d", base, err, seq, logged)
	}
	if base, err = x.Attach(ctx, "stream-2", nil); err != nil || base != 5 {
		t.Fatalf("another stream: base %d, %v", base, err)
	}
	at := testStart.Add(time.Minute)
	put(t, x, Mutation{Seq: 12, At: at, Article: article("b", "b", 2)}, Mutation{Seq: 11, At: testStart})
	away := errors.New("away")
	if _, err = x.Attach(ctx, "stream-2", func(uint64, uint64) (uint64, error) { return 0, away }); !errors.Is(err, away) {
		t.Fatalf("the bus is away: %v", err)
	}
	if base, err = x.Attach(ctx, "stream-2", has(2)); err != nil || base != 10 || seq != 7 || logged != uint64(at.UnixNano()) {
		t.Fatalf("shorter, with two messages that were applied: base %d, %v, asked for %d at %d", base, err, seq, logged)
	}
	mustVerify(t, x)
}

// A service notices after a second that its catalogue was removed. Until then no connection that is opened for a query makes
// an empty file, whose place the copy of the removed one could not take.
func TestRemovedFileIsNotMadeAgain(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	ctx := context.Background()
	put(t, x, Mutation{Seq: 1, At: testStart, Article: article("a", "a", 0xff)})
	path := filepath.Join(dir, FileName)
	testbed.OK(t, os.Remove(path))
	refused := 0
	for _, pool := range []*sql.DB{x.reader, x.judgeReader} {
		for range 8 {
			c, err := pool.Conn(ctx)
			if err != nil {
				refused++
				continue
			}
			defer c.Close()
		}
	}
	if _, err := os.Stat(path); refused == 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d connections were refused; the file: %v", refused, err)
	}
	copied := t.TempDir()
	testbed.OK(t, x.CopyTo(ctx, filepath.Join(copied, FileName)))
	y := openTest(t, copied, nil)
	defer func() { _ = y.Close() }()
	if _, err := y.Item(ctx, "a"); err != nil {
		t.Error(err)
	}
	mustVerify(t, y)
}

func TestCheckStoresNothing(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	ctx := context.Background()
	put(t, x, Mutation{Seq: 1, At: testStart, Article: article("a", "a", 0xff)})
	e, err := x.Check(ctx, article("b", "b", 0xfe), seconds(testStart))
	testbed.OK(t, err)
	if e.Verdict != Duplicate || e.Rule != ByHamming || e.Of != "a" || e.Distance == nil || *e.Distance != 1 {
		t.Errorf("got %+v", e)
	}
	if _, err := x.Item(ctx, "b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the checked item was stored: %v", err)
	}
	if _, events := x.Applied(); events != 1 {
		t.Errorf("%d events", events)
	}
	mustVerify(t, x)
}

// fulfilled fails the test if publishing an item causes another event than Check said. A check does not know the number
// of an event, and of a cluster that the item begins.
func fulfilled(t rapid.TB, foretold, e Event) {
	t.Helper()
	if foretold.Cluster == 0 {
		e.Cluster, e.Story, foretold.Story = 0, 0, 0
	}
	e.Number = 0
	of := func(e Event) string {
		return fmt.Sprint(e.Number, e.ID, " r", e.Revision, e.Verdict, e.Previous, e.Cause, e.Rule, e.Of, e.Cluster, e.Story, e.Why)
	}
	if of(foretold) != of(e) {
		t.Fatalf("the check said %s, publishing %s", of(foretold), of(e))
	}
}

// TestCheckOfKnownItem: an item that is known is checked as it would be published: not against itself.
func TestCheckOfKnownItem(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	ctx := context.Background()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(7, 7))}
	body, other := string(p.Words(200)), string(p.Words(200))
	seq := uint64(0)
	is := func(id, body string, revision int64, want Verdict, cause Cause, cluster uint32) {
		t.Helper()
		a := indextest.ArticleOf(id, body)
		a.Revision = revision
		e, err := x.Check(ctx, a, seconds(testStart))
		testbed.OK(t, err)
		if e.Verdict != want || e.Cause != cause || e.Cluster != cluster {
			t.Errorf("%s is %s by %s in %d, want %s by %s in %d", id, e.Verdict, e.Cause, e.Cluster, want, cause, cluster)
		}
		seq++
		out := put(t, x, Mutation{Seq: seq, At: testStart, Article: a})
		fulfilled(t, e, out[0].Event)
	}
	is("a", body, 5, Unique, CauseIngest, 0)
	is("a", body, 5, Unique, CauseIngest, 1)
	is("a", body+"更正", 6, Unique, CauseRevision, 1)
	is("a", body+string(p.Words(40)), 7, Unique, CauseRevision, 1)
	is("a", body+"更正", 4, Unique, CauseRevision, 1) // older than what is stored
	is("b", other, 0, Unique, CauseIngest, 0)
	is("a", other, 8, Duplicate, CauseRevision, 4)
	is("a", body, 9, Unique, CauseRevision, 0)
	seq++
	put(t, x, Mutation{Seq: seq, At: testStart, Withdraw: &Withdrawal{ID: "a"}})
	is("a", body, 0, Withdrawn, CauseWithdrawal, 6)
	is("a", body, 10, Unique, CauseRevision, 6) // not blocked by itself
	mustVerify(t, x)
}

// TestCheckBesideAdd: a check meets what is being added, and answers.
func TestCheckBesideAdd(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(3, 8))}
	body := string(p.Words(200))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	for range 3 {
		go func() {
			var err error
			for i := 0; ctx.Err() == nil && err == nil; i++ {
				_, err = x.Check(t.Context(), indextest.ArticleOf(fmt.Sprint("checked", i), body), seconds(testStart))
			}
			done <- err
		}()
	}
	for batch := range 20 {
		var all []Mutation
		for i := range 40 {
			all = append(all, Mutation{Seq: uint64(40*batch + i + 1), At: testStart,
				Article: indextest.ArticleOf(fmt.Sprint("n", 20*batch+i/2), body+string(p.Words(20)))})
		}
		put(t, x, all...)
	}
	stop()
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestReplacedText: a revision to a text that has nothing to do with the earlier one gives that up, as a withdrawal with
// promote does: its oldest copy is accepted, later ones are judged by what is left, and no cluster has both texts. A
// correction keeps the cluster, in which a copy of the uncorrected text is a copy.
func TestReplacedText(t *testing.T) {
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(7, 8))}
	long, other := string(p.Words(200)), string(p.Words(200))
	blank := func() *Article { return article("a", "", 0) }
	text := func(body string) func() *Article {
		return func() *Article { return indextest.ArticleOf("a", body) }
	}
	for _, c := range []struct {
		what     string
		revised  func() *Article
		replaced bool
	}{
		{"an unrelated text", text(other), true},
		{"no text", blank, true},
		{"a correction", text(long[:30] + "更正" + long[36:]), false},
		{"more text", text(long + string(p.Words(400))), false},
		{"less text", text(string([]rune(long)[:90])), false},
	} {
		for _, copied := range []bool{false, true} {
			x := openTexts(t, t.TempDir(), 0)
			add(t, x, 1, "a", long)
			if copied {
				add(t, x, 2, "copy", long)
				add(t, x, 3, "copied again", long)
			}
			a := c.revised()
			e, err := x.Check(t.Context(), a, seconds(testStart))
			out, err2 := x.Add(t.Context(), []Mutation{{Seq: 4, At: testStart, Article: a}})
			testbed.OK(t, errors.Join(err, err2))
			fulfilled(t, e, out[0].Event)
			if e := out[0].Event; e.Verdict != Unique || e.Cause != CauseRevision || (e.Cluster == 1) == c.replaced {
				t.Errorf("%s is %s by %s in %d", c.what, e.Verdict, e.Cause, e.Cluster)
			}
			want := `duplicate of "a" in 1`
			switch {
			case c.replaced && copied:
				want = `duplicate of "copy" in 1`
				is(t, x, "copy", `unique of "" in 1`)
				is(t, x, "copied again", `duplicate of "a" in 1`)
			case c.replaced:
				want = `unique of "" in 3`
			}
			add(t, x, 5, "late", long)
			is(t, x, "late", want)
			if !a.Blank {
				add(t, x, 6, "copy of the revision", a.Text.Body)
				is(t, x, "copy of the revision", fmt.Sprintf(`duplicate of "a" in %d`, out[0].Event.Cluster))
			}
			mustVerify(t, x)
			_ = x.Close()
		}
	}
}

// TestReplacedWithdrawal: what comes back after a withdrawal leads its cluster on, unless its text is unrelated: that is no
// original of the copies there, nor of later ones.
func TestReplacedWithdrawal(t *testing.T) {
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(7, 9))}
	long, other := string(p.Words(200)), string(p.Words(200))
	for back, want := range map[string][2]string{
		long[:30] + "更正" + long[36:]: {`unique of "" in 1`, `duplicate of "a" in 1`},
		other:                        {`unique of "" in 3`, `unique of "" in 4`},
	} {
		x := openTexts(t, t.TempDir(), 0)
		add(t, x, 1, "a", long)
		add(t, x, 2, "copy", long)
		a := indextest.ArticleOf("a", back)
		a.Revision = 2
		if _, err := x.Add(t.Context(), []Mutation{{Seq: 3, At: testStart, Withdraw: &Withdrawal{ID: "a", Revision: 1}},
			{Seq: 4, At: testStart, Article: a}}); err != nil {
			t.Fatal(err)
		}
		add(t, x, 5, "late", long)
		is(t, x, "a", want[0])
		is(t, x, "copy", `duplicate of "a" in 1`)
		is(t, x, "late", want[1])
		mustVerify(t, x)
		_ = x.Close()
	}
}

// is fails the test if an item has another verdict.
func is(t rapid.TB, x *Index, id, want string) {
	t.Helper()
	it, err := x.Item(context.Background(), id)
	testbed.OK(t, err)
	if got := fmt.Sprintf("%s of %q in %d", it.Event.Verdict, it.Event.Of, it.Event.Cluster); got != want {
		t.Fatalf("%s is %s, want %s", id, got, want)
	}
}

// TestSameRevision: what comes again changes nothing, and another text of the stored revision does not either; a withdrawal
// of that revision withdraws, and is final.
func TestSameRevision(t *testing.T) {
	publish := func(text string, revision int64) Mutation {
		a := article("a", text, uint64(len(text))<<40|0xff)
		a.Revision = revision
		return Mutation{Article: a}
	}
	withdraw := func(revision int64) Mutation {
		return Mutation{Withdraw: &Withdrawal{ID: "a", Revision: revision}}
	}
	for _, c := range []struct {
		what    string
		stored  []Mutation
		then    Mutation
		changed bool
		verdict Verdict
	}{
		{"the same text", []Mutation{publish("one", 7)}, publish("one", 7), false, Unique},
		{"another text", []Mutation{publish("one", 7)}, publish("other", 7), false, Unique},
		{"another text of an older revision", []Mutation{publish("one", 7)}, publish("other", 6), false, Unique},
		{"a withdrawal", []Mutation{publish("one", 7)}, withdraw(7), true, Withdrawn},
		{"an older withdrawal", []Mutation{publish("one", 7)}, withdraw(6), false, Unique},
		{"a withdrawal again", []Mutation{publish("one", 7), withdraw(7)}, withdraw(7), false, Withdrawn},
		{"the text that was withdrawn", []Mutation{publish("one", 7), withdraw(7)}, publish("one", 7), false, Withdrawn},
		{"another text, withdrawn", []Mutation{publish("one", 7), withdraw(7)}, publish("other", 7), false, Withdrawn},
		{"what was withdrawn before it came", []Mutation{withdraw(7)}, publish("one", 7), false, Withdrawn},
	} {
		x := openTest(t, t.TempDir(), nil)
		var last Outcome
		for i, m := range append(c.stored, c.then) {
			m.Seq, m.At = uint64(i+1), testStart
			out := put(t, x, m)
			last = out[0]
		}
		if last.Changed != c.changed || last.Event.Verdict != c.verdict || last.Event.Revision != 7 {
			t.Errorf("%s: changed %v, %s of revision %d; want %v, %s", c.what, last.Changed, last.Event.Verdict,
				last.Event.Revision, c.changed, c.verdict)
		}
		mustVerify(t, x)
		_ = x.Close()
	}
}

func TestEventsReadAsTheyWereReturned(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	ctx := context.Background()
	out, err := x.Add(ctx, []Mutation{
		{Seq: 1, At: testStart, Article: article("a", "a", 0xff)},
		{Seq: 2, At: testStart.Add(time.Millisecond), Article: article("b", "b", 0xfd)},
		{Seq: 3, At: testStart.Add(time.Second), Withdraw: &Withdrawal{ID: "a", Reason: "版权"}},
	})
	testbed.OK(t, err)
	remembered, err := x.Events(ctx, 0, 10)
	testbed.OK(t, err)
	read, err := x.Events(ctx, 0, -1)
	testbed.OK(t, err)
	for _, events := range [][]Event{remembered, read} {
		if len(events) != len(out) {
			t.Fatalf("%d events, want %d", len(events), len(out))
		}
		for i, e := range events {
			if got, want := fmt.Sprintf("%+v", deref(e)), fmt.Sprintf("%+v", deref(out[i].Event)); got != want {
				t.Errorf("event %d reads\n%s, was returned as\n%s", i+1, got, want)
			}
		}
	}
	mustVerify(t, x)
}

// deref replaces pointers with their values for printing.
func deref(e Event) any {
	var distance int
	var margin float32
	if e.Distance != nil {
		distance, margin = *e.Distance, *e.Margin
	}
	facts := Facts{}
	if e.Facts != nil {
		facts = *e.Facts
	}
	e.Distance, e.Margin, e.Facts = nil, nil, nil
	return []any{e, distance, margin, facts}
}
