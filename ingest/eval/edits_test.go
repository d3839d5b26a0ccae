package eval

import (
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// edit is a change that copies undergo.
type edit struct {
	name string
	// least and most bound the share of edited articles that is rejected for the original.
	least, most float64
	apply       func(e *editor, it *ingest.Item)
}

// edits: what changes the form alone stays a copy, always. A headline, a notice or an order of
// one's own adds nothing. A fifth of foreign text is something new.
var edits = []edit{
	{"HTML", 1, 1, (*editor).html},
	{"punctuation of half width", 1, 1, replace(halfWidth)},
	{"digits and letters of full width", 1, 1, (*editor).fullWidth},
	{"upper case", 1, 1, func(_ *editor, it *ingest.Item) { it.Body = strings.ToUpper(it.Body) }},
	{"traditional characters", 1, 1, (*editor).traditional},
	{"spaces", 1, 1, between(" ", "\u3000")},
	{"zero-width characters", 1, 1, between("\u200b", "\u200d", "\ufeff")},
	{"another headline", .98, 1, (*editor).headline},
	{"a notice appended", .95, 1, func(_ *editor, it *ingest.Item) { it.Body += "\n" + notice }},
	{"paragraphs in another order", .98, 1, (*editor).shuffle},
	{"other punctuation", .98, 1, replace(otherMarks)},
	{withForeign, 0, 0, (*editor).foreign},
}

const withForeign = "a fifth of foreign text"

// TestEdits edits articles of the bundled sample.
func TestEdits(t *testing.T) {
	items, rows := sample(t)
	var originals []*ingest.Item
	for i, it := range items {
		if rows[i].Kind == "original" && utf8.RuneCountInString(it.Body) >= 120 {
			originals = append(originals, it)
		}
	}
	each := testbed.Count(15, 40, 40)
	if testbed.Race { // nothing is new to the detector
		each = 3
	}
	// In the sample's short articles, a fifth is a sentence or two.
	rejectEdited(t, originals[:min(each, len(originals))], .6)
}

// rejectEdited judges every article, edited in every way, against the original. The share of
// articles with foreign text that may be rejected is given: it depends on their length.
func rejectEdited(t *testing.T, originals []*ingest.Item, foreign float64) {
	t.Helper()
	b := bench(t, originals, nil)
	e := &editor{rand.New(rand.NewPCG(1, 2)), originals, traditionalForms(t)}
	for _, d := range edits {
		var all Row
		for _, original := range originals {
			it := *original
			it.ID = "edited"
			if d.apply(e, &it); it == *original {
				continue // it has nothing to edit
			}
			j := b.judge(t.Context(), Label{A: original.ID, B: it.ID}, original, &it, time.Now())
			all.add(&j)
			if j.Verdict != index.Duplicate && d.least == 1 {
				t.Logf("%s, of %s: %s %s", d.name, original.ID, j.Verdict, j.Event.Why)
			}
		}
		if d.name == withForeign {
			d.most = foreign
		}
		check(t, bound{d.name + " → rejected", all.Rejected, all.Pairs, d.least, d.most})
	}
}

// bound limits a share. It is a little wider than the present value, so that only a loss
// of quality fails the test.
type bound struct {
	name        string
	n, of       int
	least, most float64
}

func check(t *testing.T, bounds ...bound) {
	t.Helper()
	for _, b := range bounds {
		line := fmt.Sprintf("%-44s %5d of %5d, %5.1f %%  (bounds %.1f to %.1f)",
			b.name, b.n, b.of, 100*share(b.n, b.of), 100*b.least, 100*b.most)
		if v := share(b.n, b.of); v < b.least || v > b.most || b.of == 0 {
			t.Error(line)
		} else {
			t.Log(line)
		}
	}
}

// editor edits articles. What it inserts comes from other articles.
type editor struct {
	rng      *rand.Rand
	items    []*ingest.Item
	variants map[rune]rune // simplified to its one traditional form
}

// traditionalForms inverts the table of traditional characters, for the simplified characters
// that have exactly one traditional form.
func traditionalForms(t *testing.T) map[rune]rune {
	table, err := data.FS.ReadFile("tables/variants.txt")
	testbed.OK(t, err)
	back, inPhrase := map[rune][]rune{}, map[rune]bool{}
	for line := range strings.Lines(string(table)) {
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

func (e *editor) other() *ingest.Item { return e.items[e.rng.IntN(len(e.items))] }

func (e *editor) html(it *ingest.Item) {
	var b strings.Builder
	b.WriteString(`<div class="article"><style>p{margin:0}</style>`)
	for line := range strings.SplitSeq(it.Body, "\n") {
		fmt.Fprintf(&b, "<p>&nbsp;&nbsp;<span>%s</span></p>\n<!-- -->", html.EscapeString(line))
	}
	b.WriteString(`<script>var share = "分享";</script></div>`)
	it.Body = b.String()
}

func (e *editor) fullWidth(it *ingest.Item) {
	it.Body = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r - '!' + '！'
		}
		return r
	}, it.Body)
}

