//go:build !race

package console_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"jianguo/api/console"
	"jianguo/bus"
	"jianguo/index"
	"jianguo/index/indextest"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// undo undoes the decision of the notice.
func (b *tab) undo(id, badge string) {
	b.t.Helper()
	b.key("u")
	b.seen(".notice", "已撤销")
	b.to("/console/item?id=" + id)
	b.seen("article .badge."+badge, "")
}

// more decides by a button behind 更多.
func (b *tab) more(kind string) {
	b.t.Helper()
	b.click(".more summary")
	b.click(".more button[value=" + kind + "]")
}

// TestBlockedStory: a copy of a blocked text is released by a second key, and the author is given no link to that text.
func TestBlockedStory(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/item?id=fishpond")
	b.more("block")
	b.seen(".notice", "封禁")
	b.to("/console/item?id=fishpond-reword")
	if reply := eval[string](b, `document.querySelector("#reply-zh").value`); reply == "" || strings.Contains(reply, "http") {
		t.Errorf("the author is told %q", reply)
	}
	b.key("a")
	b.seen(".ask", "已被封禁")
	if got := verdict(t, r, "fishpond-reword"); got != index.Duplicate {
		t.Errorf("the first key made the copy %v", got)
	}
	b.until(`document.activeElement.matches(".ask button")`)
	b.key("\r")
	b.seen(".notice", "放行")
	// So it is where copies are picked in their story.
	b.undo("fishpond-reword", "duplicate")
	b.click(".crumbs a")
	b.click(`tbody input[value$=" fishpond-reword"]`)
	b.key("a")
	b.seen(".ask", "已被封禁")
	if got := verdict(t, r, "fishpond-reword"); got != index.Duplicate {
		t.Errorf("picked, the first key made the copy %v", got)
	}
	b.until(`document.activeElement.matches(".ask button")`)
	b.key("\r")
	b.seen(".notice", "放行")
	if got := verdict(t, r, "fishpond-reword"); got != index.Unique {
		t.Errorf("picked, the second key made the copy %v", got)
	}
}

func titleOf(t *testing.T, r *service, id string) string {
	t.Helper()
	it, err := r.Index.Item(t.Context(), id)
	testbed.OK(t, err)
	return it.Title
}

func TestComplaint(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/")
	b.enter("#q", "kiln-reword\r")
	b.seen(".verdict", "同文")
	b.until(`document.querySelector(".verdict a").innerText === ` + strconv.Quote(titleOf(t, r, "kiln")))
	b.to("/console/item?id=kiln-reword&lang=en")
	b.seen(".verdict", "same text")
	b.to("/console/item?id=kiln-reword&lang=zh")
	b.seen(".diff del", "日")
	b.seen(".diff ins", "天")
	b.enter("#reason", "作者本人投稿")
	b.click(".acts .good")
	b.seen(".notice", "作者本人投稿")
	b.seen(".badge.unique", "")
	b.seen(".log", "林编辑")
	if got := verdict(t, r, "kiln-reword"); got != index.Unique {
		t.Fatalf("the item is %v", got)
	}
	b.undo("kiln-reword", "duplicate")
	if got := verdict(t, r, "kiln-reword"); got != index.Duplicate {
		t.Fatalf("after the undo the item is %v", got)
	}
}

