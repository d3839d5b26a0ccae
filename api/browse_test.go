package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"jianguo/index"
	"jianguo/ingest"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	var published []index.Event
	for _, it := range sample(t, 40) {
		published = append(published, *r.publish(it).Event)
	}
	var all []index.Event
	for {
		after := uint64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Number
		}
		page := want[[]index.Event](r, 200, "GET", fmt.Sprintf("/verdicts?limit=7&after=%d", after), nil)
		if len(page) == 0 {
			break
		}
		if len(page) > 7 {
			t.Errorf("%d events, limit 7", len(page))
		}
		all = append(all, page...)
	}
	if len(all) != len(published) {
		t.Fatalf("%d events, published %d", len(all), len(published))
	}
	for i := range all {
		if all[i].Number != uint64(i+1) || !reflect.DeepEqual(all[i], published[i]) {
			t.Errorf("event %d: %+v, published as %+v", i+1, all[i], published[i])
		}
	}
	if rep := r.do("GET", fmt.Sprint("/verdicts?after=", len(all)), nil); string(bytes.TrimSpace(rep.body)) != "[]" {
		t.Errorf("after the end: %d %s", rep.status, rep.body)
	}
	// A subscriber that is ahead of a restored backup would hear nothing for ever.
	for _, query := range []string{"after=9223372036854775807", fmt.Sprint("wait=30s&after=", len(all)+1)} {
		if p := want[Problem](r, 409, "GET", "/verdicts?"+query, nil); p.Field != "after" || !strings.Contains(p.Detail, fmt.Sprintf("the last event has the number %d:", len(all))) {
			t.Errorf("%s: %+v", query, p)
		}
	}
	for query, field := range map[string]string{"after=-1": "after", "after=x": "after", "after=18446744073709551615": "after", "limit=0": "limit",
		"limit=1001": "limit", "wait=10": "wait", "wait=1h": "wait", "wait=-1s": "wait"} {
		if p := want[Problem](r, 400, "GET", "/verdicts?"+query, nil); p.Field != field {
			t.Errorf("%s: field %q", query, p.Field)
		}
	}
}

func TestLongPoll(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	got := make(chan reply, 1)
	poll := func(after int) {
		rep, err := r.try("GET", fmt.Sprintf("/verdicts?wait=30s&after=%d", after), nil)
		if err != nil {
			t.Error(err)
		}
		got <- rep
	}
	go poll(0)
	eventually(t, "the poll waits", func() bool { return len(r.server.polling) == 1 })
	r.publish(ingest.Item{ID: "a", Body: article(1)})
	var events []index.Event
	if rep := <-got; json.Unmarshal(rep.body, &events) != nil || len(events) != 1 || events[0].ID != "a" {
		t.Errorf("poll: %d %s", rep.status, rep.body)
	}
	if rep := r.do("GET", "/verdicts?after=1&wait=20ms", nil); rep.status != 200 || string(bytes.TrimSpace(rep.body)) != "[]" {
		t.Errorf("a wait that is over: %d %s", rep.status, rep.body)
	}
	// The service ends without waiting for long polls.
	go poll(1)
	eventually(t, "the poll waits", func() bool { return len(r.server.polling) == 1 })
	r.end()
	if rep := <-got; rep.status != 200 || string(bytes.TrimSpace(rep.body)) != "[]" {
		t.Errorf("poll at the end: %d %s", rep.status, rep.body)
	}
}

// stories are the subjects of the articles that families publishes.
var stories = []string{"台风", "地铁", "银行", "博物馆", "运动会", "粮食", "航班"}

// families publishes copies of several articles, and returns the leads' ids.
func families(r *testService, sizes ...int) (leads []string) {
	for f, size := range sizes {
		for n := range size {
			id := fmt.Sprintf("%d-%d", f, n)
			if n == 0 {
				leads = append(leads, id)
			}
			r.publish(ingest.Item{ID: id, Title: stories[f] + "稿件" + id, Body: article(f), Source: fmt.Sprint("来源", n)})
		}
	}
	return leads
}

