package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jianguo/index/indextest"
	"jianguo/internal/testbed"
)

// twins are two indexes of one stream: the first is swept as often as possible, the
// second never.
type twins [2]*Index

func openTwins(t *testing.T, dirs [2]string) (x twins) {
	for i := range x {
		x[i] = openTest(t, dirs[i], func(c *Config) {
			c.Policy.Window, c.Policy.Cap = 10*time.Hour, 60*time.Hour
			c.Relaxed = true
			c.SweepEvery = -1
		})
	}
	return x
}

func (x twins) close(t rapid.TB) {
	for _, one := range x {
		testbed.OK(t, one.Close())
	}
}

// TestSweepChangesNoVerdict: only expired exemplars are swept. An exemplar that a
// revision, a merge or a decision revives is found again. Both hold after snapshots and
// restarts.
func TestSweepChangesNoVerdict(t *testing.T) {
	t.Parallel()
	swept := 0
	testbed.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dirs := [2]string{t.TempDir(), t.TempDir()}
		x := openTwins(t, dirs)
		defer func() { x.close(rt) }()
		at := testStart
		seq := uint64(0)
		for range rapid.IntRange(3, 9).Draw(rt, "steps") {
			at = at.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 4, 9, 30, 70}).Draw(rt, "hours")) * time.Hour)
			var batch []Mutation
			for range rapid.IntRange(1, 4).Draw(rt, "size") {
				seq++
				m := drawMutation(rt, seq)
				m.At = at
				batch = append(batch, m)
			}
			request := drawAnyDecision(rt, seq, at)
			var outcomes [2][]Outcome
			var decided [2]string
			for i, one := range x {
				var err error
				if outcomes[i], err = one.Add(ctx, batch); err != nil {
					rt.Fatal(err)
				}
				_, err = one.Decide(ctx, request)
				decided[i] = fmt.Sprint(err)
				var conflict *ConflictError
				if err != nil && !errors.As(err, &conflict) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrQuery) {
					rt.Fatal(err)
				}
			}
			if diff := cmp.Diff(outcomes[1], outcomes[0]); diff != "" {
				rt.Fatalf("the sweep changed outcomes (-never swept +swept):\n%s", diff)
			}
			if decided[0] != decided[1] {
				rt.Fatalf("the decision %+v: %q where swept, else %q", request, decided[0], decided[1])
			}
			n, err := x[0].Sweep(ctx)
			testbed.OK(rt, err)
			swept += n
			if rapid.IntRange(0, 2).Draw(rt, "snapshot") == 0 {
				testbed.OK(rt, x[0].Snapshot(ctx))
			}
			if rapid.IntRange(0, 3).Draw(rt, "restart") == 0 {
				x.close(rt)
				x = openTwins(t, dirs)
			}
			if diff := cmp.Diff(visibleState(rt, x[1]), visibleState(rt, x[0])); diff != "" {
				rt.Fatalf("(-never swept +swept):\n%s", diff)
			}
		}
		mustVerify(rt, x[0])
	})
	if swept == 0 {
		t.Error("nothing was ever swept")
	}
}

