package api

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"sync"
	"testing"

	"jianguo/index"
	"jianguo/ingest"
)

type decisionList struct{ Decisions []index.Decision }

func TestDecisions(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	families(r, 3, 2)
	decide := func(status int, cluster uint32, body string) reply {
		t.Helper()
		rep := r.do("POST", fmt.Sprintf("/clusters/%d/decisions", cluster), body)
		if rep.status != status {
			t.Fatalf("%s: %d, want %d: %s", body, rep.status, status, rep.body)
		}
		return rep
	}
	verdict := func(id string) index.Event {
		t.Helper()
		return want[index.Item](r, 200, "GET", "/items/"+id, nil).Event
	}
	a, b := verdict("0-0").Cluster, verdict("1-0").Cluster
	path := fmt.Sprintf("/clusters/%d/decisions", a)
	d := want[index.Decision](r, 200, "POST", path, `{"kind":"release","item":"0-1","expect":"duplicate","by":"张三","reason":"独家采访"}`)
	if d.Number != 1 || d.By != "张三" || d.Cluster != a || len(d.Events) != 1 || d.Events[0].Cause != index.CauseEditor || !strings.Contains(d.Events[0].Why, "独家采访") {
		t.Errorf("%+v", d)
	}
	if e := verdict("0-1"); e.Verdict != index.Unique || e.Number != d.Events[0].Number {
		t.Errorf("released: %+v", e)
	}
	// The event is published like any other.
	if last := want[[]index.Event](r, 200, "GET", fmt.Sprintf("/verdicts?wait=30s&after=%d", d.Events[0].Number-1), nil); len(last) != 1 || last[0].ID != "0-1" {
		t.Errorf("events: %+v", last)
	}
	p := want[Problem](r, 409, "POST", path, `{"kind":"release","item":"0-1","expect":"duplicate","by":"李四"}`)
	if p.Decision == nil || p.Decision.By != "张三" || p.Decision.Number != 1 || !strings.Contains(p.Detail, "张三") {
		t.Errorf("the second editor gets %+v", p)
	}
	decide(404, a, `{"kind":"undo","decision":9223372036854775808,"by":"李四"}`)
	if d := want[index.Decision](r, 200, "POST", path, `{"kind":"undo","decision":1,"by":"李四"}`); d.Item != "0-1" {
		t.Errorf("the undo does not say of what: %+v", d)
	}
	if e := verdict("0-1"); e.Verdict != index.Duplicate || e.Cluster != a {
		t.Errorf("taken back: %+v", e)
	}
	decide(200, a, `{"kind":"lead","item":"0-2","by":"李四"}`)
	decide(200, b, fmt.Sprintf(`{"kind":"merge","into":%d,"by":"李四"}`, a))
	decide(200, a, `{"kind":"block","by":"李四","reason":"违规"}`)
	if o := r.publish(ingest.Item{ID: "late", Body: article(1)}); o.Event.Verdict != index.Duplicate || o.Event.Rule != index.ByBlocked {
		t.Errorf("a copy of what is blocked: %+v", o.Event)
	}
	list := want[decisionList](r, 200, "GET", path, nil).Decisions
	if len(list) != 5 || list[0].Kind != index.Block || !list[4].Undone || list[4].Number != 1 {
		t.Errorf("log: %+v", list)
	}
	if list := want[decisionList](r, 200, "GET", path+"?limit=1", nil).Decisions; len(list) != 1 || list[0].Kind != index.Block {
		t.Errorf("limited: %+v", list)
	}
	r.browse.Follow(t.Context())
	r.noDeadLetters()
}

