//go:build !race

package console_test

import (
	"compress/gzip"
	"fmt"
	"html"
	"io"
	"maps"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

func TestPages(t *testing.T) {
	t.Parallel()
	r := start(t)
	ops := session(t, r, "jg_ops_secret-token-3")
	b := open(t, r, 1280, 900)
	b.signIn("jg_ops_secret-token-3", "/")
	phone := open(t, r, 375, 740)
	phone.signIn("jg_ops_secret-token-3", "/")
	for _, p := range pages {
		join := "?"
		if strings.Contains(p.path, "?") {
			join = "&"
		}
		for lang, want := range map[string]string{"zh": p.zh, "en": p.en} {
			b.to(p.path + join + "lang=" + lang)
			if got := b.text("main"); !strings.Contains(got, want) {
				t.Errorf("%s in %s does not say %q:\n%s", p.path, lang, want, got)
			}
			if got := eval[string](b, "document.documentElement.lang"); !strings.HasPrefix(got, lang) {
				t.Errorf("%s: lang is %q", p.path, got)
			}
			// Screen readers need one heading, and names for all controls.
			if n := eval[int](b, "document.querySelectorAll('h1').length"); n != 1 {
				t.Errorf("%s has %d headings of the first level", p.path, n)
			}
			nameless := eval[int](b, `[...document.querySelectorAll("main input:not([type=hidden]), main select, main button, main a")]
				.filter(e => !(e.textContent||"").trim() && !e.ariaLabel && !e.placeholder && !(e.labels && e.labels.length)).length`)
			if nameless > 0 {
				t.Errorf("%s has %d controls without a name", p.path, nameless)
			}
			rows := eval[int](b, `new Set([...document.querySelectorAll(".queue form.filters > *")].map(e => e.offsetTop + e.offsetHeight / 2 | 0)).size`)
			if rows > 1 || eval[bool](b, `[...document.querySelectorAll(".queue form.filters")].some(f => f.scrollWidth > f.clientWidth)`) {
				t.Errorf("%s in %s: the filters of the queue take %d rows", p.path, lang, rows)
			}
			if testing.Short() && lang == "zh" { // English words are longer
				continue
			}
			phone.to(p.path + join + "lang=" + lang)
			if over := eval[int](phone, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
				t.Errorf("%s in %s is %d pixels too wide for a phone", p.path, lang, over)
			}
		}
		resp, body := get(t, r, p.path, ops)
		if n := len(body); n > 60<<10 {
			t.Errorf("%s has %d bytes", p.path, n)
		}
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", p.path, csp)
		}
	}
}

// TestAxe: axe finds nothing on any page, in either language and theme. The short tier shows it each
// page once; languages and themes take turns.
func TestAxe(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/axe/axe.min.js.gz")
	testbed.OK(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	testbed.OK(t, err)
	axe, err := io.ReadAll(z)
	testbed.OK(t, err)
	r := start(t)
	b := open(t, r, 1280, 900)
	b.signIn("jg_ops_secret-token-3", "/")
	for i, p := range pages {
		for k, lang := range []string{"zh", "en"} {
			if testing.Short() && k != i%2 {
				continue
			}
			theme, runs := "light", `[{}, {runOnly: ["color-contrast", "link-in-text-block"]}]` // the other theme differs in nothing but colours
			if testing.Short() {
				theme, runs = []string{"light", "dark"}[i/2%2], `[{}]`
			}
			path := p.path + map[bool]string{true: "&", false: "?"}[strings.Contains(p.path, "?")] + "theme=" + theme + "&lang=" + lang
			b.to(path)
			b.script(string(axe))
			b.script(`window.found = null; (async () => { const found = []
				for (const options of ` + runs + `) {
					const r = await axe.run(document, {resultTypes: ["violations"], ...options})
					found.push(...r.violations.map((v) => document.documentElement.dataset.theme + " " + v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))
					document.documentElement.dataset.theme = "dark"
				}
				window.found = found })()`)
			b.until(`window.found !== null`)
			for _, found := range eval[[]string](b, `window.found`) {
				t.Errorf("%s: %s", path, found)
			}
		}
	}
}

func TestDark(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/")
	light := eval[string](b, "getComputedStyle(document.documentElement).backgroundColor")
	b.click(".me a[href*=theme]")
	b.until(`document.documentElement.dataset.theme === "dark"`)
	b.to("/console/item?id=kiln-reword")
	if dark := eval[string](b, "getComputedStyle(document.documentElement).backgroundColor"); dark == light {
		t.Errorf("dark is %s, as light is", dark)
	}
}

// TestHeader: what stands above every page is one row on a laptop, in either language.
func TestHeader(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 1024, 768)
	b.signIn("jg_ops_secret-token-3", "/")
	for _, language := range []string{"zh", "en"} {
		b.to("/?lang=" + language)
		b.until(`document.readyState === "complete"`)
		if high := eval[int](b, `document.querySelector("header.bar").offsetHeight`); high > 60 {
			t.Errorf("%s: it is %d pixels high", language, high)
		}
	}
}

