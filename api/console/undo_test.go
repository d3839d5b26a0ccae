package console_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// changing is what an undo may change on a page: the log of an item, and numbers and times of events.
var changing = regexp.MustCompile(`(?s)<div class="columns">.*?</details>|(?:编辑的决定|最近的决定)</h2>.*?</section>|name="pick" value="\d+|name="seen" value="\d+"|name="form" value="[^"]*"|<time .*?</time>`)

// TestUndoRestoresPages: after random decisions and their undo every page is as it was: that of an item with the verdict,
// its reason, what it is compared with, and the answer to its author; its story, the queue, the sample, the lists.
func TestUndoRestoresPages(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := session(t, r, "jg_lin_secret-token-1")
	ids := []string{"kiln", "kiln-reword", "fishpond", "fishpond-reword", "rider", "rider-moved", "typhoon", "typhoon-update", "s-metro5-copy"}
	shown := func() map[string]string {
		pages := map[string]string{}
		keep := func(path string) {
			resp, body := get(t, r, path, c)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d", path, resp.StatusCode)
			}
			pages[path] = changing.ReplaceAllString(body, "")
		}
		testbed.OK(t, r.Browse.Follow(t.Context()))
		for _, id := range ids {
			it, err := r.Index.Item(t.Context(), id)
			testbed.OK(t, err)
			keep("/console/item?id=" + url.QueryEscape(id))
			keep(fmt.Sprint("/console/cluster?id=", it.Event.Cluster))
		}
		for _, path := range []string{"/", "/console/clusters?sort=size", "/console/suspects", "/console/review?day=2025-06-11",
			"/console/review?original=1", "/console/sources", "/console/source?name=" + url.QueryEscape("每日汇览"), "/console/search?q=" + url.QueryEscape("窑址")} {
			keep(path)
		}
		return pages
	}
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 44))
		var before []map[string]string
		var undo []*index.Decision
		for tries := 0; len(undo) < 4 && tries < 100; tries++ {
			id, other := ids[rng.IntN(len(ids))], ids[rng.IntN(len(ids))]
			into, err := r.Index.Item(t.Context(), other)
			testbed.OK(t, err)
			it, err := r.Index.Item(t.Context(), id)
			testbed.OK(t, err)
			kinds := []string{index.Release, index.Reject, index.Block, index.Exempt, index.Merge, index.Join, index.Split, index.MakeLead}
			req := index.DecisionRequest{Kind: kinds[rng.IntN(len(kinds))], Item: id, Cluster: it.Event.Cluster,
				Into: into.Event.Cluster, By: "张三", Reason: "试", At: r.Now.Add(time.Minute)}
			was := shown()
			if d, err := r.Ingest.Edit(t.Context(), index.Edit{Decision: &req}); err == nil {
				before, undo = append(before, was), append(undo, d)
			}
		}
		for i := len(undo) - 1; i >= 0; i-- {
			req := index.DecisionRequest{Kind: index.Undo, Undo: undo[i].Number, By: "李四", At: r.Now.Add(time.Hour)}
			if _, err := r.Ingest.Edit(t.Context(), index.Edit{Decision: &req}); err != nil {
				t.Fatal(err)
			}
			now := shown()
			for page, was := range before[i] {
				if now[page] != was {
					t.Fatalf("seed %d: after the undo of %s of %q, %s differs: %s", seed, undo[i].Kind, undo[i].Item, page,
						differing(was, now[page]))
				}
			}
		}
		if len(undo) < 4 {
			t.Fatalf("seed %d: only %d decisions", seed, len(undo))
		}
	}
}

// differing is where two pages begin to differ.
func differing(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	from := max(0, n-80)
	return fmt.Sprintf("\n  was %q\n  is  %q", a[from:min(len(a), n+160)], b[from:min(len(b), n+160)])
}

// TestReply: the answer to an author claims no more than the two times of publication say, and gives no address of a
// text that was taken down.
func TestReply(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := session(t, r, "jg_lin_secret-token-1")
	day := r.Now.AddDate(0, 0, -2)
	for i, x := range []struct {
		name         string
		first, later time.Time // when they were published; zero: it is not known
		blocked      bool
		want, not    []string
	}{
		{"theirs is the earlier one", day, day.Add(time.Hour), false,
			[]string{"它与更早的稿件相近", "发布）", "https://example.org/first", "was not published"}, []string{"先后不明", "收到）"}},
		{"yours is the earlier one", day, day.Add(-time.Hour), false,
			[]string{"按发布时间，您的稿件在先", "yours was published first"}, []string{"更早的稿件", "earlier article"}},
		{"which is earlier is not known", time.Time{}, day, false,
			[]string{"先后不明", "收到）"}, []string{"更早的稿件"}},
		{"a blocked text is not linked", day, day.Add(time.Hour), true,
			[]string{"该稿现已下线", "It has been taken down"}, []string{"https://example.org/first"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			lead, copied := fmt.Sprint("first-", i), fmt.Sprint("second-", i)
			at := func(at time.Time) *time.Time {
				if at.IsZero() {
					return nil
				}
				return &at
			}
			submit(t, r, ingest.Item{ID: lead, Title: "码头旧事", Source: "甲报", URL: "https://example.org/first", Body: village(50 + i), Published: at(x.first)})
			submit(t, r, ingest.Item{ID: copied, Title: "码头旧事", Source: "乙网", Body: village(50 + i), Published: at(x.later)})
			if x.blocked {
				if _, err := r.Ingest.Edit(t.Context(), index.Edit{Decision: &index.DecisionRequest{Kind: index.Block, Item: lead, By: "张三", At: r.Now}}); err != nil {
					t.Fatal(err)
				}
				if _, body := get(t, r, "/console/item?id="+lead, c); strings.Contains(body, `id="reason"`) {
					t.Error("nothing can be decided about what was taken down, and it wants a reason")
				}
			}
			_, body := get(t, r, "/console/item?id="+copied, c)
			_, reply, ok := strings.Cut(body, `class="more reply"`)
			if !ok {
				t.Fatal("the page has no answer")
			}
			reply, _, _ = strings.Cut(reply, "</details>")
			for _, want := range x.want {
				if !strings.Contains(reply, want) {
					t.Errorf("no %q in %s", want, reply)
				}
			}
			for _, not := range x.not {
				if strings.Contains(reply, not) {
					t.Errorf("%q in %s", not, reply)
				}
			}
		})
	}
	// Nobody has looked at what was accepted on arrival.
	if _, body := get(t, r, "/console/item?id=fx-b", c); !strings.Contains(body, "已经放行") || strings.Contains(body, "复核") || strings.Contains(body, "released") {
		t.Error("the author of an item that nobody looked at is told of a review")
	}
	_, body := get(t, r, "/console/review?original=1", c)
	for id, want := range map[string]bool{"second-0": false, "second-1": true, "second-2": false} {
		if got := strings.Contains(body, "at="+id); got != want {
			t.Errorf("%s among those that may be originals: %v, want %v", id, got, want)
		}
	}
}
