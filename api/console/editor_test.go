//go:build !race

package console_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// desk is a day at an editor's desk: articles of several sources, each with its copies.
func desk(t *testing.T) *service {
	t.Helper()
	r := start(t, func(c *serviceConfig) {
		onTheBus(c)
		c.Corpus = []byte{} // nothing else
	})
	ago := func(hours int) *time.Time {
		at := time.Now().Add(-time.Duration(hours) * time.Hour).Truncate(time.Minute)
		return &at
	}
	text := village(7)
	changed := strings.ReplaceAll(text, "船工", "老船工")
	wide := strings.Repeat("W", 3000)
	for _, it := range []ingest.Item{
		{ID: "tide", Title: "潮声里的渔村", Source: "潮声报", URL: "https://example.org/tide", Published: ago(5), Body: text},
		{ID: "fast", Title: "原标题：渔村的潮声", Source: "快转网", Published: ago(3), Body: changed},
		{ID: "again", Title: "原标题：渔村的潮声", Source: "再转网", Published: ago(2), Body: strings.ReplaceAll(changed, "，", "， ")},
		{ID: "nine", Title: "九条船", Source: "快转网", Body: strings.Replace(text, "今天停了7条船", "今天停了99条船", 1)},
		{ID: "timeless", Title: "潮声", Source: "无时网", Body: strings.ReplaceAll(text, "说起了", "讲起了")},
		{ID: "first", Title: "渔村旧事", Source: "早报", Published: ago(9), Body: strings.ReplaceAll(text, "码头", "旧码头")},
		{ID: "other", Title: "山村见闻", Source: "山风报", Published: ago(8), Body: village(400)},
		{ID: "ours", Title: "山村见闻录", Source: "潮声报", Published: ago(4), Body: strings.ReplaceAll(village(400), "船工", "老船工")},
		{ID: "wide", Title: wide, Source: wide, Body: "一篇标题没有空格的稿件。" + wide + village(900)},
		{ID: "base-60", Title: "渔村见闻之60", Source: "见闻网", Body: village(60)}, longer(60),
		{ID: "base-61", Title: "渔村见闻之61", Source: "见闻网", Body: village(61)}, longer(61),
	} {
		submit(t, r, it)
	}
	for id, want := range map[string]index.Verdict{"fast": index.Duplicate, "again": index.Duplicate, "timeless": index.Duplicate, "first": index.Duplicate, "ours": index.Duplicate, "more-60": index.Suspect, "more-61": index.Suspect} {
		if got := verdict(t, r, id); got != want {
			t.Fatalf("%s is %v", id, got)
		}
	}
	return r
}

