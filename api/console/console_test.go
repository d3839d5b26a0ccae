package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// chromium is the browser. TestMain sets it, and every test opens tabs of its own in it.
var chromium context.Context

func TestMain(m *testing.M) {
	// Most tests wait for the browser. A -parallel of the command line wins.
	if err := flag.Set("test.parallel", "3"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	profile, err := os.MkdirTemp("", "jianguo-chromium-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(profile)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath("chromium-headless-shell"), chromedp.NoSandbox, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-features", "Translate,SpareRendererForSitePerProcess"), // a spare process for each page takes a third of the time
		// Processes of its own for what draws and for the network take a tenth.
		chromedp.Flag("in-process-gpu", true), chromedp.Flag("disable-software-rasterizer", true), chromedp.Flag("enable-features", "NetworkServiceInProcess2"),
		// Nobody looks at the frames, and no page lives long enough to profit from a second compilation of its scripts.
		chromedp.Flag("disable-threaded-compositing", true), chromedp.Flag("js-flags", "--no-opt,--no-maglev,--max-lazy"))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		panic(fmt.Sprintf("Chromium does not start (the Debian packages are chromium-headless-shell and fonts-noto-cjk): %v", err))
	}
	chromium = ctx
	return m.Run()
}

const tokens = "林编辑 editor jg_lin_secret-token-1\n吴编辑 editor jg_wu_secret-token-22\nops-qin operator jg_ops_secret-token-3"

// start runs a service for one test, and verifies its catalogue at the end.
func start(t *testing.T, change ...func(*serviceConfig)) *service {
	t.Helper()
	cfg := serviceConfig{Dir: t.TempDir(), Tokens: tokens, Backdate: true}
	for _, f := range change {
		f(&cfg)
	}
	r, err := startService(t.Context(), cfg)
	testbed.OK(t, err)
	t.Cleanup(func() {
		if err := errors.Join(r.Verify(context.Background()), r.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// tab is a page of the browser. At its end there must have been no error on
// its console and no request to another host.
type tab struct {
	t   *testing.T
	r   *service
	ctx context.Context

	mu     sync.Mutex
	errors []string // guarded by mu
}

// open opens a tab with cookies of its own.
func open(t *testing.T, r *service, width, height int64) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	b := &tab{t: t, r: r, ctx: ctx}
	problem := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errors = append(b.errors, fmt.Sprintf(format, args...))
	}
	// The tab lives as long as the context it is first used with.
	testbed.OK(t, chromedp.Do(ctx))
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			raw, _ := json.Marshal(ev.ExceptionDetails)
			problem("exception: %s", raw)
		case *log.EventEntryAdded:
			// A status that the page is about is no error of the page.
			if ev.Entry.Level == log.EntryLevelError && !strings.Contains(ev.Entry.Text, "the server responded with a status of 4") {
				problem("log: %s %s", ev.Entry.Text, ev.Entry.URL)
			}
		case *runtime.EventConsoleAPICalled:
			if ev.Type == runtime.ConsoleAPICalledTypeError || ev.Type == runtime.ConsoleAPICalledTypeWarning {
				raw, _ := json.Marshal(ev.Args)
				problem("console: %s", raw)
			}
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, r.URL+"/") && !strings.HasPrefix(ev.Request.URL, "data:") {
				problem("a request left the host: %s", ev.Request.URL)
			}
		case *network.EventResponseReceived:
			if ev.Response.Status >= 500 {
				problem("%v: %s", ev.Response.Status, ev.Response.URL)
			}
		}
	})
	testbed.OK(t, err)
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	// Tabs of several tests are open side by side.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.errors) > 0 {
			t.Errorf("the browser had something to say: %s", strings.Join(b.errors, "\n"))
		}
		cancel()
	})
	return b
}

// patience is how long a tab is waited for.
const patience = 2 * time.Minute

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%v (at %s)\n%s", err, b.address(), b.text("body"))
	}
}