// TestComplaintByKeyboard: five keys, from the pasted text to the answer.
func TestComplaintByKeyboard(t *testing.T) {
	t.Parallel()
	r := start(t)
	it, err := r.Index.Item(t.Context(), "lunch-reword")
	testbed.OK(t, err)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/")
	b.key("/")
	b.until(`document.activeElement.id === "q"`)
	if _, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: *it.Body}); err != nil { // as a paste does
		t.Fatal(err)
	}
	b.key("\r")
	b.seen(".verdict", "重复")
	b.seen(".heads .a", "早")
	b.until(`document.activeElement.id === "main"`)
	if at := b.address(); at != "/console/item?id=lunch-reword" {
		t.Fatalf("the text led to %s", at)
	}
	b.key("a")
	b.seen(".notice", "放行")
	b.script(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }`)
	b.key("y")
	b.until(`(window.copied || "").includes("已经放行")`)
	if got := verdict(t, r, "lunch-reword"); got != index.Unique {
		t.Errorf("the item is %v", got)
	}
}

// pickTwo picks the first two members of a story that have a checkbox.
const pickTwo = `[...document.querySelectorAll("tbody input[type=checkbox]")].slice(0, 2).forEach(e => e.click())`

// released returns those of some items that are unique.
func released(t *testing.T, r *service, ids []string) (list []string) {
	t.Helper()
	for _, id := range ids {
		if verdict(t, r, id) == index.Unique {
			list = append(list, id)
		}
	}
	return list
}

func TestDecisionsAndTheirUndo(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/")
	check := func(id string, want index.Verdict) {
		t.Helper()
		if got := verdict(t, r, id); got != want {
			t.Errorf("%s is %v, want %v", id, got, want)
		}
	}
	t.Run("lead", func(t *testing.T) {
		b.to("/console/item?id=kiln-reword")
		b.more("lead")
		b.seen(".notice", "设为首发")
		check("kiln-reword", index.Unique)
		check("kiln", index.Duplicate)
		b.undo("kiln-reword", "duplicate")
		check("kiln", index.Unique)
	})
	t.Run("block", func(t *testing.T) {
		b.to("/console/item?id=fishpond")
		b.more("block")
		b.seen(".notice", "封禁")
		check("fishpond", index.Withdrawn)
		b.undo("fishpond", "unique")
		check("fishpond", index.Unique)
	})
	t.Run("block a story", func(t *testing.T) {
		b.to("/console/cluster?id=4")
		b.click(".more:has(.stack) summary")
		b.enter(".more .stack input[name=reason]", "下线\r") // Enter decides nothing
		check("fishpond", index.Unique)
		b.click(".more .stack button.bad")
		b.seen(".notice", "封禁")
		check("fishpond", index.Withdrawn)
		b.undo("fishpond", "unique")
	})
	t.Run("exempt", func(t *testing.T) {
		b.to("/console/item?id=fishpond")
		b.enter("#reason", "通稿\r") // Enter in the reason decides nothing
		check("fishpond", index.Unique)
		b.more("exempt")
		b.seen(".notice", "免比对")
		ops := open(t, r, 1280, 900)
		ops.signIn("jg_ops_secret-token-3", "/console/operators")
		ops.seen(".log", titleOf(t, r, "fishpond"))
		b.undo("fishpond", "unique")
	})
	t.Run("merge", func(t *testing.T) {
		into, err := r.Index.Item(t.Context(), "kiln")
		testbed.OK(t, err)
		b.to("/console/cluster?id=4")
		b.enter(".stack input[name=into]", "宋代窑址")
		b.click(`.stack button`)
		b.click(`main a.title[href$="into=` + itoa(into.Event.Cluster) + `"]`)
		b.seen(".diff .heads", into.Title) // what it goes into is shown before it does
		b.enter(".stack input[name=reason]", "同一件事\r")
		check("fishpond", index.Unique)
		b.click(`.stack .ask summary`) // they have nothing in common: one more click
		b.click(`.stack button[value=merge]`)
		b.seen(".notice", "并入")
		check("fishpond", index.Duplicate)
		b.to("/console/cluster?id=4")
		b.seen("tbody", "fishpond")
		b.seen("tbody", "kiln-reword")
		b.to("/console/decisions")
		b.click(".log form button")
		b.seen(".notice", "已撤销")
		check("fishpond", index.Unique)
	})
	t.Run("several at once", func(t *testing.T) {
		b.to("/console/cluster?id=4")
		picked := eval[[]string](b, `[...document.querySelectorAll("tbody input[type=checkbox]")].slice(0, 2).map(e => e.value.split(" ")[1])`)
		b.script(pickTwo)
		b.click(`.batch button[value=release]`)
		b.seen(".notice", "放行")
		b.seen(".notice", "2 篇")
		list, err := r.Index.Decisions(t.Context(), index.DecisionQuery{Limit: 1})
		if err != nil || len(list) != 1 || list[0].Kind != index.Release || list[0].Count != 2 || list[0].By != "林编辑" {
			t.Errorf("%+v %v", list, err)
		}
		if before := len(released(t, r, picked)); before != 2 {
			t.Errorf("%d of two are released", before)
		}
		// A decision about several items is undone for all of them, then made again for the
		// labels.
		again := eval[string](b, `location.pathname + location.search`)
		b.key("u")
		b.seen(".notice", "已撤销 2 篇")
		if left := released(t, r, picked); len(left) > 0 {
			t.Errorf("after the undo, %v are still released", left)
		}
		b.to(strings.SplitN(again, "&done", 2)[0])
		b.script(pickTwo)
		b.click(`form .more summary`)
		b.click(`.more button[value=lead]`) // two cannot both lead
		b.seen("main", "请只勾选一篇")
		b.to("/console/cluster?id=4")
		// If another editor has decided about a picked item meanwhile, the page says so and
		// nothing is decided.
		wu := open(t, r, 1280, 900)
		wu.signIn("jg_wu_secret-token-22", "/console/cluster?id=4")
		wu.script(pickTwo)
		b.script(pickTwo)
		b.click(`.batch button[value=release]`)
		b.seen(".notice", "放行")
		wu.click(`.batch button[value=release]`)
		wu.seen(".notice.conflict", "林编辑")
		b.to("/console/cluster?id=4")
		b.click(`.batch button[value=release]`) // with nothing picked
		b.seen("main", "没有勾选")
	})
	t.Run("reject an accepted item", func(t *testing.T) {
		b.to("/console/item?id=rider")
		b.click(".more summary")
		b.enter(".more input[name=into]", "4")
		b.click(".more button")
		b.click(".stack .ask summary")
		b.click(".stack button.bad")
		b.seen(".notice", "判为重复")
		check("rider", index.Duplicate)
		b.undo("rider", "unique")
	})
	t.Run("labels", func(t *testing.T) {
		_, body := get(t, r, "/console/labels.tsv", session(t, r, "jg_lin_secret-token-1"))
		lines := strings.Split(strings.TrimSpace(body), "\n")
		if len(lines) != 3 || lines[0] != "id_a\tid_b\tkind\tadds\tconf\tnote" || !strings.HasPrefix(lines[1], "fishpond\tfishpond-") || !strings.Contains(lines[1], "\tdifferent\t2\thigh\t") {
			t.Errorf("labels: %q", lines)
		}
	})
}

func TestSuspectsByKeyboard(t *testing.T) {
	t.Parallel()
	r := start(t)
	queue := suspects(t, r)
	if len(queue) < 4 {
		t.Fatalf("the sample has %d suspects", len(queue))
	}
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/suspects")
	open := func(id string) {
		t.Helper()
		b.until(`document.querySelector(".actbar input[name=item]").value === "` + id + `"`)
	}
	open(queue[0])

	// While an input method composes, a letter is not a key.
	b.script(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "a", isComposing: true, bubbles: true}));
		document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "a", keyCode: 229, bubbles: true}));
		document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "a", ctrlKey: true, bubbles: true}))`)
	// Nor while the editor types a reason.
	b.enter(".actbar input[name=reason]", "are")
	b.script(`document.activeElement.blur()`)
	if got := verdict(t, r, queue[0]); got != index.Suspect {
		t.Fatalf("a letter that was typed decided: %v", got)
	}
	b.to("/console/suspects")
	// Keys do not decide while the list of keys is open.
	b.key("?")
	b.shown("dialog[open]")
	b.key("a")
	b.key("?")
	b.until(`!document.querySelector("dialog[open]")`)
	b.key("s")
	open(queue[1])
	b.key("k")
	open(queue[0])
	b.key("a")
	open(queue[1])
	b.seen(".notice", "放行")
	if got := verdict(t, r, queue[0]); got != index.Unique {
		t.Errorf("accepted, it is %v", got)
	}
	// What is left of a story has moved to its own place in the queue: the one behind it comes next.
	left := suspects(t, r)
	next := slices.Index(left, queue[1]) + 1
	b.key("r")
	open(left[min(next, len(left)-1)])
	b.seen(".notice", "判为重复")
	if got := verdict(t, r, queue[1]); got != index.Duplicate {
		t.Errorf("rejected, it is %v", got)
	}
	b.key("u")
	b.seen(".notice", "已撤销")
	open(queue[1]) // it is looked at again, for the reason it was a suspect
	if why := b.text(".verdict"); strings.Contains(why, "编辑决定") {
		t.Errorf("taken back, it is a suspect because of %q", why)
	}
	b.until(`document.activeElement.id === "main"`)
	if got := verdict(t, r, queue[1]); got != index.Suspect {
		t.Errorf("taken back, it is %v", got)
	}
	if !strings.Contains(b.text("aside"), itoa(uint32(len(queue)-1))) {
		t.Errorf("the queue says %q", b.text("aside"))
	}
	// The key takes back one decision after another.
	b.seen(".notice", "也撤销")
	b.key("u")
	open(queue[0])
	b.until(`!document.querySelector(".notice button")`)
	if got := verdict(t, r, queue[0]); got != index.Suspect {
		t.Errorf("taken back too, it is %v", got)
	}
}