// TestExpiredTakeNoPlace: a look-up that reads few of many finds the same before a sweep as after it.
func TestExpiredTakeNoPlace(t *testing.T) {
	x := openTest(t, t.TempDir(), func(c *Config) {
		*c.Policy, c.SweepEvery = DefaultPolicy(), -1
		c.Policy.Judged, c.Policy.Passages, c.Policy.Distance, c.Policy.MaxS = 2, 2, 0, 0 // found by keys only
		c.Policy.Window = 100 * time.Hour
	})
	defer func() { _ = x.Close() }()
	testbed.OK(t, x.SetSourcePolicy(t.Context(), SourcePolicy{By: "张三", Source: "agency", Policy: SourceLicensed}))
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(3, 4))}
	body := p.Words(40)
	for i, c := range []struct {
		source, body string
		hours        int
	}{{"", string(body), 0}, {"agency", string(body), 1}, {"agency", string(body), 1}, {"", string(body), 90}, {"", string(p.Words(40)), 130}} {
		a := indextest.ArticleOf(fmt.Sprint("a", i), c.body)
		a.Source = c.source
		put(t, x, Mutation{Seq: uint64(i + 1), At: testStart.Add(time.Duration(c.hours) * time.Hour), Article: a})
	}
	body[20] = '本'
	for _, swept := range []int{2, 0} {
		e, err := x.Check(t.Context(), indextest.ArticleOf("b", string(body)), seconds(testStart.Add(131*time.Hour)))
		if err != nil || e.Of != "a0" {
			t.Errorf("%s of %q, want the one that was copied since; %v", e.Verdict, e.Of, err)
		}
		if n, err := x.Sweep(t.Context()); err != nil || n != swept {
			t.Errorf("%d swept, want %d; %v", n, swept, err)
		}
	}
}

func drawAnyDecision(rt *rapid.T, n uint64, at time.Time) DecisionRequest {
	return DecisionRequest{
		Kind: rapid.SampledFrom([]string{"none", Release, Reject, Block, Merge, MakeLead}).Draw(rt, "decision"),
		Item: fmt.Sprint("id", rapid.IntRange(0, 7).Draw(rt, "item")), Cluster: uint32(rapid.Uint64Range(1, n).Draw(rt, "cluster")),
		Into: uint32(rapid.Uint64Range(1, n).Draw(rt, "into")), By: "张三", At: at,
	}
}

// TestSweepGivesMemoryBack: after a stream much longer than the window, only the
// postings of the window remain.
func TestSweepGivesMemoryBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := openTest(t, t.TempDir(), func(c *Config) {
		c.Policy.Window, c.Policy.Cap = 10*time.Hour, 60*time.Hour
		c.Relaxed = true
		c.SweepEvery = -1
	})
	defer func() { _ = x.Close() }()
	seq, items := uint64(0), testbed.Count(2000, 4000, 4000)
	if testbed.Race { // nothing runs at the same time
		items = 1000
	}
	var sizes []int64
	for round := range 6 {
		var batch []Mutation
		for range items {
			seq++
			a := article(fmt.Sprint(seq), fmt.Sprint("text", seq), seq*0x9e3779b97f4a7c15)
			batch = append(batch, Mutation{Seq: seq, At: testStart.Add(time.Duration(round) * 50 * time.Hour), Article: a})
		}
		put(t, x, batch...)
		if _, err := x.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, x.tables.Bands.Bytes())
		if n := x.tables.Bands.Len(); n != items {
			t.Errorf("round %d: %d fingerprints stay, want %d", round, n, items)
		}
	}
	if most := slices.Max(sizes[2:]); most > 2*sizes[1] {
		t.Errorf("postings take %v bytes round by round", sizes)
	}
	mustVerify(t, x)
}

