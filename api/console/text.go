package console

import (
	"net/url"
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
	return cutShown(strings.Join(lines, "\n"))
}

func cutShown(text string) (shown string, cut bool) {
	r := []rune(text)
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

func limitedReason(reason string) string { return shortened(strings.TrimSpace(reason), 500) }

// address is an address with parameters added, in pairs; an empty value removes one.
func address(to string, pairs ...string) string {
	u, err := url.Parse(to)
	if err != nil {
		return "/"
	}
	q := u.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// returnTo is the address to return to, with what the step did instead of what the one before did.
func returnTo(to string, pairs ...string) string {
	return address(address(to, "done", "", "conflict", "", "said", "", "of", ""), pairs...)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ownAddress is an address to return to within this console: any other becomes /.
func ownAddress(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.Contains(to, "\\") {
		return "/"
	}
	return to
}
