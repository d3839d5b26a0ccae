package console

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"jianguo/api/console/diff"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/segment"
)

type searchView struct {
	Text    string
	Found   []found
	Held    bool   // those found have the text, or a part of it; else they have its words
	More    bool   // than are listed
	Part    bool   // of the text was looked up, which is long
	Behind  uint64 // events that cannot be found yet, if they are many or nothing was found
	Of      map[uint32]*index.Brief
	Sources []string // whose names have the text
	whole   int      // how many have all of it
}

const (
	maxFound   = 50
	manyBehind = 1000 // events; fewer are found in seconds
)

// maxQuery is how long a text may be, in bytes, that is searched for by a link. A longer one stays out of
// addresses, and so out of logs and histories of browsers.
const maxQuery = 200

// search takes an id, an address, words, the name of a source, or a part of a text. It opens the only item
// found if it has most of the text, or the only one with all of it if it comes first. A short text becomes a link.
func (c *Console) search(ctx context.Context, p *page) string {
	text := p.e.FormValue("q")
	if p.e.Request().Method == http.MethodPost && len(text) <= maxQuery {
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
	if len(text) <= maxQuery {
		p.Query = trimmed
		if v.Sources = must.Get(c.cfg.Browse.SourcesNamed(ctx, trimmed, 5)); slices.Contains(v.Sources, trimmed) {
			return address("/console/source", "name", trimmed)
		}
	}
	c.lookUp(ctx, v)
	if _, behind := must.Get2(c.cfg.Browse.Lag(ctx)); behind >= manyBehind || len(v.Found) == 0 {
		v.Behind = behind
	}
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

const maxWords = 64

// Find looks up the words of a text.
func Find(ctx context.Context, b *browse.Model, s *segment.Segmenter, text string, limit int) ([]uint32, error) {
	words := appendWords(s, nil, text, false)
	return b.Search(ctx, words[:min(len(words), maxWords)], limit)
}

const (
	minPassage   = 12  // characters of a passage that is looked up; a shorter text is a search for words
	passageWords = 16  // that are looked up together
	maxPassages  = 200 // that are looked up of a text, evenly spread
	passageItems = 400 // that have its words, the newest
	maxRead      = 60  // items whose texts are read: those with most of the passages
	sure         = 0.8 // of a text: what has so much of it, and alone, is what was pasted
)

// passages are the words by which a text is looked up, clause by clause. Those at the ends of a
// clause may be cut in another way where it stands, and are left out.
func (c *Console) passages(text string) (out [][]string) {
	clause := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("。！？；，、：…×\n", r) }) {
		if clause += part; utf8.RuneCountInString(clause) < minPassage {
			continue
		}
		words := appendWords(c.cfg.Segmenter, nil, clause, false)
		if len(words) > 4 {
			words = words[1 : len(words)-1]
		}
		out, clause = slices.AppendSeq(out, slices.Chunk(words, passageWords)), ""
	}
	return out
}

// normalForm is an article as it is compared.
func (c *Console) normalForm(title, body string) *diff.Form {
	t := ingest.Normal(c.cfg.Segmenter, title, body)
	return diff.NewForm(t.Title + "\n" + t.Body)
}

type found struct {
	index.Brief
	Share float64 // of the text, that the item has; 0: it has the words
	order float64 // the same, and 1 more if it was rejected
	extra int     // 0: it has the text to the letter; else the higher, the longer it is
}

// lookUp finds the items of an address, those that have the text or sentences of it, or else those
// that have its words.
func (c *Console) lookUp(ctx context.Context, v *searchView) {
	if fields := strings.Fields(v.Text); len(v.Text) <= 2*maxQuery {
		for _, field := range fields { // an address may stand behind a headline
			if list := must.Get(c.cfg.Browse.Search(ctx, []string{browse.URLWord(field)}, maxFound)); len(list) > 0 {
				v.Found = c.readFound(ctx, list, 1)
				return
			}
		}
	}
	passages := c.passages(v.Text)
	c.findHolders(ctx, v, passages)
	if v.Held || len(passages) > 1 {
		return
	}
	list := must.Get(Find(ctx, c.cfg.Browse, c.cfg.Segmenter, v.Text, maxFound+1))
	v.More = len(list) > maxFound
	v.Found = c.readFound(ctx, list[:min(len(list), maxFound)], 0)
}

