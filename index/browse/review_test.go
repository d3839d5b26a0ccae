package browse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/testbed"
)

// TestPrecision: the interval is Wilson's; values from Newcombe (1998), table I.
func TestPrecision(t *testing.T) {
	for _, c := range []struct {
		right, wrong int
		low, high    float64
	}{{81, 263 - 81, 0.2553, 0.3662}, {15, 148 - 15, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 28, 0.0061, 0.1718}} {
		p := newPrecision(c.right, c.wrong)
		if math.Abs(p.Low-c.low) > 5e-5 || math.Abs(p.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.right, c.right+c.wrong, p.Low, p.High, c.low, c.high)
		}
	}
	if low, high := verdict.Wilson(0, 0); low != 0 || high != 1 {
		t.Errorf("of nothing: %g to %g", low, high)
	}
	if p := newPrecision(0, 0); !math.IsNaN(p.Share) {
		t.Error("nothing was measured, and yet there is a share")
	}
}

// TestReviewsAndPolicies: the last review and the last policy count, also after a
// restart.
func TestReviewsAndPolicies(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	add := func(seq uint64, id string, flips uint64) {
		t.Helper()
		if _, err := x.Add(ctx, []verdict.Mutation{{Seq: seq, At: testStart, Article: article(id, id, 0xf0f0f0f0f0f0f0f0^flips)}}); err != nil {
			t.Fatal(err)
		}
	}
	add(1, "lead", 0)
	add(2, "copy", 1)
	add(3, "other", 3)
	seq := uint64(3)
	confirm := func(r index.Review) error {
		seq++
		_, refused, err := x.Edit(ctx, seq, testStart, &index.Edit{Review: &r})
		return errors.Join(refused, err)
	}
	for _, r := range []index.Review{
		{Item: "copy", Drawn: index.DrawnRandom, Finding: index.FoundWrong, By: "a", At: testStart},
		{Item: "copy", Drawn: index.DrawnRandom, Finding: index.FoundRight, By: "b", At: testStart.Add(time.Hour)},
		{Item: "other", Drawn: index.DrawnDoubt, Finding: index.FoundWrong, By: "b", At: testStart},
	} {
		testbed.OK(t, confirm(r))
	}
	if err := confirm(index.Review{Item: "unknown", Drawn: index.DrawnRandom, Finding: index.FoundRight, By: "a"}); !errors.Is(err, verdict.ErrNotFound) {
		t.Errorf("a review of nothing: %v", err)
	}
	if err := confirm(index.Review{Item: "copy", Drawn: "otherwise", Finding: index.FoundRight, By: "a"}); !errors.Is(err, verdict.ErrQuery) {
		t.Errorf("a review drawn otherwise: %v", err)
	}
	for _, p := range []string{index.SourceLicensed, index.SourceLicensed, index.SourceWatched} {
		if _, err := x.EditNow(ctx, &index.Edit{Source: &index.SourcePolicy{Source: "s", Policy: p, By: "a"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.EditNow(ctx, &index.Edit{Source: &index.SourcePolicy{Source: "s", Policy: "loved", By: "a"}}); !errors.Is(err, verdict.ErrQuery) {
		t.Errorf("a policy that is none: %v", err)
	}
	testbed.OK(t, x.Close())
	x = openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	all, err := b.Precision(ctx)
	if err != nil || all.Right != 1 || all.Wrong != 0 {
		t.Errorf("precision %+v, %v", all, err)
	}
	log, err := x.SourcePolicyLog(ctx, 10)
	if err != nil || len(log) != 2 {
		t.Errorf("policies %+v, %v", log, err)
	}
	labels, err := x.Labels(ctx)
	if err != nil || fmt.Sprint(labels) != "[{lead other different } {lead copy same }]" {
		t.Errorf("labels %v, %v", labels, err)
	}
	mustVerify(t, x)
}

// TestDrawBehindReviews: however many rejections of a day have been reviewed, the others are drawn.
func TestDrawBehindReviews(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	const items = 240
	for i := range uint64(items) {
		a := article(fmt.Sprint("i", i), "same", 0xf0f0f0f0f0f0f0f0)
		_, err := x.Add(t.Context(), []verdict.Mutation{{Seq: i + 1, At: testStart, Article: a}})
		testbed.OK(t, err)
	}
	b := openModel(t, x)
	defer func() { _ = b.Close() }()
	testbed.OK(t, b.FollowLists(t.Context()))
	for left := items - 1; left >= 0; left-- { // the first one leads
		drawn, err := b.Draw(t.Context(), testStart, 1)
		if err != nil || len(drawn) != min(left, 1) {
			t.Fatalf("%d left, %d drawn; %v", left, len(drawn), err)
		}
		for _, d := range drawn {
			_, err := x.EditNow(t.Context(), &index.Edit{Review: &index.Review{Item: d.ID, Drawn: index.DrawnRandom, Finding: index.FoundRight, By: "a"}})
			testbed.OK(t, err)
		}
	}
}
