package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
	"jianguo/segment"
)

type searchView struct {
	Text    string
	Found   []found
	Held    bool // those found have the text, or a part of it; else they have its words
	More    bool // than are listed
	Part    bool // of the text was looked up, which is long
	Of      map[uint32]*index.Brief
	Sources []string // whose names have the text
	whole   int      // how many have all of it
}

// foundMost is how many items a search lists at most.
const foundMost = 50

// searched is how long a text may be that is searched for by a link. A longer one stays out of
// addresses, and so out of logs and histories of browsers.
const searched = 200

// search takes an id, an address, words, the name of a source, or a part of a text. It opens what
// alone has the text, or alone has all of it and comes first. What is short and typed becomes a link.
func (c *Console) search(ctx context.Context, p *page) string {
	text := p.e.FormValue("q")
	if p.e.Request().Method == http.MethodPost && len(text) <= searched {
		return address("/console/search", "q", text)
	}
	trimmed := strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	v := &searchView{Text: trimmed}
	p.show("search", "", "查找", "Search", v)
	if trimmed == "" {
		return "search"
	}
	if b := cmp.Or(p.Brief(trimmed), p.Brief(text)); b != nil {
		return address("/console/item", "id", b.ID)
	} else if n, err := strconv.ParseUint(strings.TrimPrefix(trimmed, "#"), 10, 32); err == nil && trimmed[0] == '#' {
		return address("/console/cluster", "id", strconv.FormatUint(n, 10))
	}
	if len(text) <= searched {
		p.Query = trimmed
		if v.Sources = must.Get(c.cfg.Browse.SourcesNamed(ctx, trimmed, 5)); slices.Contains(v.Sources, trimmed) {
			return address("/console/source", "name", trimmed)
		}
	}
	c.lookUp(ctx, v)
	switch {
	case v.whole == 1 && v.Found[0].Share == 1, len(v.Found) == 1 && v.Found[0].Share > sure:
		return address("/console/item", "id", v.Found[0].ID)
	case len(v.Found) == 0 && len(v.Sources) == 1:
		return address("/console/source", "name", v.Sources[0])
	}
	var ofs []uint32
	for _, f := range v.Found {
		ofs = append(ofs, f.Of)
	}
	v.Of = must.Get(c.cfg.Index.Briefs(ctx, ofs))
	return "search"
}

// wordsSearched bounds the words that are looked up together.
const wordsSearched = 64

// Find looks up the words of a text.
func Find(ctx context.Context, b *browse.Model, s *segment.Segmenter, text string, limit int) ([]uint32, error) {
	words := appendWords(s, nil, text, false)
	return b.Search(ctx, words[:min(len(words), wordsSearched)], limit)
}