func TestReview(t *testing.T) {
	t.Parallel()
	r := start(t)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/review?day=2025-06-11")
	left := eval[int](b, `parseInt(document.querySelector("aside .count").innerText.match(/\d+/))`)
	first := eval[string](b, `document.querySelector(".actbar input[name=item]").value`)
	b.key("s")
	b.until(`document.querySelector(".actbar input[name=item]").value !== ` + strconv.Quote(first))
	b.key("k")
	b.until(`document.querySelector(".actbar input[name=item]").value === ` + strconv.Quote(first))
	b.key("r")
	b.seen(".notice", "已记录：拒得对")
	b.seen(".figure-big", "100.0%")
	b.seen("aside .count", "还剩 "+strconv.Itoa(left-1)+" 篇")
	// A wrong key is undone, and the item is shown again.
	b.key("u")
	b.seen(".notice", "撤回")
	b.seen(".figure-big", "—")
	b.until(`document.querySelector(".actbar input[name=item]").value === ` + strconv.Quote(first))
	b.key("a")
	b.seen(".notice", "放行")
	b.key("u")
	b.seen(".notice", "已撤销")
	b.until(`document.querySelector(".actbar input[name=item]").value === ` + strconv.Quote(first))
	b.seen(".figure-big", "—")
	if got := verdict(t, r, first); got != index.Duplicate {
		t.Errorf("taken back, it is %v", got)
	}
	b.key("r")
	b.seen(".notice", "已记录：拒得对")
	wrong := eval[string](b, `document.querySelector(".actbar input[name=item]").value`)
	if wrong == first {
		t.Fatal("the same item comes again")
	}
	b.key("a")
	b.seen(".notice", "放行")
	b.seen(".figure-big", "50.0%")
	b.seen(".precision", "9.5% – 90.5%") // Wilson's interval of one in two
	if got := verdict(t, r, wrong); got != index.Unique {
		t.Errorf("wrongly rejected, it is %v", got)
	}
	if got := verdict(t, r, first); got != index.Duplicate {
		t.Errorf("rightly rejected, it is %v", got)
	}
	// The review and the decision about one pair make one label.
	if _, body := get(t, r, "/console/labels.tsv", session(t, r, "jg_lin_secret-token-1")); strings.Count(body, "\n") != 3 || strings.Count(body, "\tdifferent\t") != 1 {
		t.Errorf("labels: %q", body)
	}
}