func TestBadDecisions(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	families(r, 2, 1)
	before := r.events()
	for body, wrong := range map[string]struct {
		status int
		field  string
	}{
		`{`:                            {400, "payload"},
		`[]`:                           {400, "payload"},
		`{"by":"张三"}`:                  {400, "kind"},
		`{"kind":7}`:                   {400, "kind"},
		`{"kind":"oops","by":"张三"}`:    {400, "kind"},
		`{"kind":"release","by":"张三"}`: {400, "item"},
		`{"kind":"release","by":"张三","item":true}`:                                               {400, "item"},
		`{"kind":"release","by":"张三","item":"\ud800"}`:                                           {400, "item"},
		`{"kind":"release","by":"张三","item":"a\u0007"}`:                                          {400, "item"},
		`{"kind":"release","by":"张三","item":"` + strings.Repeat("x", 257) + `"}`:                 {413, "item"},
		`{"kind":"release","item":"0-1"}`:                                                        {400, "by"},
		`{"kind":"release","item":"0-1","by":" "}`:                                               {400, "by"},
		`{"kind":"release","item":"0-1","by":"a\nb"}`:                                            {400, "by"},
		`{"kind":"release","item":"0-1","by":"张三","expect":"good"}`:                              {400, "expect"},
		`{"kind":"release","item":"0-1","by":"张三","into":-1}`:                                    {400, "into"},
		`{"kind":"release","item":"0-1","by":"张三","into":4294967296}`:                            {400, "into"},
		`{"kind":"release","item":"0-1","by":"张三","reason":"` + strings.Repeat("x", 2001) + `"}`: {413, "reason"},
		`{"kind":"merge","by":"张三"}`:                                                             {400, "into"},
		`{"kind":"undo","by":"张三"}`:                                                              {400, "decision"},
		`{"kind":"undo","by":"张三","decision":9}`:                                                 {404, "decision"},
		`{"kind":"release","by":"张三","item":"nobody"}`:                                           {404, "item"},
		`{"kind":"release","by":"张三","item":"1-0"}`:                                              {409, ""},
		`{"kind":"release","by":"张三","item":"0-0"}`:                                              {409, ""},
		`{"kind":"release","by":"张三","item":"0-1","expect":"suspect"}`:                           {409, ""},
		`{"kind":"reject","by":"张三","item":"0-0"}`:                                               {422, "into"},
		`{"kind":"block","by":"张三","items":[{"item":"0-0"}]}`:                                    {422, "items"},
		`{"kind":"merge","by":"张三","into":99}`:                                                   {404, "into"},
		`{"kind":"merge","by":"张三","into":1}`:                                                    {409, ""},
	} {
		if p := want[Problem](r, wrong.status, "POST", "/clusters/1/decisions", body); p.Field != wrong.field ||
			p.Detail == "" || !strings.HasPrefix(p.Detail, strings.TrimSuffix(p.Field, "payload")) {
			t.Errorf("%.80s: %+v", body, p)
		}
	}
	for _, id := range []string{"0", "x", "4294967296"} {
		want[Problem](r, 400, "POST", "/clusters/"+id+"/decisions", `{"kind":"block","by":"张三"}`)
		want[Problem](r, 400, "GET", "/clusters/"+id+"/decisions", nil)
	}
	for _, id := range []string{"2", "99", "4294967295"} { // a copy's, and no item's
		want[Problem](r, 404, "GET", "/clusters/"+id, nil)
		want[Problem](r, 404, "GET", "/clusters/"+id+"/decisions", nil)
		want[Problem](r, 404, "POST", "/clusters/"+id+"/decisions", `{"kind":"block","by":"张三"}`)
	}
	if r.events() != before {
		t.Errorf("%d events of refused decisions", r.events()-before)
	}
}

