package verdict

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/sketch"
)

// Bounds of a subject in runes, of where one is sought in bytes, and the least length of what both texts have around it.
const (
	subjectMost = 16
	headMost    = 300
	headingMost = 8 // of a first clause that is one
	frame       = 4
	wordMost    = 3 // of a name, what both texts have of it
	companyMost = 8 // the same of a company: 科技股份有限公司
)

// subjects returns what two texts of one form are about: the companies of two notices, the places of two warnings. It is what
// stands at the first place where their headlines have other words, which the other text does not say.
func subjects(a, b *sketch.Aligned) (later, earlier string, found bool) {
	for _, slot := range slots(headline(a), headline(b)) {
		if later, earlier = slot[0], slot[1]; subject(later, a, b) && subject(earlier, b, a) {
			return later, earlier, true
		}
	}
	return "", "", false
}

// headline is that of a text, or its beginning, where crawlers put headlines.
func headline(s *sketch.Aligned) string {
	if s.Title != "" {
		return s.Title
	}
	return s.Text
}

// subject reports whether words may be what a text is about: without a headline, a text says them again.
func subject(words string, own, other *sketch.Aligned) bool {
	n := utf8.RuneCountInString(words)
	return n >= 2 && n <= subjectMost && !strings.ContainsFunc(words, func(r rune) bool { return unicode.IsDigit(r) || r == '\n' }) &&
		(own.Title != "" || strings.Count(own.Text, words) > 1) && !strings.Contains(other.Title, words) && !strings.Contains(other.Text, words)
}

// slots are the places where two headlines differ: their first clauses, as 青禾银行 before a colon, and what stands between runs
// in common of frame runes, with what is cut off at the ends of a clause.
func slots(a, b string) (out [][2]string) {
	x, y := []rune(a[:min(headMost, len(a))]), []rune(b[:min(headMost, len(b))])
	if i, j := slices.Index(x, '\n'), slices.Index(y, '\n'); i > 0 && j > 0 && max(i, j) <= headingMost {
		if _, _, found := next(x[i:], y[j:]); found {
			out = append(out, [2]string{string(x[:i]), string(y[:j])})
		}
	}
	for within := false; ; within = true { // a clause, after a first slot
		same := common(x, y)
		i, j, found := next(x[len(same):], y[len(same):])
		if !found {
			return out
		}
		clause := 0
		for k, r := range same {
			if r == '\n' {
				clause, within = k+1, false
			}
		}
		from := len(same)
		if from-clause <= wordMost && !within {
			from = clause
		}
		x, y, i, j = x[from:], y[from:], i+len(same)-from, j+len(same)-from
		end := cut(common(x[i:], y[j:]))
		out = append(out, [2]string{string(x[:i+end]), string(y[:j+end])})
		x, y = x[i:], y[j:]
	}
}

func common(x, y []rune) []rune {
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return x[:n]
}

// cut is how many runes behind a slot belong to the name in it: up to the end of the clause, or of a company's name.
func cut(same []rune) int {
	if end := slices.Index(same, '\n'); end >= 0 && end <= wordMost {
		return end
	}
	words := string(same[:min(companyMost, len(same))])
	if name, _, found := strings.Cut(words, "公司"); found && !strings.Contains(name, "\n") {
		return utf8.RuneCountInString(name + "公司")
	}
	return utf8.RuneCountInString(words[:sketch.NameSuffix(words)])
}

// next is where the first run in common of frame runes begins.
func next(x, y []rune) (i, j int, found bool) {
	for sum := range 2 * subjectMost {
		for i := range sum + 1 {
			if j := sum - i; i+frame <= len(x) && j+frame <= len(y) && slices.Equal(x[i:i+frame], y[j:j+frame]) {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}
