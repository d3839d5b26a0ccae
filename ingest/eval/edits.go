package eval

import (
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/ingest"
	"jianguo/segment"
)

// Edit is a kind of change that copies undergo.
type Edit struct {
	Name string
	// Form: only the form changes, and the copy must be a duplicate.
	Form bool
	// Strengths are shares of the text, or counts, in Unit.
	Strengths []float64
	Unit      string
	apply     func(e *editor, it *ingest.Item, strength float64)
}

// Edits are the edits in the order they are reported.
func Edits() []Edit {
	once := []float64{1}
	return []Edit{
		{Name: "html", Form: true, Strengths: once, apply: (*editor).html},
		{Name: "full-width", Form: true, Strengths: once, apply: (*editor).fullWidth},
		{Name: "traditional", Form: true, Strengths: once, apply: (*editor).traditional},
		{Name: "zero-width", Form: true, Strengths: []float64{.05, .5}, Unit: "of characters", apply: between("\u200b", "\u200d", "\ufeff")},
		{Name: "spacing", Form: true, Strengths: []float64{.05, .5}, Unit: "of characters", apply: between(" ", "\u3000")},
		{Name: "dots", Form: true, Strengths: []float64{.05, .5}, Unit: "of characters", apply: between("·", ".")},
		{Name: "set apart", Strengths: once, apply: (*editor).apart},
		{Name: "radicals", Form: true, Strengths: once, apply: (*editor).radicals},
		{Name: "emoji", Form: true, Strengths: []float64{.02, .1}, Unit: "of characters", apply: between("😀", "🔥", "👍")},
		{Name: "punctuation", Form: true, Strengths: once, apply: (*editor).punctuation},
		{Name: "boilerplate", Form: true, Strengths: once, apply: (*editor).boilerplate},
		{Name: "headline", Strengths: once, apply: (*editor).headline},
		{Name: "notice", Strengths: []float64{1, 2, 3}, Unit: "sentences", apply: (*editor).notice},
		{Name: "cut from the end", Strengths: []float64{.1, .25, .5}, apply: (*editor).cutEnd},
		{Name: "cut from the start", Strengths: []float64{.1, .25, .5}, apply: (*editor).cutStart},
		{Name: "sentence order", Strengths: []float64{.1, .5, 1}, Unit: "of sentences moved", apply: (*editor).order},
		{Name: "foreign paragraphs", Strengths: []float64{.1, .25, .5, 1}, Unit: "of the length", apply: (*editor).insert},
		{Name: "words replaced", Strengths: []float64{.01, .02, .05, .1, .2}, apply: (*editor).words},
		{Name: "character noise", Strengths: []float64{.01, .02, .05, .1}, apply: (*editor).noise},
		{Name: "headline, notice, 2 % of words", Strengths: once, apply: func(e *editor, it *ingest.Item, _ float64) {
			e.headline(it, 1)
			e.notice(it, 1)
			e.words(it, .02)
		}},
		{Name: "traditional, html, cut 10 %", Strengths: once, apply: func(e *editor, it *ingest.Item, _ float64) {
			e.cutEnd(it, .1)
			e.traditional(it, 1)
			e.html(it, 1)
		}},
		{Name: "order, 5 % of words, 10 % foreign", Strengths: once, apply: func(e *editor, it *ingest.Item, _ float64) {
			e.order(it, .5)
			e.words(it, .05)
			e.insert(it, .1)
		}},
		{Name: "first sentences", Strengths: []float64{80}, Unit: "characters or more", apply: (*editor).lead},
		// No longer a copy: another bulletin of the same form.
		{Name: "figures changed", Strengths: []float64{.25, 1}, Unit: "of figures", apply: (*editor).figures},
	}
}

// editor edits articles. Text that it inserts comes from other articles of the corpus.
type editor struct {
	rng        *rand.Rand
	segmenter  *segment.Segmenter
	text       segment.Text
	items      []*ingest.Item
	vocabulary [5][]string   // words of the corpus by length in characters
	variants   map[rune]rune // simplified to its one traditional form
}

func newEditor(cfg *Config, items []*ingest.Item, seed uint64, variants map[rune]rune) *editor {
	e := &editor{rng: rand.New(rand.NewPCG(seed, 2)), segmenter: cfg.Segmenter, items: items, variants: variants}
	seen := map[string]bool{}
	for range 200 {
		it := items[e.rng.IntN(len(items))]
		e.segmenter.Analyze(&e.text, it.Title, it.Body)
		for w := range e.text.Words {
			n := utf8.RuneCountInString(w)
			if n > 1 && n < len(e.vocabulary) && !seen[w] && isHan(w) {
				w = strings.Clone(w)
				seen[w] = true
				e.vocabulary[n] = append(e.vocabulary[n], w)
			}
		}
	}
	return e
}

