package segment

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// escaped feeds text with character references.
func (n *normalizer) escaped(s string) {
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	n.text(s)
}

// text feeds plain text.
func (n *normalizer) text(s string) {
	if hidden := n.folds.apart(s); hidden != nil {
		s = without(s, hidden)
	}
	if needsComposing(s) {
		s = norm.NFKC.String(strings.Map(n.visible, s))
	}
	for _, r := range s {
		if len(n.out) > MaxForm {
			return
		}
		n.rune(r)
	}
}

// visible drops runes that would stand between others that combine.
func (n *normalizer) visible(r rune) rune {
	if f := n.folds.of(r); f.class == drop && f.more == "" && !unicode.Is(unicode.M, f.r) {
		return -1
	}
	return r
}

// needsComposing reports whether a rune of s may combine with one before it, or change places with it, as it is or
// (compatibility and half-width letters) once it is folded.
func needsComposing(s string) bool {
	for i, r := range s {
		if r >= 0x3131 && r < 0x3190 || r >= 0xff65 && r < 0xffe0 || r >= 0x300 && (r < 0x3400 || r >= 0xa000) &&
			!norm.NFKC.PropertiesString(s[i:]).BoundaryBefore() {
			return true
		}
	}
	return false
}

// traced feeds plain text as text does, and records where its characters come from.
func (n *normalizer) traced(s string) {
	hidden, composing := n.folds.apart(s), needsComposing(s)
	for i := 0; i < len(s) && len(n.out) <= MaxForm; {
		r, size := utf8.DecodeRuneInString(s[i:])
		if composing {
			size = max(size, norm.NFKC.NextBoundaryInString(s[i:], true))
		}
		for len(hidden) > 0 && hidden[0].end <= i {
			hidden = hidden[1:]
		}
		switch {
		case len(hidden) > 0 && hidden[0].start <= i:
		case !composing:
			n.rune(r)
		default:
			for _, r := range norm.NFKC.String(strings.Map(n.visible, s[i:i+size])) {
				n.rune(r)
			}
		}
		for len(n.origin) < len(n.out) {
			n.origin = append(n.origin, span{i, i + size})
		}
		i += size
	}
}
