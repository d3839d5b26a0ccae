package reason

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/compare"
)

// Bounds of a quotation; the first in characters, the others in bytes of marks: a Han character has three.
const (
	quoteMost   = 72
	quoteLeast  = 18  // that are new
	newMost     = 48  // that count
	nearby      = 150 // before it and behind it
	retoldShare = .37 // of a sentence that the earlier text has at one place of its length: it says the same
	ends        = "。！？；!?"
	pauses      = "，：,:"
)

// What is known of a byte of an original.
const (
	residue = iota // it is not compared: punctuation, page residue
	known          // it is no word of two characters, or was not looked up
	shared         // the earlier text has its word
	fresh          // its word stands nowhere in the earlier text
	name           // likewise, and it is one
	figure         // its quantity stands nowhere in the earlier text
)

// marked counts the bytes of a stretch by what is known of them.
type marked [figure + 1]int

// facts are the new names and quantities, words all that is compared.
func (n marked) facts() int { return n[name] + n[figure] }
func (n marked) words() int { return n[known] + n[shared] + n[fresh] + n.facts() }

// share is how much of the words is new. A fact counts once more, by weight.
func (n marked) share(weight int) float64 {
	return float64(n[fresh]+weight*n.facts()) / float64(1+n.words())
}

// quotes is what says most of what is new: a sentence, or the first clauses of a long one, that the earlier text does
// not say in other words, or without its number.
func (p *pair) quotes() (best []string) {
	marks, text, most := p.marks(), p.later.Text, math.Inf(-1)
	around := func(from, to int) (n marked) {
		for _, m := range marks[max(0, from):min(len(marks), to)] {
			n[m]++
		}
		return n
	}
	p.told, p.numbers = pieces(p.earlier.Text), strings.FieldsFunc(p.earlier.Text, notDigit)
	p.sentences(marks, func(said string, start, end int, cut bool) {
		n, near := around(start, end), around(start-nearby, end+nearby)
		apart := n[shared] == 0 // of another matter, or put around the article
		vague := (cut || apart) && n.facts() == 0
		if n[fresh]+2*n.facts() < quoteLeast || vague && n[fresh] < 2*quoteLeast ||
			apart && min(around(start-nearby, start)[shared], around(end, end+nearby)[shared]) < 2*quoteLeast ||
			strings.Contains(p.earlier.Text, said) {
			return
		}
		score := 6*n.share(1) + 6*near.share(1) - 6*float64(start)/float64(len(text)) +
			float64(min(n[fresh]+n.facts(), newMost)+2*min(n.facts(), 18))/6
		if cut {
			score -= 3
		}
		if score > most && p.retold(said, min(retoldShare, .1+.8*n.share(2))) {
			if p.sought > seekWork || !p.unsaid(text[start:end], marks[start:end]) {
				return
			}
			if 5*n.facts() < n.words() {
				score -= 10
			}
		}
		if score > most {
			best, most = []string{said}, score
		}
	})
	return best
}

// unsaid reports whether a stretch has a figure whose last number in digits stands nowhere in the earlier text.
func (p *pair) unsaid(text string, marks []byte) bool {
	for i := 0; i < len(text); i++ {
		from := i
		for i < len(text) && marks[i] == figure {
			i++
		}
		numbers := strings.FieldsFunc(text[from:i], notDigit)
		if k := len(numbers); k > 0 && !slices.Contains(p.numbers, numbers[k-1]) {
			return true
		}
	}
	return false
}

// retold reports whether the earlier text has such a share of a sentence at one place that it says the same in other
// words.
func (p *pair) retold(sentence string, share float64) bool {
	if p.spent() {
		return true
	}
	said, missing := pieces(sentence), map[uint64]int{}
	for _, s := range said {
		missing[s]++
	}
	there, most := 0, 0
	for i, s := range p.told {
		if n, ok := missing[s]; ok {
			if missing[s] = n - 1; n > 0 {
				there++
			}
		}
		if i >= len(said) {
			s = p.told[i-len(said)]
			if n, ok := missing[s]; ok {
				if missing[s] = n + 1; n >= 0 {
					there--
				}
			}
		}
		most = max(most, there)
	}
	return float64(most) >= share*float64(len(said))
}

// pieces are the letters of a text, and each with the one before it.
func pieces(text string) (out []uint64) {
	last := uint64(0)
	for _, r := range text {
		if unicode.IsLetter(r) {
			out, last = append(out, uint64(r), last<<32+uint64(r)), uint64(r)
		}
	}
	return out
}

func notDigit(r rune) bool { return !unicode.IsDigit(r) }

// sentence is one with its full stop and no gap, as captions and credits have; pause is where one may be cut.
var (
	sentence = regexp.MustCompile(`(?:[^。！？；!?\s\p{Z}]\p{Z}?)+[。！？；!?]”?`)
	pause    = regexp.MustCompile(`[，：]|[,:](?:\D|$)`)
)

// sentences calls f with the item's sentences, or the first clauses of long ones, without the page residue that they
// begin with. One that goes on behind residue and a pause may be a headline that runs into a sentence. A clause before
// a colon and a quotation alone are left out: of a speech, either says half.
func (p *pair) sentences(marks []byte, f func(said string, start, end int, cut bool)) {
	for _, at := range sentence.FindAllStringIndex(p.later.Text, -1) {
		text, begins, left := p.later.Text[at[0]:at[1]], 0, at[1]-at[0]
		stops := append(pause.FindAllStringIndex(text, -1), []int{len(text)})
		for i, r := range text {
			if letter := unicode.IsLetter(r) && marks[at[0]+i] == residue; letter && i < stops[0][0] {
				begins = i + utf8.RuneLen(r)
			} else if letter {
				left = min(left, i)
			}
		}
		if len(bytes.Trim(marks[at[0]+begins:at[0]+stops[0][0]], "\x00")) == 0 {
			continue
		}
		for _, stop := range slices.Backward(stops) {
			end := stop[0]
			if end > left || end-begins > 2*utf8.UTFMax*quoteMost { // far too long: a text may have no full stop
				continue
			}
			said := balanced(strings.Trim(text[begins:end], ends+" )）】"))
			speech := strings.HasPrefix(text[end:], "：") ||
				strings.HasPrefix(said, "“") && strings.Index(said, "”") == len(said)-len("”")
			if said != "" && !speech && utf8.RuneCountInString(said) <= quoteMost {
				f(said, at[0]+begins, at[0]+end, end < len(text))
				break
			}
		}
	}
}

// marks says by byte of the item what is known of it.
func (p *pair) marks() []byte {
	d, form := p.j.Later.Doc, p.later.Form
	out := make([]byte, len(p.later.Text))
	at := make([]int, len(d.Form)) // by byte of the Doc's form, the one of the original's and one more; 0: none
	from, k := 0, 0
	for clause := range strings.SplitSeq(d.Form, "\n") {
		if p.spent() {
			break
		}
		if i := strings.Index(form[k:], clause); i >= 0 {
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
