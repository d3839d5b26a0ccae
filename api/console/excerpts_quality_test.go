//go:build quality

package console_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index"
	"jianguo/internal/jsonl"
	"jianguo/internal/testbed"
)

const (
	corpusItems = 6300 // of news-dev are published
	pasted      = 400  // rejected ones are looked for, and so many texts that are not held
	bodyMost    = 60 << 10
)

type article struct{ id, title, body string }

// articles reads news-dev. One without a headline gets its first characters, which its body then has not.
func articles(t *testing.T) (out []article) {
	t.Helper()
	dir := os.Getenv("JIANGUO_CORPUS")
	if dir == "" {
		t.Fatal("JIANGUO_CORPUS is not set: it names the folder of news-dev.jsonl.gz, which is not part of this repository")
	}
	err := jsonl.Read(nil, filepath.Join(dir, "news-dev.jsonl.gz"), func(_ int, line []byte) error {
		var it struct{ ID, Title, Body string }
		err := json.Unmarshal(line, &it)
		if it.Title == "" {
			body := []rune(it.Body)
			it.Title, it.Body = string(body[:20]), string(body[20:])
		}
		out = append(out, article{it.ID, it.Title, it.Body})
		return err
	})
	testbed.OK(t, err)
	return out
}

// letters is a text as a reader compares it: without what is between the words.
var letters = regexp.MustCompile(`[^\p{L}\p{N}]+`)

func plain(text string) string { return letters.ReplaceAllString(strings.ToLower(text), "") }

// browser pastes texts into the search box.
type browser struct {
	t         *testing.T
	client    *http.Client
	url, form string
	took      []time.Duration
}

var (
	formOf     = regexp.MustCompile(`name="form" value="([^"]+)"`)
	headlineOf = regexp.MustCompile(`class="title" href="/console/item\?id=([^"]+)"`)
)

// paste returns the ids found, in order, and whether the page says that nothing is held.
func (b *browser) paste(text string) (ids []string, nothing bool) {
	b.t.Helper()
	start := time.Now()
	resp, err := b.client.PostForm(b.url+"/console/search", url.Values{"q": {text}, "form": {b.form}})
	for err == nil && strings.HasPrefix(resp.Header.Get("Location"), "/console/search") {
		resp.Body.Close()
		resp, err = b.client.Get(b.url + resp.Header.Get("Location"))
	}
	testbed.OK(b.t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 400 || len(page) > bodyMost {
		b.t.Fatalf("%.40q: %d, %d bytes, %v", text, resp.StatusCode, len(page), err)
	}
	b.took = append(b.took, time.Since(start))
	if to := resp.Header.Get("Location"); to != "" {
		page = []byte(`class="title" href="` + to + `"`)
	}
	for _, m := range headlineOf.FindAllSubmatch(page, -1) {
		id, err := url.QueryUnescape(string(m[1]))
		testbed.OK(b.t, err)
		ids = append(ids, id)
	}
	return ids, bytes.Contains(page, []byte("未收录"))
}

// TestExcerpts publishes real articles, and pastes parts of those that were rejected: each is among the first three
// that the page lists, or stands behind articles with the same words. A text of which no sentence is held finds nothing.
func TestExcerpts(t *testing.T) {
	all := articles(t)
	var corpus bytes.Buffer
	forms := make([]string, corpusItems)
	for i, a := range all[:corpusItems] {
		line, err := json.Marshal(map[string]string{"id": a.id, "title": a.title, "body": a.body})
		testbed.OK(t, err)
		corpus.Write(append(line, '\n'))
		forms[i] = plain(a.title + a.body)
	}
	r, err := startService(t.Context(), serviceConfig{Dir: t.TempDir(), Corpus: corpus.Bytes(), Backdate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	jar, err := cookiejar.New(nil)
	testbed.OK(t, err)
	b := &browser{t: t, url: r.URL, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	home, err := b.client.Get(r.URL + "/")
	testbed.OK(t, err)
	page, err := io.ReadAll(home.Body)
	home.Body.Close()
	if m := formOf.FindSubmatch(page); err == nil && m != nil {
		b.form = string(m[1])
	}
	var rejected []int
	duplicate := map[string]string{} // the plain text of each rejected one, by id
	for i, a := range all[:corpusItems] {
		it, err := r.Index.Item(t.Context(), a.id)
		testbed.OK(t, err)
		if it.Event.Verdict == index.Duplicate {
			duplicate[a.id] = forms[i]
			if len(rejected) < pasted {
				rejected = append(rejected, i)
			}
		}
	}
	if len(rejected) < pasted {
		t.Fatalf("%d articles were rejected", len(rejected))
	}
	for name, part := range map[string]func(article) string{
		"whole": func(a article) string { return a.title + "\n" + a.body },
		"body":  func(a article) string { return a.body },
		"body less its last 60 characters": func(a article) string {
			body := []rune(a.body)
			return string(body[:len(body)-60])
		},
		"the middle":   func(a article) string { body := []rune(a.body); return string(body[len(body)/3 : len(body)*2/3]) },
		"one sentence": func(a article) string { return sentence(a, duplicate) },
	} {
		found, behind := 0, 0
		for _, i := range rejected {
			a, text := all[i], part(all[i])
			ids, _ := b.paste(text)
			at := slices.Index(ids, a.id)
			switch has := plain(text); {
			case at >= 0 && at < 3:
				found++
			case at >= 0 && !slices.ContainsFunc(ids[:at], func(id string) bool { return !strings.Contains(duplicate[id], has) }):
				behind++
			default:
				t.Errorf("%s of %s: at %d of %d: %.80q", name, a.id, at, len(ids), text)
			}
		}
		t.Logf("%s: %d of %d among the first three, %d behind more rejected articles with the same words", name, found, len(rejected), behind)
	}
	var held []uint64
	for _, form := range forms {
		held = runs(held, form)
	}
	slices.Sort(held)
	missing := 0
	for _, a := range all[corpusItems:] {
		if missing == pasted {
			break
		}
		if slices.ContainsFunc(runs(nil, plain(a.title+a.body)), func(h uint64) bool { _, is := slices.BinarySearch(held, h); return is }) {
			continue
		}
		missing++
		if ids, nothing := b.paste(a.title + "\n" + a.body); len(ids) > 0 || !nothing {
			t.Errorf("%s, of which nothing is held, finds %v", a.id, ids)
		}
	}
	slices.Sort(b.took)
	t.Logf("%d texts without a sentence that is held; a page took %v, %v at the 95th percentile", missing, b.took[len(b.took)/2], b.took[len(b.took)*95/100])
}

var ends = regexp.MustCompile(`[^。！？；\n]+[。！？；\n]*`)

// sentence is a sentence of 25 characters or more of an article, from its middle: the first that at most three rejected
// articles have, or else the first.
func sentence(a article, duplicate map[string]string) string {
	var all []string
	for _, s := range ends.FindAllString(a.body, -1) {
		if len([]rune(plain(s))) >= 25 && !strings.Contains(s, "广告") { // an advert is no sentence of the article
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return a.body
	}
	all = append(all[len(all)/2:], all[:len(all)/2]...)
	for _, s := range all {
		form, n := plain(s), 0
		for _, text := range duplicate {
			if strings.Contains(text, form) {
				n++
			}
		}
		if n <= 3 {
			return s
		}
	}
	return all[0]
}

// runs are the hashes of every twelve characters of a text in a row.
func runs(out []uint64, form string) []uint64 {
	r := []rune(form)
	for i := range max(0, len(r)-11) {
		out = append(out, xxh3.HashString(string(r[i:i+12])))
	}
	return out
}