func isHan(s string) bool {
	for _, r := range s {
		if !unicode.Is(unicode.Han, r) {
			return false
		}
	}
	return true
}

// ReadVariants inverts the table of traditional characters in package data, for the
// simplified characters that have exactly one traditional form.
func ReadVariants(table string) map[rune]rune {
	back := map[rune][]rune{}
	inPhrase := map[rune]bool{}
	for line := range strings.Lines(table) {
		from, to, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		f, t := []rune(from), []rune(to)
		if len(f) == 1 && len(t) == 1 {
			back[t[0]] = append(back[t[0]], f[0])
			continue
		}
		for _, r := range f {
			inPhrase[r] = true
		}
	}
	one := map[rune]rune{}
	for simple, forms := range back {
		if len(forms) == 1 && !inPhrase[forms[0]] {
			one[simple] = forms[0]
		}
	}
	return one
}

func (e *editor) html(it *ingest.Item, _ float64) {
	var b strings.Builder
	b.WriteString(`<div class="article"><style>p{margin:0}</style>`)
	for line := range strings.SplitSeq(it.Body, "\n") {
		fmt.Fprintf(&b, "<p>&nbsp;&nbsp;<span>%s</span></p>\n<!-- -->", html.EscapeString(line))
	}
	b.WriteString(`<script>var share = "分享";</script></div>`)
	it.Body = b.String()
}

func (e *editor) fullWidth(it *ingest.Item, _ float64) {
	it.Body = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r - '!' + '！'
		}
		return r
	}, it.Body)
}

func (e *editor) traditional(it *ingest.Item, _ float64) {
	it.Body = strings.Map(func(r rune) rune {
		if t, ok := e.variants[r]; ok {
			return t
		}
		return r
	}, it.Body)
}

// between puts marks between Han characters.
func between(marks ...string) func(*editor, *ingest.Item, float64) {
	return func(e *editor, it *ingest.Item, strength float64) {
		var b strings.Builder
		last := ' '
		for _, r := range it.Body {
			if unicode.Is(unicode.Han, last) && unicode.Is(unicode.Han, r) && e.rng.Float64() < strength {
				b.WriteString(marks[e.rng.IntN(len(marks))])
			}
			b.WriteRune(r)
			last = r
		}
		it.Body = b.String()
	}
}

// apart puts one mark between every two characters. It is not an edit of form alone: a
// text that is mostly Latin stays apart.
func (e *editor) apart(it *ingest.Item, _ float64) {
	marks := []string{" ", "·", ".", "-", "|"}
	mark := marks[e.rng.IntN(len(marks))]
	it.Body = strings.Join(strings.Split(it.Body, ""), mark)
}

var radicals = strings.NewReplacer("长", "⻓", "车", "⻋", "见", "⻅", "风", "⻛", "龙", "⻰", "马", "⻢", "门", "⻔", "页", "⻚", "飞", "⻜", "民", "⺠", "西", "⻄",
	"人", "⼈", "大", "⼤", "日", "⽇", "月", "⽉", "水", "⽔", "一", "⼀", "心", "⼼", "口", "ロ", "工", "エ", "力", "カ")

func (e *editor) radicals(it *ingest.Item, _ float64) { it.Body = radicals.Replace(it.Body) }

var halfWidth = strings.NewReplacer("，", ",", "。", "｡", "“", "\"", "”", "\"", "：", ":", "；", ";", "（", "(", "）", ")", "、", "､", "！", "!!", "？", "?")

func (e *editor) punctuation(it *ingest.Item, _ float64) { it.Body = halfWidth.Replace(it.Body) }

func (e *editor) boilerplate(it *ingest.Item, _ float64) {
	it.Body = "原标题：\n" + it.Body + "\n返回搜狐，查看更多\n责任编辑：李华"
}

