package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/segment"
)

type searchView struct {
	Text  string
	Found []index.Brief
	Same  bool // Found have the text that was pasted
	Of    map[uint32]*index.Brief
	More  bool // than are listed
}

// foundMost is how many items a search lists at most, the newest.
const foundMost = 100

// shortest is from how many characters on an input may be a whole text.
const shortest = 20

// searched is how long a text may be that is searched for by a link. A longer one stays out of
// addresses, and so out of logs and histories of browsers.
const searched = 200

// paste takes what was typed or pasted into the search box. What is short becomes a link; a
// long text is answered at once.
func (c *Console) paste(ctx context.Context, p *page) string {
	text := p.e.Request().PostForm.Get("q")
	if len(text) <= searched {
		return p.redirect("/console/search?" + url.Values{"q": {text}}.Encode())
	}
	if next := c.lookFor(ctx, p, text); next != "" {
		must.Do(p.write(http.StatusOK, next))
	}
	return ""
}

// search answers a link.
func (c *Console) search(ctx context.Context, p *page) string {
	return c.lookFor(ctx, p, p.e.QueryParam("q"))
}

// pageNamedBy is the page of an item or a story that a text names by its id; empty: it names none.
func (c *Console) pageNamedBy(ctx context.Context, p *page, trimmed, text string) (url string) {
	for _, id := range []string{trimmed, text} {
		if len(id) > 256 {
			continue
		}
		_, err := c.cfg.Index.Item(ctx, id)
		if err == nil {
			return p.ItemURL(id)
		}
		if !errors.Is(err, index.ErrNotFound) {
			must.Do(err)
		}
	}
	if n, ok := strings.CutPrefix(trimmed, "#"); ok {
		if id, err := strconv.ParseUint(n, 10, 32); err == nil {
			return p.ClusterURL(uint32(id))
		}
	}
	return ""
}

// lookFor takes an id, an address, words, or a whole text.
func (c *Console) lookFor(ctx context.Context, p *page, text string) string {
	trimmed := strings.TrimSpace(text)
	if len(text) <= searched {
		p.Query = trimmed
	}
	v := &searchView{Text: trimmed}
	p.show("search", "", "查找", "Search", v)
	if trimmed == "" {
		return "search"
	}
	if to := c.pageNamedBy(ctx, p, trimmed, text); to != "" {
		return p.redirect(to)
	}
	address := p.LinkOf(trimmed) != ""
	var found []uint32
	if !address && utf8.RuneCountInString(trimmed) >= shortest {
		found = c.same(trimmed)
		v.Same = len(found) > 0
	}
	switch {
	case v.Same:
	case address:
		found = must.Get(c.cfg.Browse.Search(ctx, []string{browse.URLWord(trimmed)}, 50))
	default:
		if found = must.Get(c.find(ctx, trimmed, foundMost+1)); len(found) > foundMost {
			found, v.More = found[:foundMost], true
		}
	}
	briefs := must.Get(c.cfg.Index.Briefs(ctx, found))
	if (address || v.Same || len(text) > searched) && len(found) == 1 && briefs[found[0]] != nil {
		// The address or a passage of exactly one item leads to its page.
		return p.redirect(p.ItemURL(briefs[found[0]].ID))
	}
	var ofs []uint32
	for _, o := range found {
		if b := briefs[o]; b != nil {
			v.Found = append(v.Found, *b)
			ofs = append(ofs, b.Of)
		}
	}
	v.Of = must.Get(c.cfg.Index.Briefs(ctx, ofs))
	return "search"
}

// headlineTries is how many places may end the headline of a pasted text.
const headlineTries = 40

// same returns the items whose text was pasted, with or without the headline before it;
// rejected copies included. A page may have a space where its source has a line break.
func (c *Console) same(text string) []uint32 {
	words := c.words.texts.Get().(*segment.Text)
	defer c.words.texts.Put(words)
	text = strings.ToValidUTF8(text[:min(len(text), ingest.MaxText)], "")
	title, body := "", text
	for range headlineTries {
		if c.cfg.Segmenter.Analyze(words, title, body); words.Blank {
			break
		}
		if found := c.cfg.Index.Same(words.Exact); len(found) > 0 {
			return found[:min(len(found), 50)]
		}
		end := strings.IndexFunc(body, unicode.IsSpace)
		if end < 0 {
			break
		}
		body = strings.TrimSpace(body[end:])
		title = strings.TrimSpace(text[:len(text)-len(body)])
	}
	return nil
}

// Finder returns the console's search as a function for api.Config.Find.
func Finder(b *browse.Model, s *segment.Segmenter) func(
	ctx context.Context, words string, limit int) ([]uint32, error) {
	return (&Console{cfg: Config{Browse: b}, words: newCutter(s)}).find
}

// wordsSearched bounds the words of a pasted text that are looked up.
const wordsSearched = 64

// find looks up words.
func (c *Console) find(ctx context.Context, text string, limit int) ([]uint32, error) {
	words := c.words.words(nil, text, false)
	return c.cfg.Browse.Search(ctx, words[:min(len(words), wordsSearched)], limit)
}