// TestEditor is what an editor needs to trust a page, each on the desk.
func TestEditor(t *testing.T) {
	t.Parallel()
	r := desk(t)
	b := open(t, r, 1440, 900)
	b.signIn("jg_lin_secret-token-1", "/")
	compare := func(id string) { b.to("/console/item?id=" + id) }

	t.Run("who was first", func(t *testing.T) {
		compare("fast")
		b.seen(".heads .a", "潮声报")
		b.seen(".heads .a", "早 2 小时")
		b.seen(".heads .b", "快转网")
		if b.text(".late") != "" {
			t.Errorf("warned that %q", b.text(".late"))
		}
		compare("first")
		b.seen(".heads .late", "晚 4 小时")
		b.seen(".problem.late", "本稿发布得更早")
		compare("timeless")
		b.seen(".heads .when", "时间不足")
	})
	t.Run("the text it equals", func(t *testing.T) {
		compare("again")
		b.seen(".verdict", "同文")
		b.until(`document.querySelector(".heads .a .headline").title === "fast"`)
		b.seen(".verdict", "潮声里的渔村") // the lead of its story, which differs
		b.seen(".legend", "完全相同")
		if got := b.text("h1"); got != "渔村的潮声" {
			t.Errorf("the headline is %q", got)
		}
	})
	t.Run("differences by key", func(t *testing.T) {
		b.to("/console/compare?a=tide&b=nine")
		b.key("c")
		b.seen(".here.figure", "99")
		b.key("d")
		b.until(`document.querySelectorAll(".here").length > 0`)
		compare("fast")
		b.script(`scrollTo(0, document.body.scrollHeight)`)
		b.until(`(() => { const h = document.querySelector(".heads").getBoundingClientRect(), a = document.querySelector(".acts").getBoundingClientRect();
			return a.top >= 0 && h.top >= a.bottom - 2 && h.bottom < innerHeight || document.documentElement.scrollHeight <= innerHeight * 2 })()`)
	})
	t.Run("the answer to the author", func(t *testing.T) {
		compare("fast")
		b.script(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }`)
		b.key("y")
		b.until(`!!window.copied && document.querySelector("[data-key=y]").dataset.done === "已复制"`)
		for _, want := range []string{"《渔村的潮声》", "快转网", "《潮声里的渔村》", "潮声报", "%", "https://example.org/tide", "没有发布"} {
			if copied := eval[string](b, "window.copied"); !strings.Contains(copied, want) {
				t.Errorf("the answer has no %q: %s", want, copied)
			}
		}
	})
	t.Run("a pair of sources leads to its copies", func(t *testing.T) {
		b.to("/console/sources")
		b.click(`.pairs li a[href*="name=%e5%bf%ab%e8%bd%ac%e7%bd%91" i]`)
		b.seen("h1", "快转网")
		b.seen("tbody", "潮声里的渔村")
		b.seen("tbody", "渔村的潮声")
	})
	t.Run("times", func(t *testing.T) {
		fast, err := r.Index.Item(t.Context(), "fast")
		testbed.OK(t, err)
		b.to("/console/cluster?id=" + itoa(fast.Event.Cluster))
		b.seen(".facts", "疑为原创")
		b.seen(".facts", "早报")
	})
	t.Run("a headline without breaks", func(t *testing.T) {
		for _, width := range []int64{1440, 390} {
			b.do(chromedp.EmulateViewport(width, 900))
			for _, path := range []string{"/", "/console/item?id=wide", "/console/compare?a=wide&b=tide&lang=en", "/console/search?q=wide&lang=zh", "/console/sources"} {
				b.to(path)
				if strings.Contains(path, "compare") && !eval[bool](b, `[...document.querySelectorAll(".heads time")].every(e => e.scrollWidth <= e.parentElement.clientWidth) && document.querySelector(".headline").checkVisibility()`) {
					t.Errorf("%s at %d does not say what it compares: %q", path, width, b.text(".heads"))
				}
				if over := eval[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("%s is %d pixels wider than %d", path, over, width)
				}
			}
		}
		b.do(chromedp.EmulateViewport(1440, 900))
	})
	t.Run("an input method", func(t *testing.T) {
		b.to("/console/suspects?at=more-60")
		b.script(`document.querySelector(".actbar input[name=reason]").focus()`)
		for _, text := range []string{"a", "an", "安"} {
			if _, err := chromedp.Call(b.ctx, input.ImeSetComposition, input.ImeSetCompositionParams{Text: text, SelectionStart: int64(len([]rune(text))), SelectionEnd: int64(len([]rune(text)))}); err != nil {
				t.Fatal(err)
			}
			b.script(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "a", keyCode: 229, isComposing: true, bubbles: true}))`)
		}
		if _, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: "安全"}); err != nil {
			t.Fatal(err)
		}
		if got := eval[string](b, `document.querySelector(".actbar input[name=reason]").value`); got != "安全" {
			t.Errorf("composed, the reason is %q", got)
		}
		if got := verdict(t, r, "more-60"); got != index.Suspect {
			t.Errorf("composing decided: %v", got)
		}
	})
	t.Run("nothing moves under the pointer", func(t *testing.T) {
		b.to("/console/suspects?source=" + url.QueryEscape("补记网"))
		top := eval[float64](b, `document.querySelector(".actbar").getBoundingClientRect().top`)
		b.key("a")
		b.shown(".notice")
		if now := eval[float64](b, `document.querySelector(".actbar").getBoundingClientRect().top`); now != top {
			t.Errorf("the buttons moved from %v to %v", top, now)
		}
		// Another editor decides about what is open: it stays open.
		id := eval[string](b, `document.querySelector(".actbar input[name=item]").value`)
		if _, err := r.Index.EditNow(t.Context(), &index.Edit{Decision: &index.DecisionRequest{Kind: index.Release, Item: id, By: "吴编辑", Reason: "独家"}}); err != nil {
			t.Fatal(err)
		}
		b.key("r")
		b.seen(".notice.conflict", "吴编辑")
		b.until(`document.querySelector(".bench h2 a").getAttribute("href").endsWith("` + id + `")`)
		b.seen(".actbar", "已经有了结论")
		// A decision reads as one: who, what, why.
		compare(id)
		b.seen(".log", "吴编辑 放行：独家")
		b.to("/console/decisions?by=" + url.QueryEscape("吴编辑"))
		b.seen(".log", "吴编辑")
		if strings.Contains(b.text(".log"), "林编辑") {
			t.Errorf("the list of one editor: %q", b.text(".log"))
		}
		b.to("/console/decisions?kind=reject")
		b.seen(".card", "还没有决定")
	})
}

