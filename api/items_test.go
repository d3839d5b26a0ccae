package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"jianguo/bus"
	"jianguo/data"
	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// sample reads the first items of the sample corpus.
func sample(t *testing.T, most int) []ingest.Item {
	t.Helper()
	file, err := data.FS.ReadFile("sample/corpus.jsonl")
	testbed.OK(t, err)
	var items []ingest.Item
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && len(items) < most {
		it, err := ingest.DecodeItem(lines.Bytes())
		testbed.OK(t, err)
		items = append(items, *it)
	}
	return items
}

// article returns a different text for every number.
func article(n int) string {
	var b strings.Builder
	r := rand.New(rand.NewPCG(uint64(n), 0))
	for range 40 {
		for range 18 {
			b.WriteRune(rune(0x4e00 + r.IntN(20000)))
		}
		b.WriteString("。")
	}
	return b.String()
}

func TestPublish(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	first := r.publish(ingest.Item{ID: "a", Title: "一", Body: article(1), Source: "甲报"})
	if !first.Changed || first.Event.Verdict != index.Unique || first.Event.Number != 1 || first.Event.ID != "a" {
		t.Errorf("first: %+v", first.Event)
	}
	copied := r.publish(ingest.Item{ID: "b", Title: "二", Body: article(1), Source: "乙报"})
	if copied.Event.Verdict != index.Duplicate || copied.Event.Of != "a" || copied.Event.Cluster != first.Event.Cluster {
		t.Errorf("copy: %+v", copied.Event)
	}
	again := r.publish(ingest.Item{ID: "b", Title: "二", Body: article(1), Source: "乙报"})
	if again.Changed || again.Event.Number != copied.Event.Number {
		t.Errorf("the same item again: %+v %+v", again, again.Event)
	}
	it := want[index.Item](r, 200, "GET", "/items/b", nil)
	if it.Event.Number != copied.Event.Number || it.Title != "二" || it.Source != "乙报" || *it.Body != article(1) || len(it.History) != 1 {
		t.Errorf("stored: %+v", it)
	}
	number := want[ingest.Outcome](r, 200, "POST", "/items", `{"id": 17, "body": "`+article(2)+`", "unknown": {"field": []}}`)
	if number.Event.ID != "17" {
		t.Errorf("integer id became %q", number.Event.ID)
	}
	for _, path := range []string{"/items/17", "/healthz", "/readyz", "/openapi.yaml"} {
		if rep := r.do("HEAD", path, nil); rep.status != 200 || len(rep.body) != 0 {
			t.Errorf("HEAD %s: %d, %d bytes", path, rep.status, len(rep.body))
		}
	}
	for _, encoding := range []string{"gzip", "br"} {
		if p := want[Problem](r, 415, "POST", "/items", `{"id":"18","body":"台风登陆。"}`, "Content-Encoding", encoding); p.Field != "Content-Encoding" {
			t.Errorf("%s: %+v", encoding, p)
		}
	}
	want[ingest.Outcome](r, 200, "POST", "/items", `{"id":"18","body":"台风登陆。"}`, "Content-Encoding", "identity")
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	for i, id := range []string{"a", "b", "c"} {
		r.publish(ingest.Item{ID: id, Body: article(1), Source: fmt.Sprint("来源", i)})
	}
	out := want[ingest.Outcome](r, 200, "DELETE", "/items/a?mode=promote&reason="+url.QueryEscape("更正 <错误>"), nil)
	if out.Event.Verdict != index.Withdrawn || !strings.Contains(out.Event.Why, "更正 <错误>") {
		t.Errorf("withdrawn: %+v", out.Event)
	}
	if it := want[index.Item](r, 200, "GET", "/items/b", nil); it.Event.Verdict != index.Unique || it.Event.Cause != index.CausePromotion {
		t.Errorf("oldest copy: %+v", it.Event)
	}
	want[ingest.Outcome](r, 200, "DELETE", "/items/b", nil)
	if out := r.publish(ingest.Item{ID: "d", Body: article(1)}); out.Event.Rule != index.ByBlocked {
		t.Errorf("a copy of something blocked: %+v", out.Event)
	}
	early := want[ingest.Outcome](r, 200, "DELETE", "/items?id=later", nil)
	if late := r.publish(ingest.Item{ID: "later", Body: article(5)}); early.Event.Verdict != index.Withdrawn || late.Event.Verdict != index.Withdrawn {
		t.Errorf("withdrawn before it came: %+v, then %+v", early.Event, late.Event)
	}
	before := r.events()
	for query, field := range map[string]string{"mode=burn": "mode", "revision=-1": "revision", "revision=x": "revision", "reason=" + strings.Repeat("x", 5000): "reason"} {
		p := refused[Problem](r, "DELETE", "/items/c?"+query, nil)
		if p.Field != field || p.Status != 400 && field != "reason" || p.Status != 413 && field == "reason" {
			t.Errorf("%.30s: %d, field %q, want %q", query, p.Status, p.Field, field)
		}
	}
	if r.events() != before {
		t.Error("a refused withdrawal changed something")
	}
	r.noDeadLetters()
}

