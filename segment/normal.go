package segment

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A normalizer writes the normal form of the text it is fed. Its separators
// are lazy: they are remembered, and written when something follows.
type normalizer struct {
	folds *folds
	out   []byte
	// pending is the strongest separator since the last letter or digit.
	pending class
	// held is a joiner, comma or separator behind a digit, waiting to see
	// whether a digit follows, or a dot behind an ideograph, waiting for another.
	// 0: none.
	held rune
	// last is the class of the last byte of out.
	last class
	// number is where the number at the end of out begins; grouped says that a
	// comma is in it.
	number  int
	grouped bool
	// breaks are the separators in out, stronger than a clause.
	breaks []clauseBreak
	// questions are where the characters in question are, and answers room for
	// what they become.
	questions []int32
	answers   []rune
	// composed is room for text that must be composed first.
	composed []byte
	// together is room for text whose characters were set apart.
	together []byte
	// origin, if it is not nil, records by byte of out where it comes from in
	// the text that is fed (see Tokens).
	origin *origin
}

// A clauseBreak is a '\n' in the normal form that ends more than a clause.
type clauseBreak struct {
	at    int
	class class
}

func (n *normalizer) reset(out []byte) {
	n.out = out[:0]
	n.breaks = n.breaks[:0]
	n.questions = n.questions[:0]
	n.pending, n.held, n.last, n.number, n.grouped = drop, 0, drop, 0, false
}