// TestReviewConflict: a release from the sample that comes too late leaves no finding.
func TestReviewConflict(t *testing.T) {
	t.Parallel()
	r := start(t)
	cookie := session(t, r, "jg_lin_secret-token-1")
	_, page := get(t, r, "/console/item?id=kiln-reword", cookie)
	for i, want := range []string{"done=", "conflict="} {
		form := url.Values{"form": {formToken(t, page)}, "item": {"kiln-reword"}, "kind": {"release"}, "reason": {fmt.Sprint(i)}}
		req, err := http.NewRequest(http.MethodPost, r.URL+"/console/review", strings.NewReader(form.Encode()))
		testbed.OK(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if resp, body := ask(t, req, cookie); !strings.Contains(resp.Header.Get("Location"), want) {
			t.Errorf("%d %s %s", resp.StatusCode, resp.Header.Get("Location"), body)
		}
	}
	if labels, err := r.Index.Labels(t.Context()); err != nil || len(labels) != 1 || labels[0].Reason != "0" {
		t.Errorf("%+v %v", labels, err)
	}
}

// TestDecisionRefused: an editor reads that nothing was done, and not that something went wrong.
func TestDecisionRefused(t *testing.T) {
	t.Parallel()
	r := start(t)
	cookie := session(t, r, "jg_lin_secret-token-1")
	_, page := get(t, r, "/console/item?id=kiln-reword", cookie)
	answers := func(why, item, says string) {
		form := url.Values{"form": {formToken(t, page)}, "item": {item}, "kind": {"release"}}
		if resp, body := post(t, r, "/console/decide", form, cookie); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s", why, resp.StatusCode, body)
		}
	}
	refused := func(why string) { answers(why, "kiln-reword", "没有执行") }
	db, err := sql.Open("sqlite3", filepath.Join(r.Index.Dir(), index.FileName)+"?_txlock=immediate&_busy_timeout=10000")
	testbed.OK(t, err)
	lock, err := db.Begin()
	testbed.OK(t, err)
	answers("a locked catalogue", "typhoon-reword", "已经收到")
	testbed.OK(t, errors.Join(lock.Rollback(), db.Close()))
	for verdict(t, r, "typhoon-reword") != index.Unique {
		time.Sleep(time.Millisecond)
	}
	js := bus.JetStream(r.Conn)
	stream, err := js.Stream(t.Context(), bus.StreamItems)
	testbed.OK(t, err)
	full := stream.CachedInfo().Config
	full.MaxBytes = 1
	if _, err := js.UpdateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	refused("a full stream")
	testbed.OK(t, js.DeleteStream(t.Context(), bus.StreamItems))
	refused("no stream")
	r.Bus.Close()
	for r.Conn.IsConnected() {
		time.Sleep(time.Millisecond)
	}
	refused("no bus")
	if got := verdict(t, r, "kiln-reword"); got != index.Duplicate {
		t.Errorf("a decision that was refused made it %v", got)
	}
}

