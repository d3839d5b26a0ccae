//go:build !race

package console_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"jianguo/bus"
	"jianguo/data"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/fixture"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
)

// titleLink is an item in a list.
var titleLink = regexp.MustCompile(`class="title" href="/console/item\?id=([^"]+)"`)

// TestPaste pastes the text of every item of the sample into the search box, with its headline and without, and parts
// of it. Each leads to its page, or to a list with it: the author's own text is found where it was rejected, too.
func TestPaste(t *testing.T) {
	t.Parallel()
	r := start(t)
	cookie := session(t, r, "jg_lin_secret-token-1")
	_, home := get(t, r, "/", cookie)
	form := formToken(t, home)
	paste := func(text string) (*http.Response, string) {
		t.Helper()
		return post(t, r, "/console/search", url.Values{"q": {text}, "form": {form}}, cookie)
	}
	corpus, err := data.FS.ReadFile("sample/corpus.jsonl")
	testbed.OK(t, err)
	pasted, listed := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(corpus)); lines.Scan(); {
		var it struct{ ID, Title, Body string }
		testbed.OK(t, json.Unmarshal(lines.Bytes(), &it))
		stored, err := r.Index.Item(t.Context(), it.ID)
		if err != nil || stored.Body == nil || *stored.Body != it.Body || utf8.RuneCountInString(it.Body) < 20 || strings.Contains(it.Body, "<") {
			continue // a later version has another text; a few words are a search; markup is not what an editor pastes
		}
		body := []rune(it.Body)
		for way, text := range map[string]string{
			"body": it.Body, "whole": it.Title + "\n" + it.Body, "on one line": it.Title + " " + it.Body,
			"the middle": string(body[len(body)/3 : len(body)*2/3]), "without its end": string(body[:max(len(body)-60, len(body)/2)]),
		} {
			if utf8.RuneCountInString(text) < 40 {
				continue // a few words are a search
			}
			pasted++
			resp, page := paste(text)
			if link := resp.Header.Get("Location"); strings.HasPrefix(link, "/console/search") {
				resp, page = get(t, r, link, cookie)
			}
			at := -1
			for i, m := range titleLink.FindAllStringSubmatch(page, -1) {
				if m[1] == url.QueryEscape(it.ID) {
					at = i
				}
			}
			switch to := resp.Header.Get("Location"); {
			case to == "/console/item?id="+url.QueryEscape(it.ID):
			case strings.Contains(page, "这段文字出现在这些稿件里") && at >= 0 && (at < 3 || stored.Event.Verdict != index.Duplicate):
				listed++
			default:
				t.Errorf("%s of %s, %.20q: %d %s, listed at %d", way, it.ID, text, resp.StatusCode, to, at)
			}
		}
	}
	if pasted < 400 || listed == 0 {
		t.Errorf("%d texts were pasted, %d led to a list", pasted, listed)
	}

	resp, page := paste(strings.Repeat("长长的稿件，没有收录过的文字。", 12_000)) // half a megabyte
	if resp.StatusCode != http.StatusOK || !strings.Contains(page, "未收录") {
		t.Errorf("a long text: %d", resp.StatusCode)
	}
	// The same address without its scheme, behind a headline as phones share it, and the name of a source.
	for text, to := range map[string]string{"fazhi.example.cn/a/20250609-112/": "/console/item?id=fishpond",
		"鱼塘被收回 https://fazhi.example.cn/a/20250609-112?utm_source=x": "/console/item?id=fishpond", "朔原广播": "/console/source?name=" + url.QueryEscape("朔原广播")} {
		resp, page := get(t, r, "/console/search?q="+url.QueryEscape(text), cookie)
		if !strings.Contains(resp.Header.Get("Location")+page, to) {
			t.Errorf("%s leads to %q", text, resp.Header.Get("Location"))
		}
	}
	if resp, _ := paste("台风"); resp.Header.Get("Location") != "/console/search?q=%E5%8F%B0%E9%A3%8E" {
		t.Errorf("a word becomes no link: %q", resp.Header.Get("Location"))
	}
}

