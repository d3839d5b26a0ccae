//go:build !race

package console_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"jianguo/data"
)

// TestPaste pastes the text of every item of the sample into the search box, with its headline
// and without. Each leads to its own page, or to a list with it if others have the same text:
// a rejected copy to itself, where it can be released, not to its lead.
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
		for _, text := range []string{it.Body, it.Title + "\n" + it.Body, it.Title + " " + it.Body} {
			pasted++
			resp, page := paste(text)
			if link := resp.Header.Get("Location"); strings.HasPrefix(link, "/console/search") {
				resp, page = get(t, r, link, cookie) // a short text is found like a word
			}
			to := resp.Header.Get("Location")
			switch {
			case resp.StatusCode == http.StatusSeeOther && to == "/console/item?id="+url.QueryEscape(it.ID):
			case resp.StatusCode == http.StatusOK && strings.Contains(page, "收录了这段文字的稿件") && strings.Contains(page, "id="+url.QueryEscape(it.ID)+`"`):
				listed++
			case text == it.Body && utf8.RuneCountInString(text) < 60 && strings.Contains(page, "/console/item?id="+url.QueryEscape(it.ID)+`"`):
				// The headline of a short text is a part of it; without it, its words find it.
			default:
				t.Errorf("%s %.20q: %d %s", it.ID, text, resp.StatusCode, to)
			}
		}
	}
	if pasted < 300 || listed == 0 {
		t.Errorf("%d texts were pasted, %d led to a list", pasted, listed)
	}

	resp, page := paste(strings.Repeat("长长的稿件，没有收录过的文字。", 12_000)) // half a megabyte
	if resp.StatusCode != http.StatusOK || !strings.Contains(page, "也没有含这些词的稿件") {
		t.Errorf("a long text: %d", resp.StatusCode)
	}
	if resp, _ := paste("台风"); resp.Header.Get("Location") != "/console/search?q=%E5%8F%B0%E9%A3%8E" {
		t.Errorf("a word becomes no link: %q", resp.Header.Get("Location"))
	}
}