func TestSourcePolicy(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/source?name="+url.QueryEscape("晨帆网"))
	choose := func(field, value string) {
		t.Helper()
		b.to("/console/source?name=" + url.QueryEscape("晨帆网"))
		b.script(`document.querySelector("main select[name=` + field + `]").value = "` + value + `"`)
		b.click(`form.filters[action="/console/sources"] button`)
		b.shown(".notice")
		b.to("/console/sources")
	}
	choose("policy", "licensed")
	b.seen(".log", "授权转载")
	if p := r.Index.SourcePolicies()["晨帆网"]; p.Policy != index.SourceLicensed || p.By != "林编辑" {
		t.Errorf("%+v", p)
	}
	// At once: its next copy is accepted, linked, and shown with its story.
	it, err := r.Index.Item(t.Context(), "fishpond")
	testbed.OK(t, err)
	submit(t, r, ingest.Item{ID: "licensed copy", Title: it.Title, Body: *it.Body, Source: "晨帆网"})
	if got := verdict(t, r, "licensed copy"); got != index.Unique {
		t.Errorf("a licensed copy is %v", got)
	}
	b.to("/console/item?id=licensed+copy")
	b.seen(".verdict", "授权转载")
	b.to("/console/sources")
	b.click(".log button")
	b.seen(".log", "授权转载 → 普通")
	// A key sets it back.
	b.to("/console/source?name=" + url.QueryEscape("晨帆网"))
	b.script(`document.querySelector("main select[name=policy]").value = "watched"`)
	b.click(`form.filters[action="/console/sources"] button`)
	b.seen(".log", "普通 → 重点关注")
	b.key("u")
	b.seen(".log", "重点关注 → 普通")
	choose("strictness", "copies")
	b.seen(".log", "普通 → 普通 · 只拒照抄")
	b.to("/console/item?id=licensed+copy")
	b.seen(".facts .mark", "普通 · 只拒照抄")
	b.to("/console/sources")
	b.click(".log button")
	b.seen(".log", "普通 · 只拒照抄 → 普通")
	if p := r.Index.SourcePolicies()["晨帆网"]; p.Strictness != "" {
		t.Errorf("%+v", p)
	}
}

