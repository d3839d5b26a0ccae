package compare

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// openingTokens is the length of what says what a text without a headline is about.
const openingTokens = 40

// subjects are the words of the headline or the opening that a text has again, and that another text has nowhere.
func (d *Doc) subjects(other *Doc) (out []string) {
	opening, seen := d.span(0, min(openingTokens, len(d.tokens))).End, map[string]bool{}
	for w := range d.words(Span{End: len(d.Form)}) {
		word := d.text(w)
		if w.Start >= opening && !strings.Contains(d.headline, word) || utf8.RuneCountInString(word) < 2 ||
			isNumber(word) || seen[word] {
			continue
		}
		seen[word] = true
		if strings.Count(d.Form, word)+strings.Count(d.Text.Title, word) > 1 && !other.Has(word) {
			out = append(out, word)
		}
	}
	return out
}

// headlines are what each of two headlines says where the other one says something else, or at its beginning, and that
// its own text says, too: in articles of one form this is the company or the place. Or else each has a sign. One is
// empty: there are none.
func (x *Alignment) headlines() (later, earlier string) {
	l, e := x.Later.Doc, x.Earlier.Doc
	if a, b := x.Later.latinSubject(e), x.Earlier.latinSubject(l); a != "" && b != "" {
		return a, b
	}
	g := search{a: l.title, b: e.title, most: x.limits.GapPairs, budget: x.limits.GapPairs}
	g.fill(nil)
	parts := []gap{{0, len(l.title), 0, len(e.title)}}
	for _, p := range append(parts, between(g.out, len(l.title), len(e.title))...) {
		if later, earlier = l.subject(p.a0, p.a1, e), e.subject(p.b0, p.b1, l); later != "" && earlier != "" {
			break
		}
	}
	return later, earlier
}

// subject is the longest beginning of a part of the headline, up to a number, that the body has, too, if a name is in
// it and another text has it nowhere; empty: it has.
func (d *Doc) subject(from, to int, other *Doc) string {
	title := d.title[from:to]
	if before := slices.IndexFunc(title, token.number); before >= 0 {
		title = title[:before]
	}
	said := func(n int) string { return d.headline[title[0].start:title[n].end] }
	n := sort.Search(len(title), func(i int) bool { return !strings.Contains(d.Text.Body, said(i)) })
	if n == 0 {
		return ""
	}
	word := said(n - 1)
	at := strings.LastIndex(d.Form, word)
	s := Span{at, at + len(word)}
	if len(d.names(s)) == 0 && !d.unlisted(s) || other.Has(word) {
		return ""
	}
	return word
}

func isNumber(word string) bool { return word[0] >= '0' && word[0] <= '9' }

// latinSubject is the first Latin word of a headline that the other headline lacks, and that the text says where the
// other one says something else: a page that was made from the same template names its own subject there. Or that the
// other text has nowhere, in the first clause: a later one may be the name of a site.
func (s *Side) latinSubject(other *Doc) string {
	first, _, _ := strings.Cut(s.headline, "\n")
	for _, t := range s.title {
		word, same := s.headline[t.start:t.end], func(o token) bool { return o.id == t.id }
		if !t.latin() || slices.ContainsFunc(other.title, same) {
			continue
		}
		own := int(t.end) <= len(first) && len(word) > 1 && !other.Has(word)
		for i := 0; i < len(s.run) && !own; i++ {
			own = s.run[i] == 0 && same(s.tokens[i])
		}
		if own {
			return word
		}
	}
	return ""
}

// teaserMost is the length in bytes of the longest body that may say nothing of its article: 200 Han characters.
const teaserMost = 600

// Shares of the pairs of characters of a headline: one that has fewer in the body is not told there, and two that
// have fewer in common are of two articles.
const (
	toldLeast = .25
	sameTitle = .5
)

// Untold reports whether a short body says nothing of its headline, which is another than that of an earlier article
// with the same body: a feed that gives the same introduction to every article. title and earlier are the headlines
// as they were published.
func (t *Text) Untold(title, earlier string) bool {
	return len(t.Body) > 0 && len(t.Body) <= teaserMost && title != "" && earlier != "" && title != earlier &&
		pairShare(t.Title, t.Body) < toldLeast && pairShare(title, earlier) < sameTitle
}

// pairShare is the share of the pairs of characters of a text that another one has.
func pairShare(text, other string) float64 {
	runes, others, there := []rune(text), []rune(other), 0
	pairs := map[[2]rune]bool{}
	for i := range len(others) - 1 {
		pairs[[2]rune(others[i:])] = true
	}
	for i := range len(runes) - 1 {
		if pairs[[2]rune(runes[i:])] {
			there++
		}
	}
	return float64(there) / float64(max(len(runes)-1, 1))
}