func (b *tab) to(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.r.URL + path))
}

// signIn signs in as a program does, and opens a page; TestSession signs in by the form.
func (b *tab) signIn(token, path string) {
	b.t.Helper()
	c := session(b.t, b.r, token)
	if _, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.r.URL, HTTPOnly: &c.HttpOnly, SameSite: network.CookieSameSiteLax}); err != nil {
		b.t.Fatal(err)
	}
	b.to(path)
	b.shown(".who")
	b.until(`document.readyState === "complete"`) // keys work from here on
}

// signInByForm signs in as a user does.
func (b *tab) signInByForm(token, path string) {
	b.t.Helper()
	b.to("/console/signin?to=" + url.QueryEscape(path))
	b.enter("#token", token)
	b.click("main button")
	b.shown(".who")
	b.until(`document.readyState === "complete"`)
}

func (b *tab) address() string {
	at, err := run1(b, chromedp.Location())
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(at, b.r.URL)
}

func run1[V any](b *tab, a chromedp.Action[V]) (V, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, a)
}

// eval returns the value of an expression.
func eval[V any](b *tab, expression string) V {
	b.t.Helper()
	v, err := run1(b, chromedp.Evaluate[V](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// text is the visible text of the first element a selector finds.
func (b *tab) text(selector string) string {
	s, err := run1(b, chromedp.Evaluate[string](fmt.Sprintf(`(document.querySelector(%q)||{}).innerText||""`, selector)))
	if err != nil {
		return err.Error()
	}
	return s
}

// until waits for an expression to become true, over any number of pages.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		// While a page is being replaced, evaluation fails.
		if ok, err := run1(b, chromedp.Evaluate[bool](expression)); err == nil && ok {
			return
		} else if time.Now().After(end) {
			b.t.Fatalf("%s did not become true: %v (at %s)\n%s", expression, err, b.address(), b.text("main"))
		}
	}
}

// shown waits until an element is there.
func (b *tab) shown(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`!!document.querySelector(%q) && document.querySelector(%q).checkVisibility()`, selector, selector))
}

