package browse

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/testbed"
)

// TestSearch compares the word index with a scan, over runs of all levels.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dir, err := os.MkdirTemp(t.TempDir(), "search")
		testbed.OK(rt, err)
		x := openTest(t, dir, func(c *index.Config) { c.Relaxed = true })
		defer func() { _ = x.Close() }()
		b := openModel(t, x)
		defer func() { _ = b.Close() }()
		word := rapid.SampledFrom([]string{"台风", "登陆", "法院", "鱼塘", "地铁"})
		var titles []string
		for seq := range rapid.IntRange(1, 80).Draw(rt, "items") {
			title := strings.Join(rapid.SliceOfN(word, 1, 4).Draw(rt, "title"), " ")
			titles = append(titles, title)
			a := article(fmt.Sprint(seq), "", 0)
			a.Title, a.URL = title, fmt.Sprintf("https://www.example.cn/%d/?utm_source=x", seq)
			if _, err := x.Add(ctx, []verdict.Mutation{{Seq: uint64(seq + 1), At: testStart, Article: a}}); err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 2).Draw(rt, "follow") > 0 {
				testbed.OK(rt, b.Follow(ctx))
			}
		}
		testbed.OK(rt, b.Follow(ctx))
		words := rapid.SliceOfN(word, 1, 3).Draw(rt, "words")
		limit := rapid.IntRange(1, 90).Draw(rt, "limit")
		var want []uint32
		for i := len(titles) - 1; i >= 0 && len(want) < limit; i-- {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(titles[i], w) }) {
				want = append(want, uint32(i+1))
			}
		}
		got, err := b.Search(ctx, words, limit)
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%v: found %v, want %v, %v", words, got, want, err)
		}
		at := rapid.IntRange(0, len(titles)-1).Draw(rt, "address")
		got, err = b.Search(ctx, []string{URLWord(fmt.Sprintf("http://example.cn/%d", at))}, 5)
		if err != nil || !slices.Equal(got, []uint32{uint32(at + 1)}) {
			rt.Fatalf("address %d: found %v, %v", at, got, err)
		}
	})
}

// TestListsDoNotWait: the lists take in events while texts are cut into words.
func TestListsDoNotWait(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	fill(t, x, 1, 20)
	cutting, cut := make(chan struct{}, 1), make(chan struct{})
	b, err := Open(t.Context(), x, Config{Words: func(string, string) []string {
		select {
		case cutting <- struct{}{}:
		default:
		}
		<-cut
		return []string{"a"}
	}})
	testbed.OK(t, err)
	defer func() { _ = b.Close() }()
	followed := make(chan error, 1)
	go func() { followed <- b.followWords(t.Context()) }()
	<-cutting
	testbed.OK(t, b.FollowLists(t.Context()))
	if lists, search, err := b.Lag(t.Context()); lists != 0 || search != 19 || err != nil {
		t.Errorf("the lists lag by %d events, the search by %d: %v", lists, search, err)
	}
	close(cut)
	testbed.OK(t, <-followed)
	if _, search, err := b.Lag(t.Context()); search != 0 || err != nil {
		t.Errorf("the search lags by %d events: %v", search, err)
	}
}
