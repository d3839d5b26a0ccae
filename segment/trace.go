package segment

// Traced is the normal form of a plain text, and where it comes from. Page residue stands in it as line breaks.
type Traced struct {
	Form string
	from []span
}

// Origin gives the bytes of the original that byte i of the form comes from. Between the bytes of two characters
// stands what is not in the form (spaces, punctuation), and within those of one what obfuscates it.
func (t *Traced) Origin(i int) (start, end int) { return t.from[i].start, t.from[i].end }

// Trace returns the normal form of a plain text; markup counts as text. Two texts that differ only in form have
// the same one. It holds for every rune: those that fold to several (℃, ½) share their bytes.
func (s *Segmenter) Trace(text string) *Traced { return s.current.Load().trace(text) }

func (s *tables) trace(text string) *Traced {
	n := normalizer{folds: s.folds, origin: &origin{}}
	n.traced(text)
	form, from := n.end(), n.origin.spans
	for _, r := range s.residue.find(nil, form, n.breaks, s.folds) {
		for i := r.start; i < r.end; i++ {
			form[i] = '\n'
		}
	}
	return &Traced{Form: string(form), from: from}
}