// TestOperators: the page says what is wrong now and what is free on the disk, and has the dead letters.
func TestOperators(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	full.Store(true)
	r := start(t, func(c *serviceConfig) {
		c.Console = func(c *console.Config) {
			c.Free = func() (uint64, error) { return 7 << 30, nil }
			c.Ready = map[string]func() error{"disk": func() error {
				if full.Load() {
					return errors.New("no space is left")
				}
				return nil
			}}
		}
	})
	for range 26 {
		if err := r.Publish(t.Context(), []byte(`{"id":"broken","title":7}`)); err == nil {
			t.Fatal("a broken item was taken")
		}
	}
	b := open(t, r, 1280, 900)
	b.signIn("jg_ops_secret-token-3", "/console/operators")
	b.seen("main", "title")
	b.seen(".tiles", "7.0 GB")
	b.seen("strong.bad", "no space is left")
	b.click(".pager a")
	b.seen("td.num", "26")
	full.Store(false)
	b.to("/console/operators")
	b.seen(".empty", "现在没有问题")
	b.click("table a[href^='/console/dead']")
	b.seen("pre", `"title": 7`)
	b.click("main button.primary")
	b.seen(".notice", "已重新投递")
}

// roundUps publishes an article and longer ones that have it in them.
func roundUps(t *testing.T, r *service, n int) (ids []string) {
	t.Helper()
	it, err := r.Index.Item(t.Context(), "fishpond")
	testbed.OK(t, err)
	for i := range n {
		id := "round-up-" + itoa(uint32(i+1))
		submit(t, r, ingest.Item{ID: id, Title: "一周综述 " + itoa(uint32(i+1)), Body: *it.Body + "\n" + village(300+i), Source: "综述网"})
		if verdict(t, r, id) == index.Suspect {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestWholeRow(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	ids := roundUps(t, r, 5)
	if len(ids) < 3 {
		t.Fatalf("%d of the round-ups are suspects", len(ids))
	}
	all := func(want index.Verdict) {
		t.Helper()
		for _, id := range ids {
			if got := verdict(t, r, id); got != want {
				t.Errorf("%s is %v, want %v", id, got, want)
			}
		}
	}
	b, wu := open(t, r, 1280, 900), open(t, r, 1280, 900)
	path := "/console/suspects?at=" + ids[0]
	b.signIn("jg_lin_secret-token-1", path)
	wu.signIn("jg_wu_secret-token-22", path)
	b.seen(".series", "整组放行")
	waiting := strings.Count(b.text("aside ol"), "\n")
	// With shift, a key decides about the whole row instead of one item.
	b.key("A")
	b.seen(".notice", "放行")
	b.seen(".notice", itoa(uint32(len(ids)))+" 篇")
	all(index.Unique)
	list, err := r.Index.Decisions(t.Context(), index.DecisionQuery{Limit: 10})
	if err != nil || len(list) != 1 || list[0].Count != len(ids) || list[0].By != "林编辑" {
		t.Fatalf("%+v %v", list, err)
	}
	if left := strings.Count(b.text("aside ol"), "\n"); left >= waiting {
		t.Errorf("the row still waits: %d lines, %d before", left, waiting)
	}
	// The second editor still sees the row, and gets the first decision.
	wu.key("R")
	wu.seen(".notice.conflict", "等 "+itoa(uint32(len(ids)))+" 篇")
	all(index.Unique)
	b.to("/console/item?id=" + ids[1])
	b.seen(".log", "放行")
	b.to("/console/decisions")
	b.seen(".log", "等 "+itoa(uint32(len(ids)))+" 篇")
	b.click(".log form button")
	b.seen(".notice", "已撤销")
	all(index.Suspect)
	b.to(path)
	b.key("R")
	b.seen(".notice", "判为重复")
	all(index.Duplicate)
	b.key("u")
	b.seen(".notice", "已撤销")
	all(index.Suspect)
	// After a decision about one of them, the row of wu is out of date.
	wu.to(path)
	b.to(path)
	b.key("a")
	b.seen(".notice", "放行")
	wu.key("A")
	wu.seen(".notice.conflict", "林编辑")
	if got := verdict(t, r, ids[1]); got != index.Suspect {
		t.Errorf("%s is %v", ids[1], got)
	}
}

// TestBoilerplate: an editor puts a passage of a source in, and takes that back. What is no passage stays in the field.
func TestBoilerplate(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/sources")
	b.click(`td a[href="/console/source?name=%E6%99%A8%E5%B8%86%E7%BD%91" i]`)
	b.seen("h1", "晨帆网")
	b.enter(`form.filters[action^="/console/source?"] [name=text]`, "……")
	b.click(`form.filters[action^="/console/source?"] button`)
	b.seen("main [role=alert]", "请填一句有文字的话")
	if got := eval[string](b, `document.querySelector('form[action^="/console/source?"] input[name=text]:not([type=hidden])').value`); got != "……" {
		t.Errorf("the field has %q", got)
	}
	b.enter(`form.filters[action^="/console/source?"] [name=text]`, "每天一早见。")
	b.enter(`form[action^="/console/source?"] [name=reason]`, "页脚")
	b.click(`form.filters[action^="/console/source?"] button`)
	b.seen("td", "编辑加入 林编辑")
	if got, err := r.Index.Boilerplate(t.Context(), "晨帆网"); err != nil || len(got) != 1 || got[0].State != "in" || got[0].By != "林编辑" || got[0].Text != "每天一早见" {
		t.Errorf("%+v", got)
	}
	b.key("u")
	b.seen("main", "还没有反复出现的短句")
	// What was put in is among what people decided, and is taken back there.
	b.enter(`form.filters[action^="/console/source?"] [name=text]`, "每天一早见。")
	b.click(`form.filters[action^="/console/source?"] button`)
	b.seen("td", "编辑加入 林编辑")
	b.to("/console/decisions")
	b.seen(".log", "晨帆网：每天一早见")
	b.click(`form[action^="/console/source?"] button`)
	b.until(`!document.body.innerText.includes("每天一早见")`)
	if got, err := r.Index.Boilerplate(t.Context(), "晨帆网"); err != nil || len(got) != 0 {
		t.Errorf("%+v", got)
	}
	// What becomes several clauses is shown first, and put in when the editor says so.
	b.to("/console/source?name=" + url.QueryEscape("晨帆网"))
	b.enter(`form.filters[action^="/console/source?"] [name=text]`, "每天一早见。关注我们的客户端。")
	b.click(`form.filters[action^="/console/source?"] button`)
	b.seen("main", "这段话会成为 2 条套话")
	b.seen(".plainlist", "关注我们的客户端")
	if got, err := r.Index.Boilerplate(t.Context(), "晨帆网"); err != nil || len(got) != 0 {
		t.Errorf("put in before the editor said so: %+v", got)
	}
	b.click(`form[action^="/console/source?"] button[autofocus]`)
	b.seen("td", "编辑加入 林编辑")
	if got, err := r.Index.Boilerplate(t.Context(), "晨帆网"); err != nil || len(got) != 2 {
		t.Errorf("%+v", got)
	}
	// What is learned has its number of articles and one of them; single words are no rows.
	press := &indextest.Press{Rand: rand.New(rand.NewPCG(1, 2))}
	for i := range 5 {
		submit(t, r, ingest.Item{ID: "daily-" + itoa(uint32(i)), Title: "日报 " + itoa(uint32(i)), Source: "日报网",
			Body: "近日，" + string(press.Words(150)) + "\n本报记者林知远一早写来。"})
	}
	b.to("/console/source?name=" + url.QueryEscape("日报网"))
	b.seen(`td a[href="/console/item?id=daily-4"]`, "5 篇")
	b.seen("main", "另有单个的词：近日")
	if n := eval[int](b, `document.querySelectorAll("td button[aria-label$=近日]").length`); n != 0 {
		t.Errorf("近日 has %d rows", n)
	}
	// A page stays small, however many there are; a link leads to the others.
	for i := range 60 {
		passage := index.Passage{Text: string(press.Words(40)), State: index.PassageIn, By: "林编辑", Reason: itoa(uint32(i))}
		if _, err := r.Ingest.Edit(t.Context(), index.Edit{Passage: &index.SourcePassage{Source: "日报网", Passage: passage}}); err != nil {
			t.Fatal(err)
		}
	}
	_, page := get(t, r, "/console/source?name="+url.QueryEscape("日报网"), session(t, r, "jg_lin_secret-token-1"))
	if len(page) > 60<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
	b.to("/console/source?from=50&name=" + url.QueryEscape("日报网"))
	if n := eval[int](b, `document.querySelectorAll("td button").length`); n == 0 || n >= 25 || !strings.Contains(page, "from=25") {
		t.Errorf("%d rows on the last page of passages", n)
	}
}

// TestSourceRejections: the page of a source says whom it copies and who copies it, and has its rejections.
func TestSourceRejections(t *testing.T) {
	t.Parallel()
	r := start(t, onTheBus)
	b := open(t, r, 1280, 900)
	b.signIn("jg_lin_secret-token-1", "/console/source?name="+url.QueryEscape("众览客户端"))
	b.seen(".pairs a", "晨帆网")
	b.seen(".tabs [aria-current]", "它被拒收的")
	n := eval[int](b, `[...document.querySelectorAll(".half .badge.duplicate")].filter(e => e.parentNode.innerText.includes("众览客户端")).length`)
	if all := eval[int](b, `document.querySelectorAll("tbody .rules a").length`); n == 0 || n != all {
		t.Fatalf("%d of %d rows are rejections of the source", n, all)
	}
	first := eval[string](b, `document.querySelector(".half:has(.badge.duplicate) .title").getAttribute("href")`)
	b.to(first)
	b.click("[name=kind][value=release]")
	b.shown(".notice")
	b.to("/console/source?name=" + url.QueryEscape("众览客户端"))
	if eval[bool](b, `!!document.querySelector('.half .title[href="`+first+`"]')`) {
		t.Errorf("%s is released, and among the rejections", first)
	}
}