func (e *editor) traditional(it *ingest.Item) {
	it.Body = strings.Map(func(r rune) rune {
		if t, ok := e.variants[r]; ok {
			return t
		}
		return r
	}, it.Body)
}

var halfWidth = strings.NewReplacer("，", ",", "。", "｡", "“", "\"", "”", "\"", "：", ":", "；", ";", "（", "(", "）", ")",
	"、", "､", "！", "!!", "？", "?")

// otherMarks end clauses where sentences ended, and the other way.
var otherMarks = strings.NewReplacer("，", "。", "。", "，", "；", "！", "：", "——", "、", " ", "“", "『", "”", "』")

func replace(marks *strings.Replacer) func(*editor, *ingest.Item) {
	return func(_ *editor, it *ingest.Item) { it.Body = marks.Replace(it.Body) }
}

// between puts marks between Han characters, after one in ten.
func between(marks ...string) func(*editor, *ingest.Item) {
	return func(e *editor, it *ingest.Item) {
		var b strings.Builder
		last := ' '
		for _, r := range it.Body {
			if unicode.Is(unicode.Han, last) && unicode.Is(unicode.Han, r) && e.rng.IntN(10) == 0 {
				b.WriteString(marks[e.rng.IntN(len(marks))])
			}
			b.WriteRune(r)
			last = r
		}
		it.Body = b.String()
	}
}

func (e *editor) headline(it *ingest.Item) { it.Title = "快讯！" + head(e.other()) }

// notice is in no list of page residue.
const notice = "周末的夜读栏目将继续关注此事的进展，欢迎把您的想法写在留言区。"

// sentences splits a text after its sentence ends; joined they are the text.
func sentences(s string) (out []string) {
	from := 0
	for i, r := range s {
		if strings.ContainsRune("。！？!?\n", r) {
			end := i + utf8.RuneLen(r)
			out, from = append(out, s[from:end]), end
		}
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

// shuffle puts paragraphs of two sentences in another order.
func (e *editor) shuffle(it *ingest.Item) {
	paragraphs := slices.Collect(slices.Chunk(sentences(it.Body), 2))
	e.rng.Shuffle(len(paragraphs), func(i, k int) { paragraphs[i], paragraphs[k] = paragraphs[k], paragraphs[i] })
	it.Body = strings.Join(slices.Concat(paragraphs...), "")
}

// foreign inserts sentences of other articles: a fifth of what results. They come from the first half of a body and
// go into the first half of one: at its end are the notices of the page, which add nothing wherever they are put.
func (e *editor) foreign(it *ingest.Item) {
	remaining := utf8.RuneCountInString(it.Body) / 4
	s := sentences(it.Body)
	for remaining > 0 {
		foreign := sentences(e.other().Body)
		from := e.rng.IntN((len(foreign) + 1) / 2)
		runes := []rune(strings.Join(foreign[from:min(len(foreign), from+3)], ""))
		inserted := string(runes[:min(len(runes), remaining)])
		remaining -= len(runes)
		s = slices.Insert(s, e.rng.IntN(len(s)/2+1), inserted)
	}
	it.Body = strings.Join(s, "")
}