// TestTabsOnAPhone: the queue scrolls to its open row, and still offers the other queues above it.
func TestTabsOnAPhone(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 390, 844)
	b.signIn("jg_lin_secret-token-1", "/console/suspects")
	b.until(`document.readyState === "complete"`)
	const top = `document.querySelector(".queue aside%s").getBoundingClientRect().%s`
	list, tabs, under, row := eval[float64](b, fmt.Sprintf(top, "", "top")), eval[float64](b, fmt.Sprintf(top, " .tabs", "top")),
		eval[float64](b, fmt.Sprintf(top, " .tabs", "bottom")), eval[float64](b, fmt.Sprintf(top, " ol [aria-current]", "top"))
	if tabs < list || row < under {
		t.Errorf("the list begins at %v, its tabs go from %v to %v, the open row begins at %v", list, tabs, under, row)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/")
	find := func(what string) {
		t.Helper()
		b.to("/")
		b.key("/")
		b.until(`document.activeElement.id === "q"`)
		b.script(`document.activeElement.value = ""`) // the driver types what a browser would not
		b.enter("#q", what+"\r")
	}
	t.Run("id", func(t *testing.T) {
		find("fishpond")
		b.seen("h1", "鱼塘承包十年后被收回")
	})
	t.Run("address", func(t *testing.T) {
		find("http://www.haijia-met.example.cn/2025/0609/07.html?utm_source=x")
		b.seen("main", "台风“青鸾”今晨登陆")
	})
	t.Run("two characters", func(t *testing.T) {
		find("鱼塘")
		b.seen("main .title", "鱼塘承包十年后被收回")
	})
	t.Run("a name no dictionary has", func(t *testing.T) {
		find("海岬")
		b.seen("main .title", "海岬")
	})
	t.Run("traditional characters", func(t *testing.T) {
		find("魚塘")
		b.seen("main .title", "鱼塘承包十年后被收回")
	})
	t.Run("deep in a text", func(t *testing.T) {
		submit(t, r, ingest.Item{ID: "long", Title: "一篇长稿", Body: strings.Repeat("河边的芦苇荡里飞来了一群白鹭。", 600) + "最后提到掌山瀑布管理局的公告，以及岬滩村。"})
		for _, word := range []string{"掌山", "瀑布", "管理", "公告", "岬滩"} { // alone, inside a longer word, in no dictionary
			find(word)
			b.seen("main .title", "一篇长稿")
		}
	})
	t.Run("the text of a rejected copy", func(t *testing.T) {
		it, err := r.Index.Item(t.Context(), "kiln-reword")
		testbed.OK(t, err)
		b.to("/")
		b.script(`document.querySelector("#q").value = ` + strconv.Quote(it.Title+"\n\n"+*it.Body))
		b.enter("#q", "\r")
		b.seen("main", "这段文字出现在这些稿件里") // three articles have it
		b.click(`main a[href="/console/item?id=kiln-reword"]`)
		b.shown(`button[value="release"]`)
	})
	t.Run("nothing", func(t *testing.T) {
		find("量子纠缠鲸鱼")
		b.seen("main", "未收录") // and not that it is the first
	})
	t.Run("the middle of a text", func(t *testing.T) {
		it, err := r.Index.Item(t.Context(), "fishpond")
		testbed.OK(t, err)
		text := []rune(*it.Body)
		b.to("/console/search?q=" + url.QueryEscape(string(text[len(text)/3:len(text)*2/3])))
		b.seen("main", "鱼塘承包十年后被收回")
	})
}

