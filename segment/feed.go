package segment

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// escaped feeds text with character references, which begins at an offset of the original.
func (n *normalizer) escaped(s string, at int) {
	switch {
	case n.origin != nil:
		n.tracedEscaped(s, at)
	case strings.IndexByte(s, '&') >= 0:
		n.text(html.UnescapeString(s))
	default:
		n.text(s)
	}
}

// text feeds plain text.
func (n *normalizer) text(s string) {
	if hidden := n.folds.apart(s); hidden != nil {
		n.together = without(n.together[:0], s, hidden)
		s = view(n.together)
	}
	if needsComposing(s) {
		n.composed = norm.NFKC.AppendString(n.composed[:0], strings.Map(n.visible, s))
		s = view(n.composed)
	}
	for _, r := range s {
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

// needsComposing reports whether runes of s may combine with each other.
func needsComposing(s string) bool {
	for _, r := range s {
		if r >= 0x300 && (r < 0x370 || r >= 0x1100 && r < 0x1200 || r == 0x3099 || r == 0x309a || r >= 0xff65 && r < 0xffe0) {
			return true
		}
	}
	return false
}

// traced feeds text that begins at an offset of the original, and records where its characters come from.
func (n *normalizer) traced(s string, at int, hidden *cursor) {
	composing := needsComposing(s)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if composing {
			size = max(size, norm.NFKC.NextBoundaryInString(s[i:], true))
		}
		switch {
		case hidden.next(size):
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
	hidden := &cursor{spans: n.folds.apart(html.UnescapeString(s))}
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			n.traced(s, at, hidden)
			return
		}
		n.traced(s[:i], at, hidden)
		s, at = s[i:], at+i
		size := referenceEnd(s)
		if plain := html.UnescapeString(s[:size]); plain != s[:size] {
			for _, r := range plain {
				if !hidden.next(utf8.RuneLen(r)) {
					n.rune(r)
				}
			}
			n.origin.upTo(n.out, span{at, at + size})
		} else {
			n.traced(s[:size], at, hidden)
		}
		s, at = s[size:], at+size
	}
}

// referenceEnd returns the end of the character reference that s may begin with.
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
