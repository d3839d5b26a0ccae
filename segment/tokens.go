package segment

import "github.com/zeebo/xxh3"

// A Token is a word of an original text.
type Token struct {
	// Start and End are byte offsets into the original. Between tokens stands what is not in the normal form
	// (spaces, punctuation, markup), and inside a token what obfuscates it (zero-width characters, tags).
	Start, End int
	// Key is equal for words that differ only in form: simplified or traditional, narrow or wide, capital or
	// small.
	Key uint64
	// Residue reports that the word is part of page residue.
	Residue bool
}

// Tokens appends the words of an original text, plain or HTML, in order and without overlap. Two texts that
// differ only in form have the same keys in the same order; so this is what a comparison aligns that shows the
// originals.
func (s *Segmenter) Tokens(dst []Token, original string) []Token {
	n := normalizer{folds: s.folds, origin: &origin{}}
	n.reset(nil)
	n.body(original)
	form, from := n.end(), n.origin.spans
	residue := cursor{spans: s.residue.find(nil, form, n.breaks, s.folds)}
	var t Text
	t.body.folds = s.folds
	t.join(form)
	last := 0
	for _, w := range t.cutter.Cut(s.lexicon.Dictionary, t.content) {
		word := t.content[w.Start:w.End]
		x := Token{Start: -1, Key: xxh3.Hash(word)}
		for range word {
			for separator(form[residue.at]) {
				residue.next(1)
			}
			at := residue.at
			inside := residue.next(1)
			if x.Start < 0 {
				x.Start, x.Residue = from[at].start, inside
			}
			x.End = from[at].end
		}
		// A character may stand for several words (㍿), which share its bytes.
		x.Start = max(x.Start, last)
		x.End = max(x.End, x.Start)
		last = x.End
		dst = append(dst, x)
	}
	return dst
}