func TestClusters(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	sizes := []int{3, 1, 2, 5, 4, 2, 3}
	leads := families(r, sizes...)
	r.follow()
	var seen []cluster
	query := "/clusters?sort=size&limit=2"
	for next := query; next != ""; {
		page := want[clusterPage](r, 200, "GET", next, nil)
		if len(page.Clusters) != 2 {
			t.Errorf("%d clusters, limit 2", len(page.Clusters))
		}
		seen = append(seen, page.Clusters...)
		next = ""
		if page.Next != "" {
			next = query + "&cursor=" + url.QueryEscape(page.Next)
		}
	}
	if len(seen) != 6 {
		t.Fatalf("%d clusters, want 6", len(seen))
	}
	for i, c := range seen {
		if i > 0 && c.Size > seen[i-1].Size || c.Members != nil {
			t.Errorf("cluster %d of size %d after one of %d, %d members", c.ID, c.Size, seen[max(i-1, 0)].Size, len(c.Members))
		}
	}
	big := want[cluster](r, 200, "GET", fmt.Sprint("/clusters/", seen[0].ID), nil)
	if big.Lead == nil || big.Lead.ID != leads[3] || big.Size != 5 || big.Sources != 5 || len(big.Members) != 5 || big.Members[4].Verdict != index.Duplicate {
		t.Errorf("largest: %+v", big)
	}
	for cursor, pages, members := "", 1, 0; ; pages++ {
		page := want[struct {
			Members []*listed
			Next    string
		}](r, 200, "GET", fmt.Sprintf("/clusters/%d?limit=2&cursor=%s", seen[0].ID, cursor), nil)
		if members += len(page.Members); page.Next != "" {
			cursor = page.Next
			continue
		}
		if pages != 2 || members != 5 {
			t.Errorf("%d pages with %d members", pages, members)
		}
		break
	}
	single := want[index.Item](r, 200, "GET", "/items/1-0", nil)
	more := want[index.Outcome](r, 200, "POST", "/items", ingest.Item{ID: "more", Title: "又有消息", Body: article(0) + strings.Repeat("随后又有新的情况传来，", 3) +
		"村民已经回家。水务局今晨公布，台风中停用的两座泵站投入使用，一千二百户居民恢复供水。" + article(90)})
	story := want[struct {
		Story    uint32
		Tellings []cluster
	}](r, 200, "GET", fmt.Sprint("/stories/", more.Event.Cluster), nil)
	if more.Event.Verdict != index.Suspect || more.Event.Story != story.Story || len(story.Tellings) != 2 ||
		story.Tellings[0].Size < 2 || story.Tellings[1].Follows != story.Story || story.Tellings[1].Of != more.Event.Of ||
		story.Tellings[1].Adds != more.Event.Facts.New.Characters || len(story.Tellings[1].Facts.New.Quotes) == 0 {
		t.Errorf("%+v; %+v", more.Event, story)
	}
	if c := want[cluster](r, 200, "GET", fmt.Sprint("/clusters/", single.Event.Cluster), nil); c.Size != 1 || c.Lead.ID != "1-0" {
		t.Errorf("cluster of one: %+v", c)
	}
	revised := want[index.Outcome](r, 200, "POST", "/items", ingest.Item{ID: "1-0", Title: "更正", Body: article(1)})
	if number := more.Event.Cluster + 1; !revised.Changed || revised.Event.Cluster != single.Event.Cluster {
		t.Errorf("the revision: %+v", revised)
	} else { // it has the number of no cluster, as the copy that arrived second
		for _, path := range []string{"/clusters/2", "/stories/2", fmt.Sprint("/clusters/", number), fmt.Sprint("/stories/", number)} {
			want[Problem](r, 404, "GET", path, nil)
		}
	}
	corrected := want[struct{ Tellings []cluster }](r, 200, "GET", fmt.Sprint("/stories/", single.Event.Cluster), nil).Tellings[0]
	if c := corrected; c.Lead.Title != "更正" || !c.Lead.Arrived.Equal(single.Arrived) || !c.First.Equal(single.Arrived) {
		t.Errorf("a corrected telling of %v: %+v, first %v", single.Arrived, c.Lead, c.First)
	}
	gone := r.do("DELETE", "/items/1-0?mode=promote", nil)
	empty := want[map[string]any](r, 200, "GET", fmt.Sprint("/clusters/", single.Event.Cluster), nil)
	if gone.status != 200 || empty["lead"] != nil || empty["size"] != 0.0 || empty["first_at"] != nil || empty["last_at"] != nil {
		t.Errorf("of which no item is left: %v", empty)
	}
	want[Problem](r, 404, "GET", "/stories/99999", nil)
	for query, n := range map[string]int{"size=4": 2, "sort=heat": 6, "search=" + url.QueryEscape("博物馆 稿件"): 1, "search=nothing": 0, "source=" + url.QueryEscape("来源4"): 1, "source=nobody": 0, "sort=first": 6,
		"since=" + url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339)): 0, "since=2001-02-03T04:05:06Z": 6} {
		if page := want[clusterPage](r, 200, "GET", "/clusters?"+query, nil); len(page.Clusters) != n {
			t.Errorf("%s: %d clusters, want %d", query, len(page.Clusters), n)
		}
	}
	ofSize := want[clusterPage](r, 200, "GET", "/clusters?sort=size&limit=1", nil).Next
	for query, field := range map[string]string{"sort=first&cursor=" + ofSize: "cursor", "sort=best": "sort", "search=" + strings.Repeat("x", 1025): "search", "size=1": "size", "size=x": "size", "limit=201": "limit", "limit=0": "limit",
		"since=yesterday": "since", "cursor=%00": "cursor", "cursor=abcd": "cursor", "cursor=AAAA": "cursor"} {
		if p := want[Problem](r, 400, "GET", "/clusters?"+query, nil); p.Field != field {
			t.Errorf("%s: field %q", query, p.Field)
		}
	}
	for id, status := range map[string]int{"0": 400, "-1": 400, "x": 400, "1.5": 400, "4294967296": 400, "01": 400, "null": 400, "4294967295": 404, "999": 404} {
		want[Problem](r, status, "GET", "/clusters/"+id, nil)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	r.publish(ingest.Item{ID: "a", Body: article(1)})
	if h := want[map[string]string](r, 200, "GET", "/healthz", nil); h["status"] != "ok" || h["version"] != "test" {
		t.Errorf("health: %v", h)
	}
	if ready := want[readiness](r, 200, "GET", "/readyz", nil); !ready.Ready || ready.Parts["bus"] != "ok" || ready.Parts["ingest"] != "ok" {
		t.Errorf("ready: %+v", ready)
	}
	if rep := r.do("GET", "/openapi.yaml", nil); rep.status != 200 || !bytes.Equal(rep.body, OpenAPI) {
		t.Errorf("description: %d", rep.status)
	}
	if rep := r.do("GET", "/metrics", nil); !bytes.Contains(rep.body, []byte(`jianguo_http_requests_total{code="200",method="POST",route="/items"} 1`)) {
		t.Errorf("metrics: %d %s", rep.status, rep.body)
	}
}

