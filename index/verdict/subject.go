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
	againLeast  = 3 // times that a text says its second subject: a person, beside a place
	headMost    = 300
	headingMost = 8 // of a first clause that is one
	namedLeast  = 8 // without a headline, of a name with figures
	frame       = 4
	verb        = 2   // the same behind the name that both headlines begin with
	wordMost    = 3   // of a name, what both texts have of it
	companyMost = 8   // the same of a company: 科技股份有限公司
	shortText   = 300 // tokens: a longer text says what it is about three times
	matchesMost = 200
)

// subjects returns what two texts of one form are about: the companies of two notices, the places of two warnings. It is what
// stands at the first place where their headlines have other words, which the other text does not say, and at another one if the
// text says it again; or else before words that both texts have, and again in its own text alone.
func subjects(x *sketch.Alignment) (found [][2]string) {
	a, b := &x.Later, &x.Earlier
	for _, slot := range slots(headline(a), headline(b)) {
		later, earlier := named(slot[0], a), named(slot[1], b)
		again := min(strings.Count(a.Text, later), strings.Count(b.Text, earlier)) >= againLeast
		if subject(later, a, b) && subject(earlier, b, a) && (len(found) == 0 || again && !part(found[0][0], later)) {
			found = append(found, [2]string{later, earlier})
		}
	}
	if found != nil {
		return found[:min(2, len(found))]
	}
	if x, y := []rune(a.Title), []rune(b.Title); len(x) > 0 && len(y) > 0 {
		i, j, _ := next(x, y, verb) // 甘肃新增, 河南新增
		later, earlier := strings.TrimRight(string(x[:i]), sketch.Particles+"原无"), strings.TrimRight(string(y[:j]), sketch.Particles+"原无")
		if strings.Contains(a.Text, later) && strings.Contains(b.Text, earlier) && subject(later, a, b) && subject(earlier, b, a) {
			return [][2]string{{completed(later, a.Text), completed(earlier, b.Text)}}
		}
	}
	most := 1
	if min(len(a.Tokens), len(b.Tokens)) > shortText {
		most++
	}
	for _, m := range x.Matches[:min(matchesMost, len(x.Matches))] {
		l, e := before(a, m.Later), before(b, m.Earlier)
		if !subject(l, a, b) || !subject(e, b, a) {
			continue
		}
		n := min(strings.Count(a.Text, l), strings.Count(b.Text, e))
		if n > 1 && sketch.NameSuffix(a.Text[a.Tokens[m.Later].Start:]) > 0 {
			n++ // 银行
		}
		if n > most {
			found, most = [][2]string{{whole(l, a.Text), whole(e, b.Text)}}, n
		}
	}
	return found
}

// before are the words that stand before a token in its clause and in no run in common.
func before(s *sketch.Aligned, token int) string {
	from := token
	for from > 0 && s.Common[from-1] == 0 && !strings.HasPrefix(s.Text[s.Tokens[from-1].End:], "\n") {
		from--
	}
	if from == token {
		return ""
	}
	return strings.TrimLeft(s.Text[s.Tokens[from].Start:s.Tokens[token-1].End], sketch.Particles)
}

// whole is a word with the characters that stand beside it at every place in a text: 齐鲁银行, where the other text has 温州银行.
func whole(word, text string) string {
	for w := word; w != "" && strings.Contains(text, w) && utf8.RuneCountInString(w) < subjectMost; {
		parts := strings.Split(text, w)
		before, size := utf8.DecodeLastRuneInString(parts[0])
		begin := parts[0][len(parts[0])-size:]
		if belongs(before) && !slices.ContainsFunc(parts[:len(parts)-1], func(o string) bool { return !strings.HasSuffix(o, begin) }) {
			w = begin + w
			continue
		}
		behind, size := utf8.DecodeRuneInString(parts[1])
		end := parts[1][:size]
		if !belongs(behind) || slices.ContainsFunc(parts[1:], func(o string) bool { return !strings.HasPrefix(o, end) }) {
			return w
		}
		w += end
	}
	return word // too long for a name
}

// completed is a name with the suffix that its text has behind it: 浙江省.
func completed(name, text string) string {
	behind := text[strings.LastIndex(text, name)+len(name):] // the first one may be the headline's
	return name + behind[:sketch.NameSuffix(behind)]
}

func belongs(r rune) bool {
	return unicode.Is(unicode.Han, r) && !strings.ContainsRune(sketch.Particles, r)
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
	name := own.Title == "" && n >= namedLeast && !strings.ContainsAny(words, " .%元户年月日") // 融通深证100指数
	digits := func(r rune) bool { return unicode.IsDigit(r) && !name }
	return n >= 2 && n <= subjectMost && len(strings.TrimRight(words, "等了将")) == len(words) && !strings.ContainsFunc(words, func(r rune) bool { return digits(r) || r == '\n' }) &&
		(own.Title != "" || strings.Count(own.Text, words) > 1) && !strings.Contains(other.Title, words) && !strings.Contains(other.Text, words)
}

// named is a slot without the date that it begins with: 31日佳华科技. What looks like the headline of a text without one ends with
// a clause.
func named(slot string, s *sketch.Aligned) string {
	text := ""
	if s.Title == "" {
		text = s.Text
		slot, _, _ = strings.Cut(slot, "\n")
	}
	if r, _ := utf8.DecodeRuneInString(slot); strings.ContainsRune(sketch.Particles, r) {
		return "" // 经广东省, in a sentence
	}
	for {
		rest := strings.TrimLeft(slot, "0123456789:")
		r, size := utf8.DecodeRuneInString(rest)
		if rest == slot || !strings.ContainsRune("年月日时分", r) {
			return whole(slot, text)
		}
		slot = rest[size:]
	}
}

// slots are the places where two headlines differ: their first clauses, as 青禾银行 before a colon, and what stands between runs
// in common of frame runes, with what is cut off at the ends of a clause.
func slots(a, b string) (out [][2]string) {
	x, y := []rune(a[:min(headMost, len(a))]), []rune(b[:min(headMost, len(b))])
	if i, j := slices.Index(x, '\n'), slices.Index(y, '\n'); i > 0 && j > 0 && max(i, j) <= headingMost {
		if _, _, found := next(x[i:], y[j:], frame); found {
			out = append(out, [2]string{string(x[:i]), string(y[:j])})
		}
	}
	for within := false; ; within = true { // a clause, after a first slot
		same := common(x, y)
		i, j, found := next(x[len(same):], y[len(same):], frame)
		if !found {
			break
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
	return out
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

// next is where the first run in common of so many runes begins.
func next(x, y []rune, frame int) (i, j int, found bool) {
	for sum := range 2 * subjectMost {
		for i := range sum + 1 {
			if j := sum - i; i+frame <= len(x) && j+frame <= len(y) && slices.Equal(x[i:i+frame], y[j:j+frame]) {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}