// The name of a decision is that of the token, with any name in the body.
func TestDecisionNames(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{api: func(c *Config) { c.Tokens = testTokens(t) }})
	for i := range 2 {
		want[ingest.Outcome](r, 200, "POST", "/items", ingest.Item{ID: fmt.Sprint(i), Body: article(1)}, "Authorization", "Bearer "+platformToken)
	}
	post := func(status int, secret, body string) reply {
		t.Helper()
		rep := r.do("POST", "/clusters/1/decisions", body, "Authorization", "Bearer "+secret)
		if rep.status != status {
			t.Fatalf("%s: %d, want %d: %s", body, rep.status, status, rep.body)
		}
		return rep
	}
	post(403, platformToken, `{"kind":"release","item":"1"}`)
	post(403, recallToken, `{"kind":"release","item":"1"}`)
	post(400, editorToken, `{"kind":"release","item":"1","by":"李四"}`)
	post(200, editorToken, `{"kind":"release","item":"1","by":"张三"}`)
	post(200, operatorToken, `{"kind":"undo","decision":1}`)
	list := want[decisionList](r, 200, "GET", "/clusters/1/decisions", nil, "Authorization", "Bearer "+editorToken).Decisions
	if len(list) != 2 || list[0].By != "root" || list[1].By != "张三" {
		t.Errorf("%+v", list)
	}
}

// Of two editors who decide at the same moment, one gets the decision of the other.
func TestDecisionRace(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	families(r, 2)
	for range 5 {
		var wg sync.WaitGroup
		status := make([]int, 4)
		for i := range status {
			wg.Go(func() {
				rep, err := r.try("POST", "/clusters/1/decisions", fmt.Sprintf(`{"kind":"release","item":"0-1","expect":"duplicate","by":"editor%d"}`, i))
				if err != nil {
					t.Error(err)
				}
				status[i] = rep.status
			})
		}
		wg.Wait()
		won := 0
		for _, s := range status {
			switch s {
			case 200:
				won++
			case 409:
			default:
				t.Errorf("status %d", s)
			}
		}
		if won != 1 {
			t.Fatalf("%d decisions were made", won)
		}
		list := want[decisionList](r, 200, "GET", "/clusters/1/decisions", nil).Decisions
		want[index.Decision](r, 200, "POST", "/clusters/1/decisions", fmt.Sprintf(`{"kind":"undo","decision":%d,"by":"root"}`, list[0].Number))
	}
}

func TestSuspects(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	waits := map[string]bool{}
	for _, it := range sample(t, 400) {
		if r.publish(it).Event.Verdict == index.Suspect {
			waits[it.ID] = true
		}
	}
	if len(waits) < 3 {
		t.Fatalf("the sample has %d suspects", len(waits))
	}
	r.follow()
	type page struct {
		Suspects []suspectRow
		Next     string
	}
	query := "/suspects?limit=2"
	last := 1.0
	var first listed
	for next := query; next != ""; {
		p := want[page](r, 200, "GET", next, nil)
		for _, row := range p.Suspects {
			if row.Likely > last || row.Waiting != len(row.Items) {
				t.Errorf("%+v after %v", row, last)
			}
			last = row.Likely
			for _, it := range row.Items {
				if first.ID == "" {
					first = it
				}
				if !waits[it.ID] || it.Of == "" || it.Title == "" {
					t.Errorf("%+v does not wait, or no more", it)
				}
				delete(waits, it.ID)
			}
		}
		next = ""
		if p.Next != "" {
			next = query + "&cursor=" + url.QueryEscape(p.Next)
		}
	}
	if len(waits) != 0 {
		t.Errorf("not in the queue: %v", waits)
	}
	if p := want[page](r, 200, "GET", "/suspects?source="+url.QueryEscape(first.Source), nil); len(p.Suspects) == 0 || p.Suspects[0].Items[0].Source != first.Source {
		t.Errorf("of source %s: %+v", first.Source, p)
	}
	least := 0.0
	for _, row := range want[page](r, 200, "GET", "/suspects?sort=new", nil).Suspects {
		if n := row.Items[0].Facts.New; n != nil && math.Abs(row.Likely-max(0, 1-float64(n.Share)-.02*float64(n.Facts))) > 1e-6 || row.Likely < least {
			t.Errorf("%v after %v, and it adds %+v", row.Likely, least, n)
		}
		least = row.Likely
	}
	if p := want[page](r, 200, "GET", "/suspects?source=nobody", nil); len(p.Suspects) != 0 {
		t.Errorf("of an unknown source: %+v", p)
	}
	ofNew := want[page](r, 200, "GET", "/suspects?sort=new&limit=1", nil).Next
	for query, field := range map[string]string{"cursor=" + ofNew: "cursor", "limit=0": "limit", "limit=201": "limit", "sort=size": "sort", "cursor=x": "cursor", "cursor=%00": "cursor"} {
		if p := want[Problem](r, 400, "GET", "/suspects?"+query, nil); p.Field != field {
			t.Errorf("%s: field %q", query, p.Field)
		}
	}
	// A decided item is gone at once, also from a list that lags behind.
	want[index.Decision](r, 200, "POST", fmt.Sprintf("/clusters/%d/decisions", first.Cluster),
		map[string]string{"kind": index.Reject, "item": first.ID, "expect": "suspect", "by": "张三"})
	if p := want[page](r, 200, "GET", "/suspects", nil); len(p.Suspects) > 0 && p.Suspects[0].Items[0].ID == first.ID {
		t.Error("the decided one still waits")
	}
}

