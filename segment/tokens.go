package segment

import (
	"html"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
	"golang.org/x/text/unicode/norm"
)

// A Token is a word of an original text.
type Token struct {
	// Start and End are byte offsets into the original. Between tokens lies
	// what is not in the normal form: spaces, punctuation, markup. Inside one
	// may lie what obfuscates it (zero-width characters, tags).
	Start, End int
	// Key is equal for words that differ only in form: simplified or
	// traditional, narrow or wide, capital or small.
	Key uint64
	// Residue says that the word is part of page residue.
	Residue bool
}

// Tokens appends the words of an original text, plain or HTML, in order and
// apart from each other. Two texts that are the same but for their form have
// the same keys in the same order; so this is what a comparison aligns that
// shows the originals.
func (s *Segmenter) Tokens(dst []Token, original string) []Token {
	n := normalizer{folds: s.folds, origin: &origin{}}
	n.reset(nil)
	n.body(original)
	out := n.end()
	spans := s.residue.find(nil, out, n.breaks, s.folds)
	var t Text
	t.body.folds = s.folds
	t.join(out)
	at := 0 // in out, of the word at hand
	last := 0
	for _, w := range t.walker.cut(s.dict, t.content) {
		word := t.content[w.start:w.end]
		for separator(out[at]) {
			at++
		}
		x := Token{Start: n.origin.at[at].start, Key: xxh3.Hash(word)}
		for len(spans) > 0 && spans[0].end <= at {
			spans = spans[1:]
		}
		x.Residue = len(spans) > 0 && spans[0].start <= at
		for range word {
			for separator(out[at]) {
				at++
			}
			x.End = n.origin.at[at].end
			at++
		}
		// A character may stand for several words (㍿): they share its place.
		x.Start = max(x.Start, last)
		x.End = max(x.End, x.Start)
		last = x.End
		dst = append(dst, x)
	}
	return dst
}

// An origin says, by byte of a normal form, from which bytes of the original
// it comes.
type origin struct{ at []span }

// upTo records that what has been appended to out comes from the original's
// bytes in from.
func (o *origin) upTo(out []byte, from span) {
	for len(o.at) < len(out) {
		o.at = append(o.at, from)
	}
}

// ungroup forgets the commas of the number at the end of out, if they are
// taken out of it.
func (o *origin) ungroup(start int, number []byte) {
	if !thousands(number) {
		return
	}
	kept := o.at[:start]
	for i, b := range number {
		if b != ',' {
			kept = append(kept, o.at[start+i])
		}
	}
	o.at = kept
}

// traced feeds text that begins at an offset of the original, and records
// where its characters come from.
func (n *normalizer) traced(s string, at int, h *hider) {
	composing := needsComposing(s)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if composing {
			size = max(size, norm.NFKC.NextBoundaryInString(s[i:], true))
		}
		switch {
		case h.next(size):
		case !composing:
			n.rune(r)
		default:
			for _, r := range norm.NFKC.String(strings.Map(n.visible, s[i:i+size])) {
				n.rune(r)
			}
		}
		n.origin.upTo(n.out, span{at + i, at + i + size})
		i += size
	}
}

// tracedEscaped is traced for text with character references.
func (n *normalizer) tracedEscaped(s string, at int) {
	h := &hider{hidden: n.folds.apart(html.UnescapeString(s))}
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			n.traced(s, at, h)
			return
		}
		n.traced(s[:i], at, h)
		s, at = s[i:], at+i
		size := referenceEnd(s)
		if plain := html.UnescapeString(s[:size]); plain != s[:size] {
			for _, r := range plain {
				if !h.next(utf8.RuneLen(r)) {
					n.rune(r)
				}
			}
			n.origin.upTo(n.out, span{at, at + size})
		} else {
			n.traced(s[:size], at, h)
		}
		s, at = s[size:], at+size
	}
}

// referenceEnd returns where the character reference that s may begin with
// ends.
func referenceEnd(s string) int {
	i := 1
	for i < len(s) && i < 40 && (s[i] == '#' || s[i] >= '0' && s[i] <= '9' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z') {
		i++
	}
	if i < len(s) && s[i] == ';' {
		i++
	}
	return i
}
