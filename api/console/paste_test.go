//go:build !race

package console_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"jianguo/data"
	"jianguo/index"
)

// titleLink is an item in a list.
var titleLink = regexp.MustCompile(`class="title" href="/console/item\?id=([^"]+)"`)

// TestPaste pastes the text of every item of the sample into the search box, with its headline and without, and parts
// of it. Each leads to its page, or to a list with it: the author's own text is found where it was rejected, too.
func TestPaste(t *testing.T) {
	t.Parallel()
	r := start(t)
	cookie := session(t, r, "lin-secret-token-1")
	_, home := get(t, r, "/", cookie)
	form := formToken(t, home)
	paste := func(text string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, r.URL+"/console/search", strings.NewReader(url.Values{"q": {text}, "form": {form}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return ask(t, req, cookie)
	}
	corpus, err := data.FS.ReadFile("sample/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	pasted, listed := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(corpus)); lines.Scan(); {
		var it struct{ ID, Title, Body string }
		if err := json.Unmarshal(lines.Bytes(), &it); err != nil {
			t.Fatal(err)
		}
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