func TestStories(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/clusters?sort=size")
	t.Run("pages do not shift", func(t *testing.T) {
		first := eval[[]string](b, `[...document.querySelectorAll("tbody .title")].map(e => e.href)`)
		next := eval[string](b, `document.querySelector("a[rel=next]").href`)
		// Copies that arrive meanwhile must not move rows of this page to the next one.
		for i := range 3 {
			it, err := r.Index.Item(t.Context(), "fishpond")
			testbed.OK(t, err)
			submit(t, r, ingest.Item{ID: "late-" + string(rune('a'+i)), Title: it.Title, Body: *it.Body, Source: "新来源"})
		}
		b.do(chromedp.Navigate(next))
		for _, href := range eval[[]string](b, `[...document.querySelectorAll("tbody .title")].map(e => e.href)`) {
			for _, seen := range first {
				if href == seen {
					t.Errorf("%s is on both pages", href)
				}
			}
		}
	})
	t.Run("filters", func(t *testing.T) {
		b.to("/console/clusters?source=" + url.QueryEscape("新来源"))
		if n := eval[int](b, `document.querySelectorAll("tbody .title").length`); n != 1 {
			t.Errorf("%d stories have the new source", n)
		}
		b.to("/console/clusters?words=" + url.QueryEscape("鱼塘"))
		b.seen("tbody .title", "鱼塘承包十年后被收回")
	})
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	const attack = `</title><script>window.pwned=1</script><img src=x onerror="window.pwned=2">`
	body := attack + "\u202e\u2066 <svg onload=window.pwned=3> javascript:alert(1) {{.}} " + strings.Repeat("这是一篇很长很长的稿件，内容没有任何意义。", 8000)
	submit(t, r, ingest.Item{ID: `h"><script>window.pwned=4</script>`, Title: attack + "\u202e倒写", Source: attack, URL: "javascript:window.pwned=5", Body: body})
	submit(t, r, ingest.Item{ID: "hostile copy", Title: "又一篇" + strings.Repeat("\u0301", 500), Source: "=HYPERLINK(1)", Body: strings.Replace(body, "没有任何", "毫无", 3)})
	b := open(t, r, 1280, 900)
	id := url.QueryEscape(`h"><script>window.pwned=4</script>`)
	b.signIn("jg_lin_secret-token-1", "/console/item?id="+id)
	for _, path := range []string{"/console/item?id=" + id, "/console/item?id=hostile+copy", "/console/compare?a=" + id + "&b=hostile+copy", "/", "/console/clusters?sort=last",
		"/console/sources", "/console/search?q=" + url.QueryEscape(attack), "/console/suspects", "/console/review", "/console/cluster?id=1", "/console/story?id=1",
		"/console/source?name=" + url.QueryEscape(attack), "/console/decisions"} {
		b.to(path)
		b.until(`document.readyState === "complete"`)
		if eval[bool](b, "window.pwned !== undefined") {
			t.Fatalf("%s ran a script of an article", path)
		}
		if n := eval[int](b, `document.querySelectorAll("main script, main img, main [onload], main [onerror], main a[href^=javascript]").length`); n > 0 {
			t.Errorf("%s has %d elements of an article", path, n)
		}
	}
	b.to("/console/item?id=" + id)
	b.seen("h1", "<script>")
	_, page := get(t, r, "/console/item?id="+id, session(t, r, "jg_lin_secret-token-1"))
	if n := len(page); n > 160<<10 {
		t.Errorf("an article of %d bytes makes a page of %d", len(body), n)
	}
}

