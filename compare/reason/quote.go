package reason

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/compare"
)

// Bounds of a quotation; the first in characters, the others in bytes of marks: a Han character has three.
const (
	quoteMost  = 72
	quoteLeast = 18  // that are new
	newMost    = 48  // that count
	nearby     = 150 // before it and behind it
	// retoldShare is the share of a sentence that says the same if the other text has it at one place of its length.
	retoldShare = .46
	ends        = "。！？；!?"
	pauses      = "，：,:"
)

// What is known of a byte of an original.
const (
	left   = iota // it is not compared: punctuation, page residue
	known         // it is no word of two characters, or was not looked up
	shared        // the earlier text has its word
	fresh         // its word stands nowhere in the earlier text
	name          // likewise, and it is one
	figure        // its quantity stands nowhere in the earlier text
)

// marked counts the bytes of a stretch by what is known of them.
type marked [figure + 1]int

func count(marks []byte) (n marked) {
	for _, m := range marks {
		n[m]++
	}
	return n
}

// facts are the new names and quantities, words all that is compared.
func (n marked) facts() int { return n[name] + n[figure] }
func (n marked) words() int { return n[known] + n[shared] + n[fresh] + n.facts() }

// share is how much of the words is new. A fact counts once more, by weight.
func (n marked) share(weight int) float64 {
	return float64(n[fresh]+weight*n.facts()) / float64(1+n.words())
}

// A clause of the item, with the mark that ends it.
type clause struct {
	start, end  int  // of Text
	first, last bool // of its sentence
}

// quotes is what says most of what is new: a sentence, or the first clauses of a long one, of which a third is new, and
// that the earlier text does not say in other words.
func (p *pair) quotes() []string {
	marks, text := p.marks(), p.later.Text
	clauses := p.clausesOfSentences(marks)
	best, most := []string(nil), 0.0
	for i, begin := range clauses {
		said, last := "", 0
		for k := i; begin.first && k < len(clauses) && (k == i || !clauses[k].first); k++ {
			longer := strings.TrimRight(text[begin.start:clauses[k].end], ends+pauses+" ")
			if clauses[k].start != clauses[max(i, k-1)].end && k > i || utf8.RuneCountInString(longer) > quoteMost {
				break
			}
			introduces := strings.HasSuffix(text[:clauses[k].end], "：") // what is said next
			if longer = whole(longer); longer != "" && !introduces {
				said, last = longer, k
			}
		}
		if said == "" {
			continue
		}
		start, end, cut := begin.start, clauses[last].end, !clauses[last].last
		n := count(marks[start:end])
		speech := strings.HasPrefix(said, "“") && strings.HasSuffix(said, "”") // whose, is said elsewhere
		if n.share(2) < 1./3 || n[fresh]+2*n.facts() < quoteLeast || speech || cut && n.facts() == 0 ||
			n[shared] == 0 { // of another matter, or put around the article
			continue
		}
		score := -6 * float64(start) / float64(len(text))
		if cut {
			score -= 3
		}
		near := count(marks[max(0, start-nearby):min(len(marks), end+nearby)])
		score += 6*n.share(1) + 6*near.share(1) + float64(min(n[fresh]+n.facts(), newMost)+2*min(n.facts(), 18))/6
		told := n[figure] == 0 || 5*n.facts() < n.words() // else the same words tell something else
		if (best == nil || score > most) && !strings.Contains(p.earlier.Text, said) && !(told && p.retold(said)) {
			best, most = []string{said}, score
		}
	}
	return best
}

// retold reports whether the earlier text has so much of a sentence at one place that it says the same in other words.
func (p *pair) retold(sentence string) bool {
	if p.spent() {
		return true
	}
	if p.told == nil {
		p.told = piece.FindAllString(p.earlier.Text, -1)
	}
	said, missing := piece.FindAllString(sentence, -1), map[string]int{}
	for _, s := range said {
		missing[s]++
	}
	there, most := 0, 0
	for i, s := range p.told {
		if missing[s]--; missing[s] >= 0 {
			there++
		}
		if i >= len(said) {
			if s = p.told[i-len(said)]; missing[s] >= 0 {
				there--
			}
			missing[s]++
		}
		most = max(most, there)
	}
	return float64(most) >= retoldShare*float64(len(said))
}

// piece is a Han character, a Latin word, or the digits of a number up to its point.
var piece = regexp.MustCompile(`\p{Han}|[a-zA-Z]+|\d+`)

// clausesOfSentences are the clauses of the item's sentences, in order, without page residue and the sentence that
// follows it: a headline may run into the first one. What ends without a full stop is a caption or a credit.
func (p *pair) clausesOfSentences(marks []byte) (out []clause) {
	from, begin := 0, 0 // the clause, and in out the sentence
	first, residue := true, false
	for i, r := range p.later.Text {
		ended, broken := strings.ContainsRune(ends, r), r == '\n' || r == '\t'
		if !broken && !ended && !strings.ContainsRune(pauses, r) {
			continue
		}
		c := clause{start: from, end: i + utf8.RuneLen(r), first: first, last: ended}
		if ended && strings.HasPrefix(p.later.Text[c.end:], "”") {
			c.end += len("”")
		}
		from, first = c.end, ended || broken
		begins, n := c.start, count(marks[c.start:c.end])
		letters := strings.ContainsFunc(p.later.Text[c.start:c.end], unicode.IsLetter)
		residue = residue || letters && n[left] > 0 && n[left] == c.end-c.start
		for k, r := range p.later.Text[c.start:c.end] { // behind the residue that it begins with
			if i := begins + k; unicode.IsLetter(r) && marks[i] == left {
				c.start = i + utf8.RuneLen(r)
			}
		}
		if !residue {
			out = append(out, c)
		}
		residue = residue && !ended
		if broken {
			out = out[:begin]
		}
		if ended {
			begin = len(out)
		}
	}
	return out[:begin]
}

// marks says by byte of the item what is known of it.
func (p *pair) marks() []byte {
	d, form := p.j.Later.Doc, p.later.Form
	out := make([]byte, len(p.later.Text))
	at := make([]int, len(d.Form)) // by byte of the Doc's form, the one of the original's and one more; 0: none
	from, k := 0, 0
	for clause := range strings.SplitSeq(d.Form, "\n") {
		if i := strings.Index(form[k:], clause); i >= 0 && !p.spent() {
			k += i
			for n := range len(clause) {
				at[from+n] = k + n + 1
			}
		}
		from += len(clause) + 1
	}
	told, words, names, figures := p.j.Words()
	for m, spans := range [][]compare.Span{known: {{End: len(d.Form)}}, shared: told, fresh: words, name: names,
		figure: figures} {
		for _, s := range spans {
			for _, i := range at[s.Start:s.End] {
				if i == 0 || !utf8.RuneStart(form[i-1]) { // the bytes of a character have one origin
					continue
				}
				start, end := p.later.Origin(i - 1)
				for k := max(0, start); k < end; k++ {
					out[k] = byte(m)
				}
			}
		}
	}
	return out
}
