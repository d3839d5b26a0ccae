package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"jianguo/api/console"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

func TestSession(t *testing.T) {
	t.Parallel()
	r := start(t)
	t.Run("signed out", func(t *testing.T) {
		for _, p := range pages {
			if resp, _ := get(t, r, p.path); resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(resp.Header.Get("Location"), "/console/signin") {
				t.Errorf("%s answers %d without a user", p.path, resp.StatusCode)
			}
		}
		if resp, _ := asked(t, r, http.MethodHead, "/", nil); resp.StatusCode != http.StatusSeeOther {
			t.Errorf("HEAD: %d", resp.StatusCode)
		}
	})
	t.Run("wrong token", func(t *testing.T) {
		b := open(t, r, 1280, 900)
		b.to("/console/signin?to=%2Fconsole%2Fsources")
		b.enter("#token", "not a token")
		b.click("main button")
		b.shown(".problem")
		b.click(`.me a[lang=en]`) // does not forget where the user goes
		b.seen("main button", "Sign in")
		b.enter("#token", "jg_lin_secret-token-1")
		b.click("main button")
		b.seen("h1", "Sources")
	})
	t.Run("from another site", func(t *testing.T) {
		form := url.Values{"token": {"jg_lin_secret-token-1"}}
		if resp, _ := asked(t, r, http.MethodPost, "/console/signin", form, "Sec-Fetch-Site", "same-site"); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%d", resp.StatusCode)
		}
	})
	t.Run("only to this host", func(t *testing.T) {
		for _, to := range []string{"//elsewhere.example/", "https://elsewhere.example/", `/\elsewhere.example`} {
			if resp, _ := post(t, r, "/console/signin", url.Values{"token": {"jg_lin_secret-token-1"}, "to": {to}}); resp.Header.Get("Location") != "/" {
				t.Errorf("%q leads to %q", to, resp.Header.Get("Location"))
			}
		}
	})
	t.Run("forged", func(t *testing.T) {
		c := session(t, r, "jg_lin_secret-token-1")
		decide := func(form url.Values) int {
			form.Set("kind", "release")
			form.Set("item", "kiln-reword")
			resp, _ := post(t, r, "/console/decide", form, c)
			return resp.StatusCode
		}
		if code := decide(url.Values{}); code != http.StatusForbidden {
			t.Errorf("a form without a token: %d", code)
		}
		other := session(t, r, "jg_wu_secret-token-22")
		_, page := get(t, r, "/console/item?id=kiln-reword", other)
		token := formToken(t, page)
		if code := decide(url.Values{"form": {token}}); code != http.StatusForbidden {
			t.Errorf("a form with the token of another session: %d", code)
		}
		tampered := *c
		tampered.Value = "A" + c.Value[1:]
		if resp, _ := get(t, r, "/", &tampered); resp.StatusCode != http.StatusSeeOther {
			t.Errorf("a tampered cookie: %d", resp.StatusCode)
		}
		if got := verdict(t, r, "kiln-reword").String(); got != "duplicate" {
			t.Errorf("a forged form made the item %s", got)
		}
	})
	t.Run("roles", func(t *testing.T) {
		c := session(t, r, "jg_lin_secret-token-1")
		if resp, _ := get(t, r, "/console/operators", c); resp.StatusCode != http.StatusForbidden {
			t.Errorf("an editor gets %d on the operators' page", resp.StatusCode)
		}
	})
	t.Run("end", func(t *testing.T) {
		b := open(t, r, 1280, 900)
		b.signInByForm("jg_lin_secret-token-1", "/console/suspects")
		r.Ahead.Add(int64(13 * time.Hour))
		defer r.Ahead.Store(0)
		b.key("s")
		b.shown("#token") // a page, too late
		b.to("/console/signin")
		r.Ahead.Store(0)
		b.to("/console/suspects")
		b.until(`document.readyState === "complete"`)
		r.Ahead.Add(int64(13 * time.Hour))
		at := eval[string](b, `document.querySelector(".actbar input[name=item]").value`)
		b.key("a") // a decision, too late
		b.shown("#token")
		b.seen("main", "没有执行")
		if n := len(suspects(t, r)); n == 0 {
			t.Fatal("no suspects")
		}
		list, err := r.Index.Decisions(t.Context(), index.DecisionQuery{Limit: 10})
		if err != nil || len(list) != 0 {
			t.Errorf("an ended session decided: %v %v", list, err)
		}
		// After signing in again, the user is back at the same page.
		b.enter("#token", "jg_wu_secret-token-22")
		b.click("main button")
		b.until(`!!document.querySelector(".actbar") && document.querySelector(".actbar input[name=item]").value === ` + strconv.Quote(at))
		if got := b.text(".who"); got != "吴编辑" {
			t.Errorf("signed in as %q", got)
		}
		b.click("header .me form button")
		b.shown("#token")
	})
}