// A decision states what its editor saw. The answer reports a change since then, and the
// name of the editor who made it, even if the verdict is the same again.
func TestDecisionSeen(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	families(r, 5)
	const path = "/clusters/1/decisions"
	r.follow()
	seen := map[string]uint64{}
	for _, m := range want[cluster](r, 200, "GET", "/clusters/1", nil).Members {
		seen[m.ID] = m.Event
	}
	if len(seen) != 5 || seen["0-1"] == 0 {
		t.Fatalf("events of the members: %v", seen)
	}
	body := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	d := want[index.Decision](r, 200, "POST", path, body(`{"kind":"release","item":"0-1","seen":%d,"by":"张三"}`, seen["0-1"]))
	want[index.Decision](r, 200, "POST", path, body(`{"kind":"undo","decision":%d,"by":"张三"}`, d.Number))
	// It is a duplicate again, but not the one that was seen.
	for _, stale := range []string{
		body(`{"kind":"release","item":"0-1","seen":%d,"by":"李四"}`, seen["0-1"]),
		body(`{"kind":"release","item":"0-1","expect":"duplicate","seen":%d,"by":"李四"}`, seen["0-1"]),
		body(`{"kind":"release","items":[{"item":"0-2","seen":%d},{"item":"0-1","seen":%d}],"by":"李四"}`, seen["0-2"], seen["0-1"]),
	} {
		if p := want[Problem](r, 409, "POST", path, stale); p.Decision == nil || p.Decision.By != "张三" || p.Decision.Kind != index.Undo || !strings.Contains(p.Detail, "张三") {
			t.Errorf("%s gets %+v", stale, p)
		}
	}
	if e := want[index.Item](r, 200, "GET", "/items/0-2", nil).Event; e.Number != seen["0-2"] {
		t.Errorf("half of a refused decision was made: %+v", e)
	}
	// For a whole cluster, `seen` is about the lead.
	want[Problem](r, 409, "POST", path, body(`{"kind":"block","seen":%d,"by":"李四"}`, seen["0-0"]+1000))
	now := want[index.Item](r, 200, "GET", "/items/0-1", nil).Event.Number
	d = want[index.Decision](r, 200, "POST", path, body(`{"kind":"release","items":[{"item":"0-1","seen":%d},{"item":"0-2"},{"item":"0-3"}],"by":"李四"}`, now))
	if d.Count != 3 || d.Item != "0-1" || len(d.Events) != 3 || d.Cluster != 1 {
		t.Errorf("several at once: %+v", d)
	}
	for bad, field := range map[string]string{`"seen":-1`: "seen", `"seen":"x"`: "seen", `"items":[{}]`: "items[0].item", `"items":[{"item":""}]`: "items[0].item", `"items":7`: "items"} {
		if p := want[Problem](r, 400, "POST", path, `{"kind":"release","by":"张三",`+bad+`}`); p.Field != field {
			t.Errorf("%s: %+v", bad, p)
		}
	}
	for bad, detail := range map[string]string{
		`"seen":-1`:     "seen is -1, want an integer from 0 to 18446744073709551615",
		`"into":"x"`:    "into is a JSON string, want an integer from 0 to 4294967295",
		`"reason":true`: "reason is a JSON true, want text",
		`"items":{}`:    "items is a JSON object, want a list",
		`"items":[7]`:   "items.0 is a JSON number, want an object",
	} {
		if p := want[Problem](r, 400, "POST", path, `{"kind":"release","by":"张三",`+bad+`}`); p.Detail != detail {
			t.Errorf("%s: %+v", bad, p)
		}
	}
	want[Problem](r, 413, "POST", path, `{"kind":"release","by":"张三","items":[{"item":"x"}`+strings.Repeat(`,{"item":"x"}`, index.MaxTogether)+`]}`)
	d = want[index.Decision](r, 200, "POST", path, body(`{"kind":"undo","decision":%d,"by":"李四"}`, d.Number))
	if len(d.Events) != 3 || d.Count != 3 {
		t.Errorf("taken back: %+v", d)
	}
	r.follow()
	r.noDeadLetters()
}