// refused makes a request that must be refused as an error of the client.
func refused[T any](r *testService, method, path string, body any, header ...string) T {
	r.t.Helper()
	rep := r.do(method, path, body, header...)
	if rep.status < 400 || rep.status >= 500 || rep.header.Get("Content-Type") != problemType {
		r.t.Fatalf("%s %.80s: %d %s: %.300s", method, path, rep.status, rep.header.Get("Content-Type"), rep.body)
	}
	var v T
	testbed.OK(r.t, json.Unmarshal(rep.body, &v))
	return v
}

func TestCheck(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	items := sample(t, 60)
	for _, it := range items {
		before := r.events()
		checked := want[index.Event](r, 200, "POST", "/items/check", it)
		if r.events() != before {
			t.Fatalf("%s: a check changed something", it.ID)
		}
		if out := r.publish(it); out.Event.Verdict != checked.Verdict || out.Event.Of != checked.Of || out.Event.Rule != checked.Rule ||
			out.Event.Why != checked.Why {
			t.Errorf("%s: check said %v of %q, %s; publishing %v of %q, %s", it.ID, checked.Verdict, checked.Of, checked.Why, out.Event.Verdict, out.Event.Of,
				out.Event.Why)
		}
	}
	if e := want[index.Event](r, 200, "POST", "/items/check", map[string]string{"title": items[0].Title, "body": items[0].Body}); e.Verdict != index.Duplicate || e.Of != items[0].ID {
		t.Errorf("without id: %+v", e)
	}
}

// hostileIDs are ids that a faulty encoder or decoder might change.
var hostileIDs = []string{
	"a/b", "a%2Fb", "a//b", "/", "//", "/a", "a/", "..", ".", "../x", "a/../b", "check", "中文编号", "💥", "x?y#z", "a+b", "a b", " a ", "%", "%zz", "%00",
	`'"<script>`, "&amp;", "a;b=c", "a\\b", "\u00e9", "e\u0301", "\u202e反", "\ufeff", "\u00a0", "{id}", ":id", "*", strings.Repeat("长", 85), strings.Repeat("%", 256),
}

func TestItemIDs(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	for i, id := range hostileIDs {
		if out := r.publish(ingest.Item{ID: id, Title: fmt.Sprint(i), Body: article(i)}); out.Event.ID != id {
			t.Fatalf("%q became %q", id, out.Event.ID)
		}
	}
	for i, id := range hostileIDs {
		paths := []string{itemPath(id), "/items?id=" + url.QueryEscape(id)}
		if strings.Contains(id, "/") {
			paths = append(paths, "/items/"+strings.ReplaceAll(url.PathEscape(id), "%2F", "/"))
		}
		for _, path := range paths {
			if it := want[index.Item](r, 200, "GET", path, nil); it.ID != id || it.Title != fmt.Sprint(i) {
				t.Errorf("GET %s: %q, want %q", path, it.ID, id)
			}
		}

		if out := want[ingest.Outcome](r, 200, "DELETE", itemPath(id), nil); out.Event.ID != id || out.Event.Verdict != index.Withdrawn {
			t.Errorf("DELETE %q: %+v", id, out.Event)
		}
	}
}