// seen waits until an element shows a text.
func (b *tab) seen(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%q))`, selector, text))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// enter types into a field, again where the page lost keys: it may not have had
// the focus yet, and keys of the first try may come after those of the second.
func (b *tab) enter(selector, text string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; {
		b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
		got := eval[string](b, fmt.Sprintf(`(document.querySelector(%q)||{}).value||""`, selector))
		if got == text || strings.HasSuffix(text, "\r") || time.Now().After(end) {
			return
		}
		b.script(fmt.Sprintf(`document.querySelector(%q).value = ""`, selector))
	}
}

// script runs a statement.
func (b *tab) script(statement string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](statement))
}

// key presses a key when the page listens to keys.
func (b *tab) key(k string) {
	b.t.Helper()
	b.until(`document.readyState === "complete"`)
	b.do(chromedp.KeyEvent(k))
}

// verdict is the state of an item in the index.
func verdict(t *testing.T, r *service, id string) index.Verdict {
	t.Helper()
	it, err := r.Index.Item(context.Background(), id)
	testbed.OK(t, err)
	return it.Event.Verdict
}

// suspects are the ids in the queue, in its order.
func suspects(t *testing.T, r *service) (ids []string) {
	t.Helper()
	queue, err := r.Browse.Suspects(context.Background(), browse.SuspectQuery{})
	testbed.OK(t, err)
	for _, row := range queue.Rows {
		for i := range row.Items {
			ids = append(ids, row.Items[i].ID)
		}
	}
	return ids
}

// submit publishes an item over the bus and waits for the lists to know it.
func submit(t *testing.T, r *service, item ingest.Item) {
	t.Helper()
	payload, err := json.Marshal(item)
	testbed.OK(t, err)
	testbed.OK(t, r.Publish(t.Context(), payload))
}

// get asks without a browser.
func get(t *testing.T, r *service, path string, cookies ...*http.Cookie) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, r.URL+path, nil)
	testbed.OK(t, err)
	return ask(t, req, cookies...)
}

// post sends a form without a browser.
func post(t *testing.T, r *service, path string, form url.Values, cookies ...*http.Cookie) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.URL+path, strings.NewReader(form.Encode()))
	testbed.OK(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return ask(t, req, cookies...)
}

// asked makes a request with headers that a proxy, or another client, has set.
func asked(t *testing.T, r *service, method, path string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, r.URL+path, strings.NewReader(form.Encode()))
	testbed.OK(t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header[headers[i]] = append(req.Header[headers[i]], headers[i+1])
	}
	return ask(t, req)
}

func ask(t *testing.T, req *http.Request, cookies ...*http.Cookie) (*http.Response, string) {
	t.Helper()
	for _, c := range cookies {
		req.AddCookie(c)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	testbed.OK(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	testbed.OK(t, err)
	return resp, string(body)
}

// session signs in without a browser.
func session(t *testing.T, r *service, token string) *http.Cookie {
	t.Helper()
	resp, body := post(t, r, "/console/signin", url.Values{"token": {token}})
	for _, c := range resp.Cookies() {
		if c.Name == "jianguo_session" && c.HttpOnly && c.SameSite == http.SameSiteLaxMode {
			return c
		}
	}
	t.Fatalf("no session: %d %s", resp.StatusCode, body)
	return nil
}

// village is an article like no other of these.
func village(n int) string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "第%d号渔村的码头今天停了%d条船，船工%c%c说起了那年的大潮。", n*37+i, n+i, rune(0x4e00+n*61+i*7), rune(0x5200+n*89+i*3))
	}
	return b.String()
}

// longer has the text of a village, and as much again: a suspect.
func longer(n int) ingest.Item {
	return ingest.Item{ID: fmt.Sprint("more-", n), Title: fmt.Sprintf("渔村补记之%d", n), Source: "补记网",
		Body: village(n) + strings.Repeat(fmt.Sprintf("后来%c村又修了新的防波堤，", rune(0x6000+n*53)), 4) + village(n+1000)}
}

// pages are all pages, and a text in each language that shows that it is the
// right one.
var pages = []struct{ path, zh, en string }{
	{"/", "一小时 ", "items an hour"},
	{"/console/clusters", "近期增长", "Recent growth"},
	{"/console/clusters?sort=size&size=4&since=168", "筛选", "Filter"},
	{"/console/cluster?id=1", "成员", "Members"},
	{"/console/story?id=1", "同文组", "Tellings"},
	{"/console/item?id=typhoon", "首发", "unique"},
	{"/console/item?id=kiln-reword", "见于先到稿", "is in the earlier one"},
	{"/console/compare?a=typhoon&b=typhoon-update", "数字不一致", "figures differ"},
	{"/console/suspects", "判为重复", "Reject"},
	{"/console/review?day=2025-06-11", "误拒，放行", "Wrong: release it"},
	{"/console/review", "拒收精确率", "Precision of what we reject"},
	{"/console/sources", "谁转谁的", "Who copies whom"},
	{"/console/source?name=%E6%99%A8%E5%B8%86%E7%BD%91", "首尾反复出现", "recur at the ends"},
	{"/console/decisions", "还没有决定", "No decisions yet"},
	{"/console/into?cluster=4&into=1", "先到稿", "Earlier"},
	{"/console/rejudge", "不改动任何数据", "Nothing is changed"},
	{"/console/operators", "出了什么问题", "What is wrong"},
	{"/console/search?q=%E5%8F%B0%E9%A3%8E", "找到", "items"},
	{"/console/item?id=nobody", "没有这个编号", "There is nothing of this number or id"},
}

// onTheBus lets the sample arrive now, the way items do.
func onTheBus(c *serviceConfig) { c.Backdate = false }

func formToken(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no form")
	}
	return m[1]
}