// TestLongTitles: a title may be as long as an item.
func TestLongTitles(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	title := strings.Repeat("这是一个很长很长的标题，内容没有任何意义。", 8000)
	for n, id := range []string{"long", "long2", "long3"} {
		submit(t, r, ingest.Item{ID: id, Title: title[3*n:], Source: "长", Body: village(1)})
	}
	c := session(t, r, "jg_lin_secret-token-1")
	it, err := r.Index.Item(t.Context(), "long")
	if err != nil || verdict(t, r, "long3") == index.Unique {
		t.Fatal("no copies", err)
	}
	cluster := fmt.Sprint(it.Event.Cluster)
	for _, path := range []string{"/", "/console/clusters?sort=last", "/console/cluster?id=" + cluster, "/console/story?id=" + cluster, "/console/item?id=long3", "/console/compare?a=long&b=long2"} {
		_, page := get(t, r, path, c)
		if n := len(page); n > 200<<10 {
			t.Errorf("%s: titles of %d bytes make a page of %d", path, len(title), n)
		}
		if strings.Contains(path, "compare") && !strings.Contains(page, "只比较了前 20,000 字") {
			t.Errorf("%s does not say that it compares a part", path)
		}
	}
	source := strings.Repeat("很长的来源名", 50)
	submit(t, r, ingest.Item{ID: "source", Source: source, Body: village(2)})
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/source?name="+url.QueryEscape(source))
	if high := eval[int](b, `document.querySelector("h1").offsetHeight`); high > 120 {
		t.Errorf("the heading of a source is %d pixels high", high)
	}
}

// TestPageWithoutTitle: what is listed of a page that came without a title is how its article begins.
func TestPageWithoutTitle(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	navigation := `<html><head><title>x</title><style>p{}</style></head><ul><li><a href="/">首页</a></li><li><a href="/n">国内</a></li></ul>`
	submit(t, r, ingest.Item{ID: "page", Body: navigation + "<p>来源：潮声报</p><p>“渔村&amp;码头”" + village(1) + "</p>"})
	submit(t, r, ingest.Item{ID: "copy", Title: "渔村&amp;码头见闻", Body: village(1)})
	c := session(t, r, "jg_lin_secret-token-1")
	for _, path := range []string{"/console/clusters?sort=last", "/console/item?id=page", "/console/item?id=copy"} {
		if _, page := get(t, r, path, c); !strings.Contains(page, "“渔村&amp;码头”") || strings.Contains(page, "&lt;") {
			t.Errorf("%s: %s", path, page)
		}
	}
	if _, page := get(t, r, "/console/item?id=copy", c); !strings.Contains(page, "渔村&amp;码头见闻</") {
		t.Errorf("the title is as it was sent: %s", page)
	}
}

// TestSpacesAtEnds: ids and names of sources may begin and end with spaces.
func TestSpacesAtEnds(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	submit(t, r, ingest.Item{ID: " a", Title: "渔村见闻", Source: " 见闻网", Body: village(1)})
	submit(t, r, ingest.Item{ID: "a ", Title: "渔村见闻", Source: " ", Body: village(1)})
	if _, err := r.Ingest.Edit(t.Context(), index.Edit{Review: &index.Review{Item: "a ", Drawn: index.DrawnRandom, Finding: index.FoundRight, By: "张三"}}); err != nil {
		t.Fatal(err)
	}
	c := session(t, r, "jg_lin_secret-token-1")
	for path, want := range map[string]string{"/console/compare?a=+a&b=a+": "文字完全相同", "/console/source?name=+%E8%A7%81%E9%97%BB%E7%BD%91": "<span>转它</span>", "/console/source?name=+": "<span>它转</span>",
		"/console/labels.tsv": "\n a\ta \tsame\t0\t"} {
		if resp, page := get(t, r, path, c); resp.StatusCode != 200 || !strings.Contains(page, want) {
			t.Errorf("%s: %d, without %q", path, resp.StatusCode, want)
		}
	}
}

