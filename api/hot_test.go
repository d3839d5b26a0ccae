package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"jianguo/exposure"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
)

type hotAnswer struct {
	Items    []hotItem
	Degraded string
}

func (a hotAnswer) ids() (ids []string) {
	for _, it := range a.Items {
		ids = append(ids, it.ID)
	}
	return ids
}

func TestHot(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{exposure: &exposure.Config{}})
	families(r, 2, 5, 1, 3) // by as many sources
	for i := range 4 {
		// Copies of one source count once.
		r.publish(ingest.Item{ID: fmt.Sprint("again", i), Body: article(0), Source: "来源0"})
	}
	r.follow()
	again := func() { // the list is rebuilt
		r.server.hot.mu.Lock()
		defer r.server.hot.mu.Unlock()
		r.server.hot.at = time.Time{}
	}
	get := func(query, ids string) hotAnswer {
		t.Helper()
		a := want[hotAnswer](r, 200, "GET", "/hot"+query, nil)
		for i, it := range a.Items {
			if i > 0 && it.Score > a.Items[i-1].Score {
				t.Errorf("%s scores %v, after %v", it.ID, it.Score, a.Items[i-1].Score)
			}
		}
		if got := strings.Join(a.ids(), " "); got != ids {
			t.Errorf("%s: %s, want %s", query, got, ids)
		}
		return a
	}
	a := get("", "1-0 3-0 0-0 2-0")
	for i, sources := range []int{5, 3, 2, 1} {
		if it := a.Items[i]; it.Sources != sources || it.Score < float64(sources)-0.1 || it.Score > float64(sources) {
			t.Errorf("%+v, want %d sources", it, sources)
		}
	}
	get("?limit=2", "1-0 3-0")
	// They arrived while the clock was years ahead: their weights, which no JSON could hold, end at what is new.
	for _, it := range r.server.hot.rank(t.Context(), time.Now().AddDate(-3, 0, 0)) {
		if it.Score != float64(it.Sources) {
			t.Errorf("after a clock that was ahead, %s of %d sources scores %v", it.ID, it.Sources, it.Score)
		}
	}
	report := func(user, kind string, items ...string) {
		t.Helper()
		if rep := r.do("POST", "/exposures", map[string]any{"user": user, "kind": kind, "items": items}); rep.status != 204 {
			t.Fatalf("%d %s", rep.status, rep.body)
		}
	}
	report("ann", "delivered", "1-0")
	report("ann", "seen", "3-0", "0-1")
	get("?user=ann&limit=1", "0-0")
	get("?user=ann", "0-0 2-0")
	get("?user=bob", "1-0 3-0 0-0 2-0")
	if rep := r.do("GET", "/hot?user="+strings.Repeat("x", 257), nil); rep.status != 413 {
		t.Errorf("a long user: %d %s", rep.status, rep.body)
	}
	// Exposures of any copy lift the lead; deliveries do not.
	for i := range 40 {
		report(fmt.Sprint("reader", i), "seen", "2-0", "0-1")
		report(fmt.Sprint("reader", i), "delivered", "3-0")
	}
	again()
	get("", "0-0 2-0 1-0 3-0")
	// A withdrawn or blocked item is not hot, with any number of copies.
	if rep := r.do("DELETE", "/items/2-0", nil); rep.status != 200 {
		t.Fatal(rep.status)
	}
	lead := want[index.Item](r, 200, "GET", "/items/1-0", nil)
	want[index.Decision](r, 200, "POST", fmt.Sprintf("/clusters/%d/decisions", lead.Event.Cluster), `{"kind":"block","by":"张三"}`)
	r.follow()
	again()
	get("", "0-0 3-0")
	for query, field := range map[string]string{"limit=0": "limit", "limit=501": "limit", "limit=x": "limit"} {
		if p := want[Problem](r, 400, "GET", "/hot?"+query, nil); p.Field != field {
			t.Errorf("%s: field %q", query, p.Field)
		}
	}
	if browse.HeatHalf != exposure.PopularHalfLife {
		t.Error("copies and exposures are weighed together, but age differently")
	}
}

// Without exposures there is still a list, but none for a user.
func TestHotAlone(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	families(r, 2)
	r.follow()
	if a := want[hotAnswer](r, 200, "GET", "/hot", nil); len(a.Items) != 1 {
		t.Errorf("%+v", a)
	}
	if p := want[Problem](r, 400, "GET", "/hot?user="+url.QueryEscape("安"), nil); p.Field != "user" {
		t.Errorf("%+v", p)
	}
}
