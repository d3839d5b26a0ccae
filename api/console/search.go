package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
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
	// Passages show the words in the text, by ordinal; none if the headline has
	// all of them.
	Passages map[uint32][]passagePart
	// Check is the verdict that a pasted text would get, Nearest the article most
	// like it.
	Check   *index.Event
	More    int // how many to ask for next; 0: that is all
	Nearest *index.Item
	Compare *comparison
}

// finder answers the search box.
type finder struct{ *Console }

// foundStep is how many items a page of a search has more than the one before; foundMost is
// the most.
const foundStep, foundMost = 50, 500

// pasted is from how many characters on the input is a text, not a search.
const pasted = 60

// shortest is from how many characters on an input may be a whole text.
const shortest = 20

// searched is how long a text may be that is searched for by a link. A longer one stays out of
// addresses, and so out of logs and histories of browsers.
const searched = 200

// paste takes what was typed or pasted into the search box. What is short becomes a link; a
// long text is answered at once.
func (c finder) paste(ctx context.Context, p *page) string {
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
func (c finder) search(ctx context.Context, p *page) string {
	return c.lookFor(ctx, p, p.e.QueryParam("q"))
}

// pageNamedBy is the page of an item or a story that a text names by its id; empty: it names none.
func (c finder) pageNamedBy(ctx context.Context, p *page, trimmed, text string) (url string) {
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
func (c finder) lookFor(ctx context.Context, p *page, text string) string {
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
	length := utf8.RuneCountInString(trimmed)
	whole := !address && length >= shortest // it may be all of an article
	var found []uint32
	if whole {
		found = c.same(trimmed)
		v.Same = len(found) > 0
	}
	switch {
	case v.Same:
	case address:
		found = must.Get(c.cfg.Browse.Search(ctx, []string{browse.URLWord(trimmed)}, 50))
	case length < pasted:
		most := max(foundStep, int(p.number("most")))
		if found = must.Get(c.find(ctx, trimmed, min(most, foundMost)+1)); len(found) > most {
			found, v.More = found[:most], most+foundStep
		}
	}
	if whole && len(found) == 0 {
		c.nearest(ctx, p, v, trimmed)
	}
	briefs := must.Get(c.cfg.Index.Briefs(ctx, found))
	if (address || v.Same) && len(found) == 1 && briefs[found[0]] != nil {
		// The address or the text of exactly one item leads to its page.
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
	if !v.Same {
		c.passages(ctx, v, trimmed)
	}
	return "search"
}

// headlineTries is how many places may end the headline of a pasted text.
const headlineTries = 40

// same returns the items whose text was pasted, with or without the headline before it;
// rejected copies included. A page may have a space where its source has a line break.
func (c finder) same(text string) []uint32 {
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

// passages sorts items with the words in their headline first, and shows the
// words in the text of the others.
func (c finder) passages(ctx context.Context, v *searchView, text string) {
	words, _ := c.words.query(text)
	words = append(words, strings.Fields(text)...)
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	inTitle := func(b *index.Brief) bool {
		return strings.Contains(b.Title, text) || len(words) > 0 &&
			!slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(b.Title, w) })
	}
	slices.SortStableFunc(v.Found, func(a, b index.Brief) int {
		switch x, y := inTitle(&a), inTitle(&b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	v.Passages = map[uint32][]passagePart{}
	for i := range v.Found {
		b := &v.Found[i]
		if inTitle(b) {
			continue
		}
		if body := must.Get(c.cfg.Index.Text(ctx, b.Ordinal)); body != nil {
			shown, _ := readableText(*body)
			v.Passages[b.Ordinal] = passage(oneLine(shown), words)
		}
	}
}

type passagePart struct {
	Text  string
	Found bool // it is one of the words
}

// around and follow are how many characters a passage has before and from the
// first word found.
const around, follow = 16, 70

// passage is the part of a text around the first of the words, with all of them marked; nil if
// it has none (they may be written with other characters).
func passage(text string, words []string) (out []passagePart) {
	next := func(text string) (at, length int) {
		at = len(text)
		for _, w := range words {
			if i := strings.Index(text, w); i >= 0 && (i < at || i == at && len(w) > length) {
				at, length = i, len(w)
			}
		}
		return at, length
	}
	first, _ := next(text)
	if first == len(text) {
		return nil
	}
	before, after := []rune(text[:first]), []rune(text[first:])
	if len(before) > around {
		before = append([]rune{'…'}, before[len(before)-around:]...)
	}
	text = string(before) + shortened(string(after), follow)
	for text != "" {
		at, length := next(text)
		out = append(out, passagePart{text[:at], false}, passagePart{text[at : at+length], true})
		text = text[at+length:]
	}
	return out
}

// nearest checks which verdict the text would get, and compares it with the
// nearest article.
func (c finder) nearest(ctx context.Context, p *page, v *searchView, text string) {
	body := strings.ToValidUTF8(text[:min(len(text), ingest.MaxText)], "")
	now := c.cfg.Now()
	e := must.Get(c.cfg.Index.Check(ctx, ingest.Prepare(c.cfg.Segmenter, &ingest.Item{Body: body}), uint32(now.Unix())))
	v.Check = &e
	if e.Of != "" {
		v.Nearest = must.Get(c.cfg.Index.Item(ctx, e.Of))
		v.Compare = p.comparing(v.Nearest, &index.Item{Arrived: now, Body: &body, History: []index.Event{e}})
	}
}

// Finder returns the console's search as a function for api.Config.Find.
func Finder(b *browse.Model, s *segment.Segmenter) func(
	ctx context.Context, words string, limit int) ([]uint32, error) {
	return finder{&Console{cfg: Config{Browse: b}, words: newCutter(s)}}.find
}

// find looks up words. If too few articles have them, those whose headline has
// the same characters follow.
func (c finder) find(ctx context.Context, text string, limit int) ([]uint32, error) {
	words, pairs := c.words.query(text)
	found, err := c.cfg.Browse.Search(ctx, words, limit)
	if err != nil || len(found) >= limit || len(pairs) == 0 {
		return found, err
	}
	more, err := c.cfg.Browse.Search(ctx, pairs, limit)
	for _, o := range more {
		if len(found) < limit && !slices.Contains(found, o) {
			found = append(found, o)
		}
	}
	return found, err
}