func (e *editor) headline(it *ingest.Item, _ float64) {
	other := e.items[e.rng.IntN(len(e.items))]
	it.Title = "快讯！" + cutRunes(first(other.Title, other.Body), 24)
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

func cutRunes(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

// notices are in no list of page residue.
var notices = []string{
	"读者若对文中内容有疑问，可在工作日致电本栏目的热线，我们会尽快请相关部门答复。",
	"周末的夜读栏目将继续关注此事的进展，欢迎把您的想法写在留言区。",
	"小编整理这篇稿子时参考了多家媒体的报道，如有疏漏，敬请谅解并帮忙指正。",
}

func (e *editor) notice(it *ingest.Item, strength float64) {
	for _, n := range notices[:int(strength)] {
		it.Body += "\n" + n
	}
}

// sentences splits a text after its sentence ends; joined they are the text.
func sentences(s string) []string {
	var out []string
	from := 0
	for i, r := range s {
		if strings.ContainsRune("。！？!?\n", r) {
			end := i + utf8.RuneLen(r)
			out = append(out, s[from:end])
			from = end
		}
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

func (e *editor) cutEnd(it *ingest.Item, strength float64) {
	r := []rune(it.Body)
	it.Body = string(r[:len(r)-int(strength*float64(len(r)))])
}

// lead leaves the first sentences, of so many characters or more.
func (e *editor) lead(it *ingest.Item, strength float64) {
	var b strings.Builder
	for _, s := range sentences(it.Body) {
		if utf8.RuneCountInString(b.String()) >= int(strength) {
			break
		}
		b.WriteString(s)
	}
	it.Body = b.String()
}

func (e *editor) cutStart(it *ingest.Item, strength float64) {
	r := []rune(it.Body)
	it.Body = string(r[int(strength*float64(len(r))):])
}

func (e *editor) order(it *ingest.Item, strength float64) {
	s := sentences(it.Body)
	if len(s) < 2 {
		return
	}
	for range max(1, int(strength*float64(len(s)))) {
		from := e.rng.IntN(len(s))
		moved := s[from]
		s = slices.Delete(s, from, from+1)
		s = slices.Insert(s, e.rng.IntN(len(s)+1), moved)
	}
	it.Body = strings.Join(s, "")
}

// insert adds sentences of other articles, together strength × the length.
func (e *editor) insert(it *ingest.Item, strength float64) {
	remaining := int(strength * float64(utf8.RuneCountInString(it.Body)))
	s := sentences(it.Body)
	for remaining > 0 {
		other := sentences(e.items[e.rng.IntN(len(e.items))].Body)
		if len(other) == 0 {
			continue
		}
		from := e.rng.IntN(len(other))
		paragraph := cutRunes(strings.Join(other[from:min(len(other), from+3)], ""), remaining)
		remaining -= max(1, utf8.RuneCountInString(paragraph))
		s = slices.Insert(s, e.rng.IntN(len(s)+1), paragraph)
	}
	it.Body = strings.Join(s, "")
}

// words replaces Han words by others of the same length.
func (e *editor) words(it *ingest.Item, strength float64) {
	e.segmenter.Analyze(&e.text, "", it.Body)
	var b strings.Builder
	rest := it.Body
	for w := range e.text.Words {
		i := strings.Index(rest, w)
		// Words come from the normal form. One that is not found nearby has
		// another form here, and is skipped.
		if i < 0 || i > 120 {
			continue
		}
		b.WriteString(rest[:i])
		rest = rest[i+len(w):]
		n := utf8.RuneCountInString(w)
		if isHan(w) && n < len(e.vocabulary) && len(e.vocabulary[n]) > 0 && e.rng.Float64() < strength {
			w = e.vocabulary[n][e.rng.IntN(len(e.vocabulary[n]))]
		}
		b.WriteString(w)
	}
	it.Body = b.String() + rest
}

// noise drops, doubles or replaces Han characters, as in bad scans.
func (e *editor) noise(it *ingest.Item, strength float64) {
	var b strings.Builder
	all := []rune(it.Body)
	for _, r := range all {
		if !unicode.Is(unicode.Han, r) || e.rng.Float64() >= strength {
			b.WriteRune(r)
			continue
		}
		switch e.rng.IntN(3) {
		case 1:
			b.WriteRune(r)
			b.WriteRune(r)
		case 2:
			b.WriteRune(all[e.rng.IntN(len(all))])
		}
	}
	it.Body = b.String()
}

// figures changes digits, by figure.
func (e *editor) figures(it *ingest.Item, strength float64) {
	var b strings.Builder
	inside, change := false, false
	for _, r := range it.Body {
		digit := r >= '0' && r <= '9'
		if digit && !inside {
			change = e.rng.Float64() < strength
		}
		inside = digit
		if digit && change {
			r = '1' + (r-'1'+1+rune(e.rng.IntN(7)))%9
		}
		b.WriteRune(r)
	}
	it.Body = b.String()
}