func TestWrongAddresses(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true})
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/nothing", 404, ""},
		{"PUT", "/items", 405, "POST"},
		{"PATCH", "/items/a", 405, "DELETE"},
		{"DELETE", "/verdicts", 405, "GET"},
		{"POST", "/clusters/1", 405, "GET"},
		{"GET", "/items/", 400, ""},
		{"GET", "/items/" + strings.Repeat("a", 257), 413, ""},
		{"GET", "/items/%ff%fe", 400, ""},
		{"GET", "/items/a%00b", 400, ""},
		{"GET", "/items/a%0Ab", 400, ""},
		{"GET", "/verdicts?after=0;limit=1", 400, ""},
		{"GET", "/verdicts?after=%zz", 400, ""},
		{"DELETE", "/items/a?mode=promote;reason=b", 400, ""},
		{"GET", "/clusters?source=%ff", 400, ""},
	} {
		rep := r.do(c.method, c.path, nil)
		var p Problem
		if err := json.Unmarshal(rep.body, &p); err != nil || rep.status != c.status || p.Status != c.status || p.Title != http.StatusText(c.status) ||
			p.Request == "" || p.Request != rep.header.Get("X-Request-Id") || !strings.Contains(rep.header.Get("Allow"), c.allow) {
			t.Errorf("%s %.40s: %d, allow %q: %s", c.method, c.path, rep.status, rep.header.Get("Allow"), rep.body)
		}
	}
	if rep := r.do("GET", "/healthz", nil, "X-Request-Id", "abc-1"); rep.header.Get("X-Request-Id") != "abc-1" {
		t.Errorf("request id became %q", rep.header.Get("X-Request-Id"))
	}
	for _, id := range []string{"a b", `a"b`, strings.Repeat("x", 65)} {
		if rep := r.do("GET", "/healthz", nil, "X-Request-Id", id); rep.header.Get("X-Request-Id") == id {
			t.Errorf("request id %q was taken over", id)
		}
	}
}