// sampleIDs are the ids of the sample.
func sampleIDs(t *testing.T) (ids []string) {
	t.Helper()
	corpus, err := data.FS.ReadFile("sample/corpus.jsonl")
	testbed.OK(t, err)
	for line := range bytes.Lines(corpus) {
		var it struct{ ID string }
		testbed.OK(t, json.Unmarshal(line, &it))
		ids = append(ids, it.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// complaint is an editor who answers an author. Each link that is followed and each button that is pressed after the
// paste is an action.
type complaint struct {
	*testing.T
	r        *service
	cookie   *http.Cookie
	at, page string
	actions  int
}

// to goes where a link or a form leads.
func (c *complaint) to(resp *http.Response, page string) {
	c.Helper()
	for resp.StatusCode == http.StatusSeeOther {
		c.at = resp.Header.Get("Location")
		resp, page = get(c.T, c.r, c.at, c.cookie)
	}
	if c.page = page; resp.StatusCode != http.StatusOK {
		c.Fatalf("%s: %d", c.at, resp.StatusCode)
	}
}

// submit sends the form of the page that has a part, with one of its buttons or fields.
func (c *complaint) submit(part, name, value string) {
	c.Helper()
	for _, form := range regexp.MustCompile(`(?s)<form .*?</form>`).FindAllString(c.page, -1) {
		if action := regexp.MustCompile(`action="([^"]+)"`).FindStringSubmatch(form); strings.Contains(form, part) {
			fields := url.Values{}
			for _, m := range field.FindAllStringSubmatch(form, -1) {
				fields.Set(m[1], html.UnescapeString(m[2]))
			}
			fields.Set(name, value)
			c.to(post(c.T, c.r, html.UnescapeString(action[1]), fields, c.cookie))
			return
		}
	}
	c.Fatalf("%s has no form with %s", c.at, part)
}

// ways are what an author or an editor may paste of an article.
var ways = []struct {
	name string
	part func(it *index.Item, body []rune) string
}{
	{"whole", func(it *index.Item, body []rune) string { return it.Title + "\n" + string(body) }},
	{"body", func(_ *index.Item, body []rune) string { return string(body) }},
	{"body less its last 60 characters", func(_ *index.Item, body []rune) string { return string(body[:len(body)-60]) }},
	{"the middle", func(_ *index.Item, body []rune) string { return string(body[len(body)/3 : len(body)*2/3]) }},
	{"one sentence", func(_ *index.Item, body []rune) string {
		sentences := strings.SplitAfter(string(body), "。")
		for _, s := range append(sentences[len(sentences)/2:], sentences...) {
			if utf8.RuneCountInString(s) >= 25 {
				return strings.TrimSpace(s)
			}
		}
		return string(body)
	}},
	{"source", func(it *index.Item, _ []rune) string { return it.Source }},
	{"address", func(it *index.Item, _ []rune) string { return it.URL }},
}

// TestComplaintActions: from each kind of paste, a rejected article of the sample is opened and compared, released, and
// its author answered in three actions at most.
func TestComplaintActions(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := &complaint{T: t, r: r, cookie: session(t, r, "jg_lin_secret-token-1")}
	tried := map[string]int{}
	eligible := 0
	for _, id := range sampleIDs(t) {
		it, err := r.Index.Item(t.Context(), id)
		if err != nil || it.Event.Verdict != index.Duplicate || len([]rune(*it.Body)) < 120 || strings.Contains(*it.Body, "<") {
			continue
		}
		if eligible++; eligible > 12*len(ways) {
			break
		}
		for w, way := range ways {
			text := way.part(it, []rune(*it.Body))
			if text == "" || w != eligible%len(ways) { // each way takes its turn
				continue
			}
			tried[way.name]++
			c.to(get(t, r, "/", c.cookie))
			c.submit(`id="q"`, "q", text)
			c.actions = 0
			own := "/console/item?id=" + url.QueryEscape(id)
			if c.at != own {
				if !strings.Contains(c.page, `class="title" href="`+own+`"`) {
					t.Errorf("%s of %s leads to %s, which does not list it", way.name, id, c.at)
					continue
				}
				c.actions++
				c.to(get(t, r, own, c.cookie))
			}
			if !strings.Contains(c.page, `<section class="diff"`) {
				t.Errorf("%s of %s: the page compares with nothing", way.name, id)
			}
			c.actions++
			c.submit(`name="kind" value="release"`, "kind", "release")
			c.actions++ // a key copies the answer
			if !regexp.MustCompile(`<textarea id="reply-zh"[^>]*>[^<]*已经放行`).MatchString(c.page) || !strings.Contains(c.page, `data-copy="#reply-zh" data-key="y"`) {
				t.Errorf("%s of %s: released, it has no answer for its author", way.name, id)
			}
			if c.actions > 3 {
				t.Errorf("%s of %s takes %d actions", way.name, id, c.actions)
			}
			c.submit(`name="undo"`, "kind", index.Undo)
		}
	}
	for _, way := range ways {
		if tried[way.name] < 3 {
			t.Errorf("%s was tried %d times", way.name, tried[way.name])
		}
	}
}

// TestSearchBehind: while the search has not taken in what has arrived, it does not just say that nothing is held.
func TestSearchBehind(t *testing.T) {
	t.Parallel()
	r := start(t)
	cookie := session(t, r, "jg_lin_secret-token-1")
	const behind = "最近的还查不到：约 1 篇"
	find := func() string {
		_, page := get(t, r, "/console/search?q="+url.QueryEscape("量子纠缠鲸鱼"), cookie)
		return page
	}
	if page := find(); !strings.Contains(page, "未收录") || strings.Contains(page, behind) {
		t.Error("nothing waits, and the page does not say that nothing is held")
	}
	db, err := sqlite.Open(filepath.Join(r.Index.Dir(), browse.FileName), sqlite.Writes, "NORMAL")
	testbed.OK(t, err)
	defer db.Close()
	tx, err := db.Conn(t.Context())
	testbed.OK(t, err)
	hold := func(query string) {
		if _, err := tx.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	hold(`BEGIN IMMEDIATE`) // the search waits
	if _, err := fixture.Submit(t.Context(), bus.JetStream(r.Conn), bus.SubjectPublish,
		[]byte(`{"id":"whale","title":"量子纠缠鲸鱼","body":"一头鲸鱼。"}`)); err != nil {
		t.Fatal(err)
	}
	if page := find(); !strings.Contains(page, behind) {
		t.Error("the page does not say that an item waits")
	}
	hold(`ROLLBACK`)
}