// TestWrongInput: what cannot be answered is said in the reader's language, beside the field, and the
// input stays.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	r := start(t)
	cookie := session(t, r, "jg_lin_secret-token-1")
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{
		{"/console/item?id=nobody", 404, "没有这个编号"},
		{"/console/cluster?id=999999", 404, "没有这个编号"},
		{"/console/cluster?id=0", 404, "没有这个编号"},
		{"/console/story?id=x", 400, "没有这个编号"},
		{"/console/suspects?at=nobody", 404, "没有这个编号"},
		{"/console/xyz", 404, "没有这一页"},
		{"/console/clusters?size=" + url.QueryEscape("五"), 400, "这里要填一个数字"},
		{"/console/clusters?size=" + url.QueryEscape("五"), 400, `value="五"`},
		{"/console/clusters?size=" + url.QueryEscape("五") + "&lang=en", 400, "This wants a number"},
		{"/console/clusters?cursor=x", 400, "请求有误"},
		{"/console/clusters?since=3000000", 200, `href="/console/cluster?id=`},
		{"/console/decisions?since=" + url.QueryEscape("昨天"), 400, "请填日期"},
		{"/console/into?cluster=1&into=1", 400, "它已经在这个同文组里"},
		{"/console/into?cluster=1&into=99999", 400, "没有编号为 99999 的同文组"},
		{"/console/into?cluster=1&into=" + url.QueryEscape("一"), 400, `value="一"`},
	} {
		resp, page := get(t, r, c.path, cookie)
		if resp.StatusCode != c.status || !strings.Contains(html.UnescapeString(page), c.says) || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d, without %q", c.path, resp.StatusCode, c.says)
		}
	}
	_, page := get(t, r, "/console/item?id=nobody", cookie)
	if strings.Contains(page, "首发") {
		t.Error("an unknown id reads as a verdict")
	}
	// Nothing picked is a sentence on the page of the story.
	_, story := get(t, r, "/console/cluster?id=1", cookie)
	form := url.Values{"form": {formToken(t, story)}, "to": {"/console/cluster?id=1"}, "several": {"1"}, "kind": {"release"}}
	resp, _ := post(t, r, "/console/decide", form, cookie)
	if _, page := get(t, r, resp.Header.Get("Location"), cookie); !strings.Contains(page, "没有勾选任何一篇") {
		t.Errorf("nothing was picked: %s", resp.Header.Get("Location"))
	}
	form = url.Values{"form": form["form"], "to": {"/"}, "kind": {"block"}, "cluster": {"4294967297"}}
	if resp, _ := post(t, r, "/console/decide", form, cookie); resp.StatusCode != 404 {
		t.Errorf("a number beyond those of clusters: %s, to %s", resp.Status, resp.Header.Get("Location"))
	}
}

