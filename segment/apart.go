package segment

import (
	"strings"
	"unicode/utf8"
)

// apartLeast is how many single characters in a row count as set apart on purpose.
const apartLeast = 12

// setApart finds characters that only set the other characters of a text apart, one by one (你 好 2 0 2 3,
// 你.好.2.0.2.3); nearly always it finds none. Figures and Latin words come together again only in a stretch of
// at least apartLeast characters, a third of them ideographs. A filler that stands alone between two characters
// of the stretch is hidden; where more stands between them, as the punctuation of the text does, its first and
// its last character are hidden if they are fillers.
func (f *folds) setApart(s string) (hidden []span) {
	var stretch []span // characters with something between each and the next
	ideographs, end := 0, -1
	together, between := false, false
	flush := func() {
		if len(stretch) >= apartLeast && 3*ideographs >= len(stretch) {
			hidden = f.fillers(hidden, s, stretch)
		}
		stretch, ideographs = stretch[:0], 0
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch kind := f.kind(r); {
		case kind == drop:
		case kind < digit:
			between = true
		default:
			if end >= 0 && !between { // neither the last character nor this one stands alone
				if n := len(stretch); n > 0 {
					if r, _ := utf8.DecodeRuneInString(s[stretch[n-1].start:]); f.kind(r) >= ideograph {
						ideographs--
					}
					stretch = stretch[:n-1]
				}
				flush()
				together = true
			} else {
				if together {
					together = false
					flush()
				}
				stretch = append(stretch, span{start: i, end: i + size})
				if kind >= ideograph {
					ideographs++
				}
			}
			end, between = i+size, false
		}
		i += size
	}
	flush()
	return hidden
}

// proper is punctuation that is never a filler: it belongs to the text even where it stands alone.
const proper = "，。、；：？！,;:?!“”‘’\"'（）()《》〈〉【】[]…—%‰"

// fillers appends what is hidden between the characters of a stretch, and directly behind it.
func (f *folds) fillers(hidden []span, s string, stretch []span) []span {
	gap := func(i int) string { return s[stretch[i].end:stretch[i+1].start] }
	fill := map[rune]bool{}
	for i := range len(stretch) - 1 {
		r, size := utf8.DecodeRuneInString(gap(i))
		if size == len(gap(i)) && !strings.ContainsRune(proper, r) {
			fill[r] = true
		}
	}
	for i := range len(stretch) - 1 {
		g, at := gap(i), stretch[i].end
		first, size := utf8.DecodeRuneInString(g)
		if fill[first] {
			hidden = append(hidden, span{start: at, end: at + size})
		}
		if last, n := utf8.DecodeLastRuneInString(g); len(g) > size && fill[last] {
			hidden = append(hidden, span{start: at + len(g) - n, end: at + len(g)})
		}
	}
	end := stretch[len(stretch)-1].end
	first, size := utf8.DecodeRuneInString(s[end:])
	if fill[first] && !strings.ContainsFunc(s[end:], func(r rune) bool { return f.kind(r) >= digit }) {
		hidden = append(hidden, span{start: end, end: end + size})
	}
	return hidden
}

func without(s string, hidden []span) string {
	var b strings.Builder
	from := 0
	for _, h := range hidden {
		b.WriteString(s[from:h.start])
		from = h.end
	}
	return b.String() + s[from:]
}
