package segment

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// feedEscaped feeds text with character references.
func (n *normalizer) feedEscaped(s string) {
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	n.feedText(s)
}

// feedText feeds plain text.
func (n *normalizer) feedText(s string) {
	if hidden := n.folds.setApart(s); hidden != nil {
		s = without(s, hidden)
	}
	if needsComposing(s) {
		s = norm.NFKC.String(strings.Map(n.visible, s))
	}
	for _, r := range s {
		if len(n.out) > MaxForm {
			return
		}
		n.feedRune(r)
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

// feedTraced feeds plain text as feedText does, and records where its characters come from.
func (n *normalizer) feedTraced(s string) {
	hidden := n.folds.setApart(s)
	composing := needsComposing(without(s, hidden))
	shown, from := make([]byte, 0, len(s)), make([]int, 0, len(s)) // what is fed, and the place of each byte in s
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		for len(hidden) > 0 && hidden[0].end <= i {
			hidden = hidden[1:]
		}
		hide := len(hidden) > 0 && hidden[0].start <= i || composing && n.visible(r) < 0
		for ; size > 0; size-- {
			if !hide {
				shown, from = append(shown, s[i]), append(from, i)
			}
			i++
		}
	}
	for i := 0; i < len(shown) && len(n.out) <= MaxForm; {
		_, size := utf8.DecodeRune(shown[i:])
		part := string(shown[i : i+size])
		if composing {
			size = max(size, norm.NFKC.NextBoundary(shown[i:], true))
			part = norm.NFKC.String(string(shown[i : i+size]))
		}
		for _, r := range part {
			n.feedRune(r)
		}
		for len(n.origin) < len(n.out) {
			n.origin = append(n.origin, span{n.base + from[i], n.base + from[i+size-1] + 1})
		}
		i += size
	}
}
