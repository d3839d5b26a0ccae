package segment

// A Token is a word of an original text.
type Token struct {
	// Start and End are byte offsets into the original. Between tokens stands what is not in the normal form
	// (spaces, punctuation), and inside a token what obfuscates it (zero-width characters).
	Start, End int
	// Key is the word's normal form: equal for words that differ only in form, as simplified or traditional, narrow
	// or wide, capital or small.
	Key string
}

// Tokens returns the words of a plain text, page residue included, in order and without overlap; markup counts as
// text. Two texts that differ only in form have the same keys in the same order. So this is what a comparison
// aligns that shows the originals.
func (s *Segmenter) Tokens(text string) []Token {
	n := normalizer{folds: s.folds, origin: &origin{}}
	n.traced(text)
	form, from := n.end(), n.origin.spans
	var t Text
	t.body.folds = s.folds
	t.join(form)
	var tokens []Token
	at := 0
	for _, w := range t.cutter.Cut(s.lexicon.Dictionary, t.content) {
		x := Token{Start: -1, Key: view(t.content[w.Start:w.End])}
		for range len(x.Key) {
			for separator(form[at]) {
				at++
			}
			if x.Start < 0 {
				x.Start = from[at].start
			}
			x.End = from[at].end
			at++
		}
		if k := len(tokens) - 1; k >= 0 && x.Start < tokens[k].End { // words of one character (㍿) are one token
			tokens[k].Key += x.Key
			tokens[k].End = max(tokens[k].End, x.End)
			continue
		}
		tokens = append(tokens, x)
	}
	return tokens
}
