package console

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/segment"
)

// maxShown bounds how much of a text a page shows and compares, in characters.
const maxShown = 20_000

// readableText is a body as readers see it: the text of HTML, one paragraph a line,
// without characters that could change the page around them. Cut: the text was
// longer than maxShown.
func readableText(body string) (text string, cut bool) {
	var lines []string
	for line := range strings.Lines(segment.Plain(body)) {
		if line = strings.TrimFunc(visible(line), unicode.IsSpace); line != "" {
			lines = append(lines, line)
		}
	}
	r := []rune(strings.Join(lines, "\n"))
	return string(r[:min(len(r), maxShown)]), len(r) > maxShown
}

// shortened cuts a text to so many characters, the last of which is then an ellipsis.
func shortened(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// visible removes control and zero-width characters, direction marks, and all
// but four marks on one letter.
func visible(line string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\u00a0':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError, r >= 0xe000 && r <= 0xf8ff:
			return -1
		case unicode.Is(unicode.M, r):
			if marks++; marks > 4 {
				return -1
			}
			return r
		}
		marks = 0
		return r
	}, line)
}