// text feeds plain text.
func (n *normalizer) text(s string) {
	if n.origin != nil {
		n.traced(s, 0, &hider{hidden: n.folds.apart(s)})
		return
	}
	if hidden := n.folds.apart(s); hidden != nil {
		n.together = without(n.together[:0], s, hidden)
		s = view(n.together)
	}
	if needsComposing(s) {
		n.composed = norm.NFKC.AppendString(n.composed[:0], strings.Map(n.visible, s))
		for b := n.composed; len(b) > 0; {
			r, size := utf8.DecodeRune(b)
			n.rune(r)
			b = b[size:]
		}
		return
	}
	for i := 0; i < len(s); {
		if k := n.ideographs(s[i:]); k > 0 {
			i += k
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n.rune(r)
		i += size
	}
}

// ideographs feeds the run of ideographs that s begins with, if it goes on one
// that is being written and all are of three bytes, and returns how many bytes
// these are: nothing can come between them, and most text is that.
func (n *normalizer) ideographs(s string) int {
	if n.last != ideograph || n.pending != drop || n.held != 0 {
		return 0
	}
	i := 0
	for ; i+2 < len(s) && s[i] > 0xe0 && s[i] < 0xed && s[i+1]&0xc0 == 0x80 && s[i+2]&0xc0 == 0x80; i += 3 {
		r := uint32(s[i]&0xf)<<12 | uint32(s[i+1]&0x3f)<<6 | uint32(s[i+2]&0x3f)
		x := n.folds.plane[r]
		if x>>24 != uint32(ideograph) {
			break
		}
		if x &= 0xffffff; x < 0x1000 || x > 0xffff {
			break
		}
		n.out = append(n.out, byte(0xe0|x>>12), byte(0x80|x>>6&0x3f), byte(0x80|x&0x3f))
	}
	return i
}

// visible drops what would stand between runes that combine.
func (n *normalizer) visible(r rune) rune {
	if f := n.folds.of(r); f.class == drop && f.more == "" && !unicode.Is(unicode.M, f.r) {
		return -1
	}
	return r
}

// needsComposing reports whether runes of s may combine with each other.
func needsComposing(s string) bool {
	for i := 0; i < len(s); {
		// By the first byte: below U+0300, and from U+4000 to U+EFFF, nothing does.
		switch b := s[i]; {
		case b < utf8.RuneSelf:
			i++
			continue
		case b >= 0xe4 && b <= 0xee && i+2 < len(s):
			i++ // the bytes that continue it are passed over below
			for i < len(s) && s[i]&0xc0 == 0x80 {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < 0x300:
		case r < 0x370, r >= 0x1100 && r < 0x1200, r == 0x3099, r == 0x309a, r >= 0xff65 && r < 0xffe0:
			return true
		}
		i += size
	}
	return false
}

// separate feeds a separator that is not written as a character (the end of an
// HTML block).
func (n *normalizer) separate(c class) {
	n.unhold()
	n.pending = max(n.pending, c)
}

func (n *normalizer) unhold() {
	if n.held != 0 {
		n.held = 0
		n.pending = max(n.pending, clause)
	}
}

func (n *normalizer) rune(r rune) {
	f := n.folds.of(r)
	if f.more != "" {
		for _, r := range f.more {
			n.folded(n.folds.of(r))
		}
		return
	}
	n.folded(f)
}

func (n *normalizer) folded(f fold) {
	switch f.class {
	case drop:
	case space, clause, sentence, paragraph:
		n.separate(f.class)
	case joiner, comma:
		if n.last == digit && n.pending == drop && n.held == 0 {
			n.held = f.r
			return
		}
		// A dot between the characters of a word hides it; no sentence of
		// ideographs ends in one and goes on without a space.
		if f.r == '.' && n.last == ideograph && n.pending == drop && n.held == 0 {
			n.held = f.r
			return
		}
		n.separate(clause)
	case percent:
		if n.last == digit && n.pending == drop && n.held == 0 {
			n.endNumber()
			n.out = utf8.AppendRune(n.out, f.r)
			n.last = word
			return
		}
		n.separate(clause)
	default:
		n.letter(f)
	}
}

// letter writes a letter or digit, and the separator before it.
func (n *normalizer) letter(f fold) {
	switch {
	case n.held == 0:
	case n.last == ideograph:
		if f.class >= ideograph {
			n.held = 0
		}
	case f.class == digit:
		if n.held == '\u2044' {
			n.held = '/'
		}
		n.out = append(n.out, byte(n.held))
		n.grouped = n.grouped || n.held == ','
		n.held = 0
	}
	n.unhold()
	if n.last == digit && (f.class != digit || n.pending != drop) {
		n.endNumber()
	}
	switch {
	case len(n.out) == 0 || n.pending == drop:
	case n.pending == space:
		if n.last != ideograph && f.class < ideograph {
			n.out = append(n.out, ' ')
			n.last = space
		}
	default:
		if n.pending > clause {
			n.breaks = append(n.breaks, clauseBreak{len(n.out), n.pending})
		}
		n.out = append(n.out, '\n')
		n.last = space
	}
	n.pending = drop
	if f.class == unsettled {
		n.questions = append(n.questions, int32(len(n.out)))
		f.class = ideograph
	}
	if f.class == digit && n.last != digit {
		n.number = len(n.out)
	}
	if f.r < utf8.RuneSelf {
		n.out = append(n.out, byte(f.r))
	} else {
		n.out = utf8.AppendRune(n.out, f.r)
	}
	n.last = f.class
}

// endNumber settles the commas of the number at the end of out: 1,600,000 is
// one number and 1,2,3 are three.
func (n *normalizer) endNumber() {
	if !n.grouped {
		return
	}
	n.grouped = false
	s := n.out[n.number:]
	if n.origin != nil {
		n.origin.ungroup(n.number, s)
	}
	if !thousands(s) {
		for i, b := range s {
			if b == ',' {
				s[i] = '\n'
			}
		}
		return
	}
	kept := s[:0]
	for _, b := range s {
		if b != ',' {
			kept = append(kept, b)
		}
	}
	n.out = n.out[:n.number+len(kept)]
}

// thousands reports whether s is digits grouped by three, and perhaps a
// fraction.
func thousands(s []byte) bool {
	group, groups := 0, 0
	for i, b := range s {
		switch {
		case b == ',':
			if group == 0 || group > 3 || groups > 0 && group != 3 {
				return false
			}
			group = 0
			groups++
		case b == '.':
			return group == 3 && groups > 0 && allDigits(s[i+1:])
		case b < '0' || b > '9':
			return false
		default:
			group++
		}
	}
	return group == 3
}

func allDigits(s []byte) bool {
	for _, b := range s {
		if b < '0' || b > '9' {
			return false
		}
	}
	return true
}

// end settles what is open and returns the normal form.
func (n *normalizer) end() []byte {
	if n.last == digit {
		n.endNumber()
	}
	if len(n.questions) > 0 {
		n.answers = n.folds.variants.settle(n.out, n.questions, n.answers)
	}
	return n.out
}