// TestBlockedBySource: a conflict names the editor who blocked the lead, and nobody where its source has withdrawn it.
func TestBlockedBySource(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	families(r, 2)
	const path = "/clusters/1/decisions"
	d := want[index.Decision](r, 200, "POST", path, `{"kind":"release","item":"0-1","by":"张三"}`)
	want[index.Decision](r, 200, "POST", path, fmt.Sprintf(`{"kind":"undo","decision":%d,"by":"李四"}`, d.Number))
	want[ingest.Outcome](r, 200, "DELETE", "/items/0-0", nil)
	if p := want[Problem](r, 409, "POST", path, `{"kind":"lead","item":"0-1","by":"张三"}`); p.Decision != nil || p.Detail != "cluster 1 is blocked" {
		t.Errorf("%+v", p)
	}
	e := r.publish(ingest.Item{ID: "taken down", Body: article(9)}).Event
	other := fmt.Sprintf("/clusters/%d/decisions", e.Cluster)
	want[index.Decision](r, 200, "POST", other, `{"kind":"block","by":"张三"}`)
	if p := want[Problem](r, 409, "POST", other, `{"kind":"block","by":"李四"}`); p.Decision == nil || p.Decision.By != "张三" {
		t.Errorf("%+v", p)
	}
}

// TestExemptions: a text is exempt by a decision about its cluster, listed, and not exempt after the
// undo.
func TestExemptions(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	items := sample(t, 1)
	e := r.publish(items[0]).Event
	path := fmt.Sprintf("/clusters/%d/decisions", e.Cluster)
	d := want[index.Decision](r, 200, "POST", path, map[string]any{"kind": "exempt", "by": "张三", "reason": "法律声明"})
	if list := want[decisionPage](r, 200, "GET", "/exemptions", nil).Decisions; len(list) != 1 || list[0].Item != e.ID || list[0].By != "张三" {
		t.Errorf("%+v", list)
	}
	if p := want[Problem](r, 409, "POST", path, map[string]any{"kind": "exempt", "by": "张三"}); p.Decision == nil || p.Decision.Number != d.Number {
		t.Errorf("a second time: %+v", p)
	}
	again := items[0]
	again.ID = "again"
	if got := r.publish(again).Event; got.Verdict != index.Unique || got.Rule != index.ByExempt || got.Of != e.ID {
		t.Errorf("%+v", got)
	}
	want[index.Decision](r, 200, "POST", path, map[string]any{"kind": "undo", "decision": d.Number, "by": "张三"})
	if list := want[decisionPage](r, 200, "GET", "/exemptions?limit=1", nil).Decisions; len(list) != 0 {
		t.Errorf("%+v", list)
	}
	want[Problem](r, 400, "GET", "/exemptions?limit=0", nil)
	again.ID = "once more"
	if got := r.publish(again).Event; got.Verdict != index.Duplicate {
		t.Errorf("%+v", got)
	}
}

// decisionPage is the answer of routes that list decisions.
type decisionPage struct{ Decisions []index.Decision }