func TestWithoutScript(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 1280, 900)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.signIn("jg_lin_secret-token-1", "/")
	for _, p := range pages[:11] {
		b.to(p.path)
		if got := b.text("main"); !strings.Contains(got, p.zh) {
			t.Errorf("%s does not say %q:\n%s", p.path, p.zh, got)
		}
	}
	b.to("/console/item?id=kiln-reword")
	b.enter("#reason", "作者授权")
	b.click(".acts .good")
	b.shown(".notice")
	if got := verdict(t, r, "kiln-reword").String(); got != "unique" {
		t.Errorf("after a release the item is %s", got)
	}
	b.click(".notice button")
	b.seen(".notice", "已撤销")
	if got := verdict(t, r, "kiln-reword").String(); got != "duplicate" {
		t.Errorf("after its undo the item is %s", got)
	}
}

// TestQueuePages: every row of a queue longer than a page can be reached, by keys too, and a
// source's own.
func TestQueuePages(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	for n := range 48 {
		submit(t, r, ingest.Item{ID: fmt.Sprint("first-", n), Title: fmt.Sprintf("渔村见闻之%d", n), Source: "见闻网", Body: village(n)})
		submit(t, r, longer(n))
	}
	waiting := 0
	for n := range 48 {
		if verdict(t, r, fmt.Sprint("more-", n)) == index.Suspect {
			waiting++
		}
	}
	if waiting <= 40 {
		t.Fatalf("only %d suspects", waiting)
	}
	cookie := session(t, r, "jg_lin_secret-token-1")
	walk := func(from, link string, wanted func(id string) bool) (reached int) {
		t.Helper()
		at := regexp.MustCompile(link)
		seen := map[string]bool{}
		// collect notes what a page lists, and returns the address of the next.
		collect := func(path string) (next string) {
			_, page := get(t, r, path, cookie)
			for _, m := range at.FindAllStringSubmatch(page, -1) {
				id, _ := url.QueryUnescape(m[1])
				if !wanted(id) {
					t.Fatalf("%s lists %s", path, id)
				}
				seen[id] = true
			}
			if m := regexp.MustCompile(`<a rel="next" href="([^"]+)"`).FindStringSubmatch(page); m != nil {
				next = html.UnescapeString(m[1])
			}
			return next
		}
		for path := from; path != ""; {
			path = collect(path)
		}
		if strings.HasPrefix(from, "/console/suspects") { // a row lists its others when it is open
			for id := range maps.Clone(seen) {
				collect("/console/suspects?at=" + url.QueryEscape(id) + strings.Replace(strings.TrimPrefix(from, "/console/suspects"), "?", "&", 1))
			}
		}
		return len(seen)
	}
	const row = `[?&](?:amp;)?at=([^"&]+)`
	if n := walk("/console/suspects", row, func(string) bool { return true }); n < waiting {
		t.Errorf("%d of more than %d suspects can be reached", n, waiting)
	}
	if n := walk("/console/suspects?source="+url.QueryEscape("补记网"), row, func(id string) bool { return strings.HasPrefix(id, "more-") }); n != waiting {
		t.Errorf("%d of %d suspects of the source can be reached", n, waiting)
	}
	// So can every source.
	for n := range 45 {
		submit(t, r, ingest.Item{ID: fmt.Sprint("of-", n), Title: "来稿", Source: fmt.Sprint("来源", n), Body: village(100 + n)})
	}
	ours := map[string]bool{}
	walk("/console/sources", `<a class="title" href="/console/source\?name=([^"&]+)`, func(name string) bool { ours[name] = strings.HasPrefix(name, "来源"); return true })
	maps.DeleteFunc(ours, func(_ string, is bool) bool { return !is })
	if len(ours) != 45 {
		t.Errorf("%d of 45 sources can be reached", len(ours))
	}
	// A search says that it lists a part, and is no long page.
	if _, page := get(t, r, "/console/search?q="+url.QueryEscape("渔村"), cookie); !strings.Contains(page, "最新的 50 篇，还有更多") || len(page) > 60<<10 {
		t.Errorf("a search of more than 50 items does not say so, or has %d bytes", len(page))
	}
}