func (c *Console) readFound(ctx context.Context, ordinals []uint32, share float64) (out []found) {
	briefs := must.Get(c.cfg.Index.Briefs(ctx, ordinals))
	for _, o := range ordinals {
		if b := briefs[o]; b != nil {
			out = append(out, found{Brief: *b, Share: share})
		}
	}
	return out
}

// findHolders finds the items that have passages of a text: the rejected ones first, then those that
// have most of it and least other text.
func (c *Console) findHolders(ctx context.Context, v *searchView, passages [][]string) {
	votes, step := map[uint32]int{}, 1+len(passages)/maxPassages
	for i := 0; i < len(passages); i += step {
		for _, o := range must.Get(c.cfg.Browse.Search(ctx, passages[i], passageItems)) {
			votes[o]++
		}
	}
	likely := slices.SortedFunc(maps.Keys(votes), func(a, b uint32) int {
		return cmp.Or(votes[b]-votes[a], cmp.Compare(b, a))
	})
	text := c.normalForm("", v.Text)
	for _, f := range c.readFound(ctx, likely[:min(len(likely), maxRead)], 0) {
		if body := must.Get(c.cfg.Index.Text(ctx, f.Ordinal)); body != nil {
			if f.Share = 1; !strings.Contains(f.Title+"\n"+*body, v.Text) {
				item := c.normalForm(f.Title, *body)
				f.Share, f.extra = diff.Share(text, item), 1+len(item.Form)
			}
			if f.order = f.Share; f.Verdict == index.Duplicate {
				f.order++
			}
			if f.Share == 1 {
				v.whole++
			}
			if f.Share > 0 {
				v.Found = append(v.Found, f)
			}
		}
	}
	v.Held, v.Part = len(v.Found) > 0, step > 1
	v.More = v.Held && len(likely) > maxRead
	slices.SortStableFunc(v.Found, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.order, a.order), a.extra-b.extra)
	})
}

// IndexWords returns a function for browse.Config.Words: the words of an article's
// headline and text.
func IndexWords(s *segment.Segmenter) func(title, body string) []string {
	return func(title, body string) []string {
		return appendWords(s, appendWords(s, nil, title, true), body, true)
	}
}

// particles are characters that are rarely part of a name.
const particles = "的了在是和与及或把被对从向到着过就也都而且但则之其此这那我你他她它们个为以于将由又还很更最不没有上下中里后前时等各每该并使让给比吗呢吧啊"

// texts are buffers of segmentation, *segment.Text.
var texts = sync.Pool{New: func() any { return new(segment.Text) }}

// appendWords appends the words of a text. Of words of one Han character, two that are
// adjacent make one word: names that the dictionary does not have look so. With
// inner, the pairs of characters in longer words are added (an article about
// 气象台 is found by 气象).
func appendWords(s *segment.Segmenter, dst []string, text string, inner bool) []string {
	t := texts.Get().(*segment.Text)
	defer texts.Put(t)
	s.Cut(t, text)
	before := "" // the single character before, which may be part of a name
	t.Words(func(w string) bool {
		first, size := utf8.DecodeRuneInString(w)
		single := unicode.Is(unicode.Han, first) && size == len(w)
		name := single && !strings.Contains(particles, w)
		switch {
		case name && before != "":
			dst = append(dst, before+w)
		case !single && w != "":
			if dst = append(dst, w); inner {
				dst = appendInner(dst, w)
			}
		}
		if before = ""; name {
			before = w
		}
		return true
	})
	return dst
}

// appendInner appends the pairs of Han characters in a word of three or more.
func appendInner(dst []string, word string) []string {
	r := []rune(word)
	for i := 1; len(r) > 2 && i < len(r); i++ {
		if unicode.Is(unicode.Han, r[i-1]) && unicode.Is(unicode.Han, r[i]) {
			dst = append(dst, string(r[i-1:i+1]))
		}
	}
	return dst
}