// TestServiceGone: a key or a link that gets no answer says so, and works once the service is back.
func TestServiceGone(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/suspects")
	at := eval[string](b, `document.querySelector(".actbar input[name=item]").value`)
	offline := func(gone bool) {
		blocked := network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/*", Block: gone}}}
		if _, err := chromedp.Call(b.ctx, network.SetBlockedURLs, blocked); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []func(){func() { b.key("a") }, func() { b.click("nav a") }} {
		offline(true)
		step()
		b.seen("#lost:not([hidden])", "服务没有回答")
		b.mu.Lock()
		b.errors = nil // of the network
		b.mu.Unlock()
		offline(false)
		step()
		b.until(`document.querySelector("#lost").hidden`)
		b.seen("main", "已放行")
		b.to("/console/item?id=" + url.QueryEscape(at) + "&done=1")
	}
}

func TestTwoEditors(t *testing.T) {
	t.Parallel()
	r := start(t)
	id := suspects(t, r)[0]
	lin, wu := open(t, r, 1280, 900), open(t, r, 1280, 900)
	lin.signIn("jg_lin_secret-token-1", "/console/suspects")
	wu.signIn("jg_wu_secret-token-22", "/console/suspects?at="+id) // the queue itself would lead to another row
	wu.seen("aside", "林编辑正在看")
	lin.key("a")
	lin.seen(".notice", "放行")
	wu.key("r")
	wu.seen(".notice.conflict", "林编辑")
	wu.seen(".notice.conflict", "放行")
	wu.seen(".notice.conflict", "没有执行")
	if got := verdict(t, r, id); got != index.Unique {
		t.Errorf("the first decision does not stand: %v", got)
	}
	// Two at the same moment: one of them decides, the other sees that decision.
	id = suspects(t, r)[0]
	lin.to("/console/suspects?at=" + id)
	wu.to("/console/suspects?at=" + id)
	before, err := r.Index.Decisions(t.Context(), index.DecisionQuery{Limit: 100})
	testbed.OK(t, err)
	done := make(chan error)
	for _, b := range []*tab{lin, wu} {
		go func() {
			ctx, cancel := context.WithTimeout(b.ctx, patience)
			defer cancel()
			done <- chromedp.Do(ctx, chromedp.KeyEvent("r"), chromedp.WaitVisible(chromedp.CSS(".notice")))
		}()
	}
	for range 2 {
		testbed.OK(t, <-done)
	}
	after, err := r.Index.Decisions(t.Context(), index.DecisionQuery{Limit: 100})
	testbed.OK(t, err)
	if len(after) != len(before)+1 || strings.Count(lin.text(".notice")+wu.text(".notice"), "没有执行") != 1 {
		t.Errorf("%d decisions; %q, %q", len(after)-len(before), lin.text(".notice"), wu.text(".notice"))
	}
}

// bench are the fields of the form that decides about the item that a page of the queue has open.
var (
	bench = regexp.MustCompile(`(?s)<div class="actbar".*?</form>`)
	field = regexp.MustCompile(`name="(\w+)" value="([^"]*)"`)
)

// TestTwoEditorsShareTheQueue: two editors who decide one suspect after another are never led to the same one, nor to one
// that is decided, and none is left out.
func TestTwoEditorsShareTheQueue(t *testing.T) {
	t.Parallel()
	const each = 100
	var corpus []byte
	for n := range 2 * each {
		for _, item := range []ingest.Item{{ID: fmt.Sprint("village-", n), Title: "渔村", Body: village(n)}, longer(n)} {
			line, err := json.Marshal(item)
			testbed.OK(t, err)
			corpus = append(append(corpus, line...), '\n')
		}
	}
	r := start(t, func(c *serviceConfig) { c.Corpus, c.Backdate = corpus, false })
	count := func() int {
		page, err := r.Browse.Suspects(t.Context(), browse.SuspectQuery{})
		testbed.OK(t, err)
		return page.Waiting
	}
	waiting := count()
	var group errgroup.Group
	for _, token := range []string{"jg_lin_secret-token-1", "jg_wu_secret-token-22"} {
		c := session(t, r, token)
		group.Go(func() error {
			at := "/console/suspects"
			for n := range each {
				_, body := get(t, r, at, c)
				form := url.Values{}
				for _, m := range field.FindAllStringSubmatch(bench.FindString(body), -1) {
					form.Set(m[1], html.UnescapeString(m[2]))
				}
				if !form.Has("seen") {
					return fmt.Errorf("decision %d: %s has nothing to decide", n, at)
				}
				form.Set("kind", []string{index.Release, index.Reject}[n%2])
				resp, body := post(t, r, "/console/decide", form, c)
				if at = resp.Header.Get("Location"); !strings.Contains(at, "done=") {
					return fmt.Errorf("decision %d about %q: %d %s %s", n, form.Get("item"), resp.StatusCode, at, body)
				}
			}
			return nil
		})
	}
	testbed.OK(t, group.Wait())
	if left := count(); waiting < 2*each || left != waiting-2*each {
		t.Errorf("%d suspects waited, %d are left", waiting, left)
	}
}

// TestEditorsOfTwoServices: the queue of another service on the bus knows who looks at a row, and leads past it.
func TestEditorsOfTwoServices(t *testing.T) {
	t.Parallel()
	var pages *console.Config
	r := start(t, func(c *serviceConfig) { c.Console = func(of *console.Config) { pages = of } })
	second := echo.New()
	testbed.OK(t, console.Register(second, *pages))
	server := httptest.NewServer(second)
	defer server.Close()
	other := &service{Pipeline: r.Pipeline, URL: server.URL}
	id := regexp.MustCompile(`name="item" value="([^"]*)"`)
	_, page := get(t, r, "/console/suspects", session(t, r, "jg_lin_secret-token-1"))
	lin := id.FindStringSubmatch(page)[1]
	if err := r.Conn.Flush(); err != nil { // the claim is on its way
		t.Fatal(err)
	}
	wu := session(t, other, "jg_wu_secret-token-22")
	for range 100 {
		if _, page = get(t, other, "/console/suspects", wu); strings.Contains(page, "林编辑正在看") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if at := id.FindStringSubmatch(page)[1]; at == lin || !strings.Contains(page, "林编辑正在看") {
		t.Errorf("both are at %q", at)
	}
}

// TestWhatIsSaid: a comparison says what the rest is, what its grey is, and that it read a part; the queue says which
// row is open.
func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := session(t, r, "jg_lin_secret-token-1")
	page := func(path string) string {
		t.Helper()
		_, page := get(t, r, path, c)
		return page
	}
	queue, err := r.Browse.Suspects(t.Context(), browse.SuspectQuery{})
	testbed.OK(t, err)
	rest := 0
	for i, row := range queue.Rows {
		id := row.Items[0].ID
		body := page("/console/suspects?at=" + url.QueryEscape(id))
		if want := fmt.Sprintf("第 %d / %d 条", i+1, len(queue.Rows)); !strings.Contains(body, want) {
			t.Errorf("%s is not said to be %s", id, want)
		}
		f := row.Items[0].Facts
		if f == nil || f.New == nil || f.Coverage == nil {
			continue
		}
		if other := math.Round(100 * (1 - float64(f.Coverage.Later) - float64(f.New.Share))); other > 0 && f.New.Characters > 0 {
			rest++
			if want := fmt.Sprintf("新增约 %d 字，其余 %.0f%% 换了说法", f.New.Characters, other); !strings.Contains(body, want) {
				t.Errorf("%s does not say %s", id, want)
			}
		}
	}
	if rest == 0 {
		t.Error("no suspect says the same in other words")
	}
	long := ""
	for n := range 60 {
		long += village(600+n) + "\n"
	}
	submit(t, r, ingest.Item{ID: "long", Title: "六十个渔村", Body: long})
	submit(t, r, ingest.Item{ID: "long-too", Title: "六十个渔村", Body: strings.ReplaceAll(long, "船工", "渔民") + "（责任编辑：张三）"})
	submit(t, r, ingest.Item{ID: "short", Title: "一个渔村", Body: village(700)})
	submit(t, r, ingest.Item{ID: "short-too", Title: "一个渔村", Body: village(700) + "\n（责任编辑：张三）"})
	if body := page("/console/compare?a=long&b=long-too"); !strings.Contains(body, "只比较了前 20,000 字") {
		t.Error("a comparison of the first part does not say so")
	}
	if body := page("/console/compare?a=short&b=short-too"); !strings.Contains(body, `<span class="aside">不计入`) || strings.Contains(body, "只比较了前") {
		t.Error("the grey of a comparison has no legend")
	}
}
