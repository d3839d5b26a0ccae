package reason

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/compare"
)

// Bounds of a quotation; the first in characters, the others in bytes of marks: a Han character has three.
const (
	quoteMost  = 60
	quoteLeast = 18  // that are new
	newMost    = 48  // that count
	nearby     = 150 // before it and behind it
	ends       = "。！？；!?"
	pauses     = "，：,:"
)

// What is known of a byte of an original.
const (
	left  = iota // it is not compared: punctuation, page residue
	known        // the earlier text has its word, or it is no word
	fresh        // its word stands nowhere in the earlier text
	fact         // its quantity or name stands nowhere in the earlier text
	past         // it belongs to a year before the last one that the item names
)

// marked counts the bytes of a stretch by what is known of them.
type marked [past + 1]int

func count(marks []byte) (n marked) {
	for _, m := range marks {
		n[m]++
	}
	return n
}

// share is how much of the words is new. A fact counts once more, by weight.
func (n marked) share(weight int) float64 {
	return float64(n[fresh]+weight*n[fact]) / float64(1+n[fresh]+n[fact]+n[known])
}

// A clause of the item, with the mark that ends it.
type clause struct {
	start, end  int  // of Text
	first, last bool // of its sentence
}

// quotes is what says most of what is new: a sentence, or the last clauses of a long one, of which a third, or two
// fifths, is new. A sentence in other words has less.
func (p *pair) quotes() []string {
	marks, text := p.marks(), p.later.Text
	clauses := p.clausesOfSentences(marks)
	best, most := []string(nil), 0.0
	for i, begin := range clauses {
		for k := i; k < len(clauses) && (k == i || !clauses[k].first && clauses[k].start == clauses[k-1].end); k++ {
			start, end := begin.start, clauses[k].end
			said := strings.TrimRight(text[start:end], ends+pauses+" ")
			if utf8.RuneCountInString(said) > quoteMost {
				break
			}
			n, least := count(marks[start:end]), 2./5
			score := -6 * float64(start) / float64(len(text))
			if begin.first {
				score, least = score+2, 1./3
			}
			said = whole(said)
			if !clauses[k].last || said == "" || n.share(2) < least || n[fresh]+2*n[fact] < quoteLeast {
				continue
			}
			if n[past] > 0 {
				score -= 3
			}
			near := count(marks[max(0, start-nearby):min(len(marks), end+nearby)])
			score += 6*n.share(1) + 6*near.share(1) + float64(min(n[fresh]+n[fact], newMost)+2*min(n[fact], 18))/6
			if (best == nil || score > most) && !strings.Contains(p.earlier.Text, said) {
				best, most = []string{said}, score
			}
		}
	}
	return best
}

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
	words, facts := p.j.Fresh()
	for m, spans := range [][]compare.Span{known: {{End: len(d.Form)}}, fresh: words, fact: facts, past: d.Past()} {
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