// TestSweptComesBack: a merge or a revision touches a cluster with a swept founder.
// Copies of the founder are then found again, also after a restart.
func TestSweptComesBack(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		touch func(x *Index, at time.Time) error
	}{
		{"revised and copied", func(x *Index, at time.Time) error {
			_, err := x.Add(ctx, []Mutation{{Seq: 3, At: at, Article: article("a", "corrected", 0xff<<20|7<<40)}, {Seq: 4, At: at, Article: article("e", "its copy", 0xff<<20|7<<40|1<<60)}})
			return err
		}},
		{"merged into a living one", func(x *Index, at time.Time) error {
			_, err := x.Decide(ctx, DecisionRequest{Kind: Merge, Cluster: 1, Into: 2, By: "张三", At: at})
			return err
		}},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", restarted ", restart), func(t *testing.T) {
				dirs := [2]string{t.TempDir(), t.TempDir()}
				x := openTwins(t, dirs)
				later := testStart.Add(20 * time.Hour)
				for i, one := range x {
					for n, m := range []Mutation{{Seq: 1, At: testStart, Article: article("a", "a", 0xff<<20)}, {Seq: 2, At: later.Add(24 * time.Hour), Article: article("b", "b", 0xff)}} {
						if _, err := one.Add(ctx, []Mutation{m}); err != nil {
							t.Fatal(n, err)
						}
					}
					if i == 1 {
						continue
					}
					n, err := one.Sweep(ctx)
					if err != nil || n != 1 {
						t.Fatalf("%d swept, %v", n, err)
					}
					testbed.OK(t, one.Snapshot(ctx))
				}
				later = later.Add(25 * time.Hour)
				for _, one := range x {
					testbed.OK(t, c.touch(one, later))
				}
				if restart {
					x.close(t)
					x = openTwins(t, dirs)
				}
				defer func() { x.close(t) }()
				mustVerify(t, x[0])
				var verdicts [2]Verdict
				for i, one := range x {
					out, err := one.Add(ctx, []Mutation{{Seq: 9, At: later.Add(time.Hour), Article: article("copy", "copy", 0xff<<20|1)}})
					testbed.OK(t, err)
					verdicts[i] = out[0].Event.Verdict
				}
				if verdicts[0] != verdicts[1] || verdicts[0] != Duplicate {
					t.Errorf("a copy is %v where it was swept, else %v", verdicts[0], verdicts[1])
				}
			})
		}
	}
}

// TestSweptIsCopiedByAClockGoneBack: a message with a time before the sweep finds a swept
// exemplar by its normal form. This revives the cluster for all later similar texts. No
// version of it changes, only the cluster does.
func TestSweptIsCopiedByAClockGoneBack(t *testing.T) {
	ctx := context.Background()
	x := openTwins(t, [2]string{t.TempDir(), t.TempDir()})
	defer func() { x.close(t) }()
	seq := uint64(0)
	add := func(hours int, a *Article) (verdicts [2]Verdict) {
		t.Helper()
		seq++
		for i, one := range x {
			out, err := one.Add(ctx, []Mutation{{Seq: seq, At: testStart.Add(time.Duration(hours) * time.Hour), Article: a}})
			testbed.OK(t, err)
			verdicts[i] = out[0].Event.Verdict
		}
		return verdicts
	}
	add(0, article("a", "a", 0xff<<20))
	add(44, article("b", "b", 0xff))
	if n, err := x[0].Sweep(ctx); err != nil || n != 1 {
		t.Fatalf("%d swept, %v", n, err)
	}
	for _, c := range []struct {
		hours int
		a     *Article
	}{{9, article("same", "a", 0xff<<20)}, {18, article("near", "near", 0xff<<20|1)}} {
		if got := add(c.hours, c.a); got != [2]Verdict{Duplicate, Duplicate} {
			t.Errorf("%q is %v where it was swept, else %v", c.a.ID, got[0], got[1])
		}
	}
	mustVerify(t, x[0])
}

// TestSweepWaitsForClock: a message whose time is wrong by months does not make the sweep
// remove what the window still holds.
func TestSweepWaitsForClock(t *testing.T) {
	x := openTest(t, t.TempDir(), func(c *Config) {
		c.Policy.Window, c.Policy.Cap, c.SweepEvery = 10*time.Hour, 60*time.Hour, -1
		c.Clock = func() time.Time { return testStart.Add(time.Hour) }
	})
	for i, at := range []time.Time{testStart, testStart.Add(100 * 24 * time.Hour)} {
		m := Mutation{Seq: uint64(i + 1), At: at, Article: article(fmt.Sprint("id", i), fmt.Sprint("text", i), uint64(i+1)<<40|0xff)}
		put(t, x, m)
	}
	if n, err := x.Sweep(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d exemplars swept: %v", n, err)
	}
	testbed.OK(t, x.Close())
}