// Every id that can be stored can be requested.
func TestAnyID(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true})
	handler := r.server.echo
	ids := rapid.StringOfN(rapid.RuneFrom(nil, unicode.Han, unicode.Latin, unicode.Punct, unicode.Space, unicode.Symbol), 1, 64, 256).
		Filter(func(id string) bool { return ingest.CheckID(id) == nil })
	rapid.Check(t, func(t *rapid.T) {
		id := ids.Draw(t, "id")
		for _, path := range []string{itemPath(id), "/items?id=" + url.QueryEscape(id)} {
			rec := httptest.NewRecorder()
			req, err := http.NewRequest("GET", "http://[::1]"+path, nil)
			testbed.OK(t, err)
			handler.ServeHTTP(rec, req)
			var p Problem
			if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || p.Detail != fmt.Sprintf("no item has the id %q", id) {
				t.Fatalf("GET %s: %s", path, rec.Body)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	long := strings.Repeat("x", 257)
	for _, c := range []struct {
		name, body string
		status     int
		field      string
	}{
		{"nothing", ``, 400, "payload"},
		{"no JSON", `hello`, 400, "payload"},
		{"half an object", `{"id":"a","body":"x"`, 400, "payload"},
		{"trailing garbage", `{"id":"a","body":"x"} x`, 400, "payload"},
		{"two objects", `{"id":"a","body":"x"}{"id":"b","body":"x"}`, 400, "payload"},
		{"a list", `[{"id":"a","body":"x"}]`, 400, "payload"},
		{"null", `null`, 400, "payload"},
		{"a string", `"x"`, 400, "payload"},
		{"not UTF-8", "{\"id\":\"a\",\"body\":\"\xff\xfe\"}", 400, "payload"},
		{"UTF-16", "\xff\xfe{\x00}\x00", 400, "payload"},
		{"raw control character", "{\"id\":\"a\",\"body\":\"\x01\"}", 400, "payload"},
		{"deep nesting", `{"id":"a","body":"x","y":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, 400, "payload"},
		{"no id", `{"body":"x"}`, 400, "id"},
		{"null id", `{"id":null,"body":"x"}`, 400, "id"},
		{"empty id", `{"id":"","body":"x"}`, 400, "id"},
		{"fraction id", `{"id":1.5,"body":"x"}`, 400, "id"},
		{"exponent id", `{"id":1e3,"body":"x"}`, 400, "id"},
		{"large number id", `{"id":99999999999999999999,"body":"x"}`, 400, "id"},
		{"boolean id", `{"id":true,"body":"x"}`, 400, "id"},
		{"object id", `{"id":{},"body":"x"}`, 400, "id"},
		{"long id", `{"id":"` + long + `","body":"x"}`, 413, "id"},
		{"lone surrogate in id", `{"id":"\ud83d","body":"x"}`, 400, "id"},
		{"reversed surrogates in id", `{"id":"\udca5\ud83d","body":"x"}`, 400, "id"},
		{"NUL in id", `{"id":"a\u0000","body":"x"}`, 400, "id"},
		{"newline in id", `{"id":"a\nb","body":"x"}`, 400, "id"},
		{"C1 control in id", `{"id":"a\u0085b","body":"x"}`, 400, "id"},
		{"no text", `{"id":"a"}`, 400, "body"},
		{"empty text", `{"id":"a","title":"","body":""}`, 400, "body"},
		{"number body", `{"id":"a","body":7}`, 400, "body"},
		{"list body", `{"id":"a","body":["x"]}`, 400, "body"},
		{"number title", `{"id":"a","title":7,"body":"x"}`, 400, "title"},
		{"object source", `{"id":"a","body":"x","source":{}}`, 400, "source"},
		{"long url", `{"id":"a","body":"x","url":"` + strings.Repeat("u", 5000) + `"}`, 413, "url"},
		{"time of another form", `{"id":"a","body":"x","published_at":"昨天"}`, 400, "published_at"},
		{"time as number", `{"id":"a","body":"x","published_at":1700000000}`, 400, "published_at"},
		{"time out of range", `{"id":"a","body":"x","published_at":"9999-12-31T23:59:59-23:00"}`, 400, "published_at"},
		{"negative revision", `{"id":"a","body":"x","revision":-1}`, 400, "revision"},
		{"fraction revision", `{"id":"a","body":"x","revision":1.5}`, 400, "revision"},
		{"text revision", `{"id":"a","body":"x","revision":"1"}`, 400, "revision"},
		{"600 KiB", `{"id":"a","body":"` + strings.Repeat("字", 200<<10) + `"}`, 413, "body"},
		{"1 MB of one character", `{"id":"a","body":"` + strings.Repeat("a", 1<<20) + `"}`, 413, "body"},
		{"title and body together", `{"id":"a","title":"` + strings.Repeat("a", 300<<10) + `","body":"` + strings.Repeat("a", 300<<10) + `"}`, 413, "body"},
		{"5 MiB of space", strings.Repeat(" ", 5<<20) + `{"id":"a","body":"x"}`, 413, "payload"},
	} {
		for _, path := range []string{"/items", "/items/check"} {
			if path == "/items/check" && (c.name == "no id" || c.name == "null id" || c.name == "time out of range") {
				continue // a check needs no id, and stores no time
			}
			p := refused[Problem](r, "POST", path, c.body)
			if p.Status != c.status || p.Field != c.field || !strings.HasPrefix(p.Detail, c.field+" ") || len(p.Detail) > 300 {
				t.Errorf("%s to %s: %d, field %q, %q; want %d and %q", c.name, path, p.Status, p.Field, p.Detail, c.status, c.field)
			}
		}
	}
	if r.events() != 0 {
		t.Errorf("%d events from refused items", r.events())
	}
	r.noDeadLetters()
}

// Unusual but valid items are accepted.
func TestOddItems(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	for name, body := range map[string]string{
		"empty-looking":      `{"id":"a","title":"  ","body":" \n "}`,
		"emoji":              `{"id":"b","body":"😀😀😀"}`,
		"NUL":                `{"id":"c","body":"a\u0000b"}`,
		"lone surrogate":     `{"id":"d","body":"半个\ud83d表情"}`,
		"full text":          `{"id":"e","body":"` + strings.Repeat("字", ingest.MaxText/3) + `"}`,
		"full text, escaped": `{"id":"f","body":"` + strings.Repeat(`\u0001`, ingest.MaxText) + `"}`,
		"angle brackets":     `{"id":"g","body":"` + strings.Repeat(`<`, ingest.MaxText) + `"}`,
		"HTML, nested":       `{"id":"h","body":"` + strings.Repeat(`<b><div>`, 30000) + `终"}`,
		"HTML, entities":     `{"id":"i","body":"` + strings.Repeat(`&nbsp;`, 80000) + `"}`,
		"HTML, one tag":      `{"id":"j","body":"<a ` + strings.Repeat(`x=y `, 100000) + `>z</a>"}`,
		"nulls":              `{"id":"l","title":null,"body":"x","source":null,"url":null,"published_at":null,"revision":null}`,
		"old":                `{"id":"m","body":"x","published_at":"0001-01-01T00:00:00Z"}`,
		"least number":       `{"id":-9223372036854775808,"body":"x"}`,
		"greatest revision":  `{"id":"n","body":"x","revision":9223372036854775807}`,
	} {
		rep := r.do("POST", "/items", body, "Content-Type", "text/plain; charset=gbk")
		var out ingest.Outcome
		if err := json.Unmarshal(rep.body, &out); err != nil || rep.status != 200 || out.Event == nil {
			t.Errorf("%s: %d %.200s", name, rep.status, rep.body)
			continue
		}
		if rep := r.do("GET", itemPath(out.Event.ID), nil); rep.status != 200 {
			t.Errorf("%s: looked up: %d %.200s", name, rep.status, rep.body)
		}
	}
}

// A verdict that is late does not lose the item.
func TestPending(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true, api: func(c *Config) { c.Wait = time.Second }}) // the bus stores it earlier
	rep := r.do("POST", "/items", ingest.Item{ID: "慢/稿", Body: article(1)})
	if rep.status != 202 || rep.header.Get("Location") != itemPath("慢/稿") {
		t.Fatalf("%d, Location %q: %s", rep.status, rep.header.Get("Location"), rep.body)
	}
	if rep := r.do("GET", itemPath("慢/稿"), nil); rep.status != 404 {
		t.Errorf("before its verdict: %d", rep.status)
	}
	r.Run()
	eventually(t, "the item has its verdict", func() bool { return r.do("GET", rep.header.Get("Location"), nil).status == 200 })
}

func TestFullStream(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true, ingest: func(c *ingest.Config) { c.Streams.Bytes = 16 << 10 }})
	js, err := jetstream.New(r.Conn)
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = js.Publish(t.Context(), bus.SubjectPublish, encodeItem(&ingest.Item{ID: fmt.Sprint(n), Body: article(n)}))
	}
	late := ingest.Item{ID: fmt.Sprint(n), Body: article(n) + article(n)}
	if rep := r.do("POST", "/items", late); rep.status != 429 || rep.header.Get("Retry-After") == "" || n < 2 {
		t.Errorf("after %d items and %v: %d %s", n, err, rep.status, rep.body)
	}
	r.Run()
	eventually(t, "the stream has space again", func() bool { return r.do("POST", "/items", late).status == 200 })
}

// TestBehindFeed: a publisher beside a bulk import waits behind what the service works on, and not behind thousands.
func TestBehindFeed(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true})
	feed, err := ingest.NewFeed(r.Conn)
	testbed.OK(t, err)
	js, err := jetstream.New(r.Conn)
	testbed.OK(t, err)
	var added sync.WaitGroup
	defer added.Wait()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	added.Go(func() {
		for n := 0; n < 3000 && feed.Add(ctx, fmt.Appendf(nil, `{"id":%d,"body":"x"}`, n), func(*ingest.Outcome, error) {}) == nil; n++ {
		}
	})
	stored := func() uint64 {
		s, err := js.Stream(ctx, bus.StreamItems)
		testbed.OK(t, err)
		return s.CachedInfo().State.Msgs
	}
	for last := uint64(0); last < 512 || last != stored(); time.Sleep(50 * time.Millisecond) {
		last = stored()
	}
	if a, err := js.Publish(ctx, bus.SubjectPublish, []byte(`{"id":"late","body":"x"}`)); err != nil || a.Sequence > 600 {
		t.Errorf("%+v %v", a, err)
	}
}

func TestNoBus(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true, api: func(c *Config) {
		c.Ready = map[string]func() error{"moon": func() error { return errors.New("not full") }}
	}})
	ready := want[readiness](r, 503, "GET", "/readyz", nil)
	if ready.Ready || ready.Parts["moon"] != "not full" || ready.Parts["bus"] != "ok" {
		t.Errorf("ready: %+v", ready)
	}
	r.Bus.Close()
	eventually(t, "the bus is gone", func() bool { return r.server.busReady() != nil })
	if p := want[Problem](r, 503, "POST", "/items", ingest.Item{ID: "a", Body: "x"}); p.Detail == "" {
		t.Errorf("publish: %+v", p)
	}
	if ready := want[readiness](r, 503, "GET", "/readyz", nil); ready.Parts["bus"] == "ok" {
		t.Errorf("ready: %+v", ready)
	}
	// Reading does not need the bus.
	want[[]index.Event](r, 200, "GET", "/verdicts", nil)
}

// Why explains a verdict, or any two items.
func TestWhy(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	first := ingest.Item{ID: "首发", Title: "水库", Body: article(1)}
	for _, it := range []ingest.Item{first, {ID: "转载", Title: "水库泄洪", Body: article(1) + "\n（责任编辑：张三）"}, {ID: "别的", Body: article(2)}} {
		if rep := r.do("POST", "/items", it); rep.status != 200 {
			t.Fatalf("%d: %s", rep.status, rep.body)
		}
	}
	explain := func(id, why string, status int) (e ingest.Explanation) {
		t.Helper()
		rep := r.do("GET", itemPath(id)+"?why="+url.QueryEscape(why), nil)
		if rep.status != status {
			t.Fatalf("%s?why=%s: %d: %s", id, why, rep.status, rep.body)
		}
		var body struct{ Explanation ingest.Explanation }
		if status == 200 {
			testbed.OK(t, json.Unmarshal(rep.body, &body))
		}
		return body.Explanation
	}
	if e := explain("转载", "", 200); e.Verdict != index.Duplicate || e.Earlier.ID != "首发" || e.Query.ID != "转载" {
		t.Errorf("%+v", e)
	}
	// The later item is the query, in either order of the ids.
	if e := explain("首发", "别的", 200); e.Verdict != index.Unique || e.Query.ID != "别的" {
		t.Errorf("%+v", e)
	}
	if p := want[Problem](r, 400, "GET", itemPath("首发")+"?why=", nil); p.Field != "why" || !strings.HasPrefix(p.Detail, "why is empty") {
		t.Errorf("%+v", p)
	}
	explain("转载", "没有", 404)
	if p := want[Problem](r, 413, "GET", itemPath("首发")+"?why="+strings.Repeat("a", 257), nil); p.Field != "why" || !strings.HasPrefix(p.Detail, "why has 257 bytes") {
		t.Errorf("%+v", p)
	}

	// A source may have a strictness of its own.
	strict := index.SourcePolicy{Source: "丙网", Policy: index.SourceNormal, Strictness: verdict.Strictnesses[2], By: "张三"}
	if _, err := r.Index.EditNow(t.Context(), &index.Edit{Source: &strict}); err != nil {
		t.Fatal(err)
	}
	e := r.publish(ingest.Item{ID: "续写", Source: "丙网", Body: article(1) + "\n" + article(3)}).Event
	if x := explain("续写", "首发", 200); x.Policy != e.Policy || x.Policy == r.Index.Policy().Hash() {
		t.Errorf("explained by policy %s, judged by %s", x.Policy, e.Policy)
	}
}