// TestChain: a story shows what its later telling added and who copied the first. A release leaves that one there; an editor
// splits it off and joins it again, and the undo of the notice takes either back.
func TestChain(t *testing.T) {
	t.Parallel()
	r := start(t)
	more := longer(700)
	for _, it := range []ingest.Item{{ID: "first", Title: "渔村首报", Source: "甲报", Body: village(700)},
		{ID: "again", Title: "渔村首报", Source: "乙网", Body: village(700)}, more} {
		submit(t, r, it)
	}
	cookie := session(t, r, "jg_lin_secret-token-1")
	it, err := r.Index.Item(t.Context(), more.ID)
	if err != nil || it.Event.Verdict != index.Suspect || len(it.Event.Facts.New.Quotes) == 0 {
		t.Fatalf("%+v %v", it, err)
	}
	address := fmt.Sprint("/console/story?id=", it.Event.Cluster)
	shows := func(tellings int) (page string) {
		t.Helper()
		_, page = get(t, r, address, cookie)
		if n := strings.Count(page, `<li class="card">`); n != tellings {
			t.Fatalf("%d tellings, want %d:\n%s", n, tellings, page)
		}
		return page
	}
	page := shows(2)
	for _, says := range []string{"渔村首报", "副本 1 篇", "乙网", it.Event.Facts.New.Quotes[0] + "</ins>", "拆出"} {
		if !strings.Contains(page, says) {
			t.Errorf("the chain does not say %q:\n%s", says, page)
		}
	}
	_, english := get(t, r, address+"&lang=en", cookie)
	if !strings.Contains(english, "Split off") || !strings.Contains(english, "Judged against") {
		t.Errorf("in English:\n%s", english)
	}
	token := formToken(t, page)
	decide := func(form url.Values) (page string) {
		t.Helper()
		form.Set("form", token)
		form.Set("to", address)
		resp, _ := post(t, r, "/console/decide", form, cookie)
		_, page = get(t, r, resp.Header.Get("Location"), cookie)
		return page
	}
	undo := func(page string) {
		t.Helper()
		number := regexp.MustCompile(`name="undo" value="(\d+)"`).FindStringSubmatch(page)
		if number == nil {
			t.Fatalf("no undo:\n%s", page)
		}
		decide(url.Values{"kind": {"undo"}, "undo": number[1:]})
	}
	decide(url.Values{"kind": {"release"}, "item": {more.ID}})
	shows(2) // published, and where it was
	cluster := fmt.Sprint(it.Event.Cluster)
	page = decide(url.Values{"kind": {"split"}, "cluster": {cluster}})
	shows(1)
	undo(page)
	shows(2)
	decide(url.Values{"kind": {"split"}, "cluster": {cluster}})

	first, err := r.Index.Item(t.Context(), it.Event.Of)
	testbed.OK(t, err)
	into := fmt.Sprint(first.Event.Cluster)
	_, page = get(t, r, "/console/into?cluster="+cluster+"&into="+into, cookie)
	if !strings.Contains(page, `value="join">归为一个故事`) || !strings.Contains(page, `value="merge">并入`) {
		t.Errorf("the two cannot be joined:\n%s", page)
	}
	page = decide(url.Values{"kind": {"join"}, "cluster": {cluster}, "into": {into}})
	if joined := shows(2); !strings.Contains(joined, it.Event.Facts.New.Quotes[0]+"</ins>") {
		t.Errorf("what the joined one adds is missing:\n%s", joined)
	}
	if _, page := get(t, r, "/console/into?cluster="+cluster+"&into="+into, cookie); strings.Contains(page, `value="join"`) {
		t.Errorf("two of one story can be joined:\n%s", page)
	}
	undo(page)
	shows(1)
	decide(url.Values{"kind": {"join"}, "cluster": {cluster}, "into": {"1"}}) // never judged against that one
	if joined := shows(2); !regexp.MustCompile(`<p>新增 [78]\d\d 字</p>`).MatchString(joined) {
		t.Errorf("what the joined one adds is missing:\n%s", joined)
	}
}
