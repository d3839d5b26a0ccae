package console

import (
	"bytes"
	"net/url"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/compare/reason"
)

// maxShown bounds how much of a text a page shows and compares, in characters.
const maxShown = 20_000

// readable is an article as a page shows it. Cut: it is longer than maxShown.
func readable(o *reason.Original) (shown *reason.Original, cut bool) {
	text, at, cut := readableText(o.Text)
	origin := func(i int) (start, end int) {
		start, end = o.Origin(i)
		return min(at[start], len(text)), min(at[end], len(text))
	}
	form := sort.Search(len(o.Form), func(i int) bool {
		start, _ := origin(i)
		return start >= len(text)
	})
	return &reason.Original{Text: text, Form: o.Form[:form], Origin: origin}, cut
}

// readableText is a text without empty lines, without space around lines, and without characters that could change the
// page around them; at is where each character of the text stands in it. Cut: the text was longer than maxShown.
func readableText(text string) (shown string, at []int, cut bool) {
	var out []byte
	show := visibly()
	at = make([]int, len(text)+1)
	for i, r := range text {
		if r == '\n' {
			out = bytes.TrimRightFunc(out, unicode.IsSpace)
		} else if r = show(r); unicode.IsSpace(r) && (len(out) == 0 || out[len(out)-1] == '\n') {
			r = -1
		}
		if at[i] = len(out); r >= 0 && (r != '\n' || len(out) > 0) {
			out = utf8.AppendRune(out, r)
		}
	}
	at[len(text)] = len(out)
	r := []rune(strings.TrimSpace(string(out)))
	return string(r[:min(len(r), maxShown)]), at, len(r) > maxShown
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
func visible(line string) string { return strings.Map(visibly(), line) }

func visibly() func(rune) rune {
	marks := 0
	return func(r rune) rune {
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
	}
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
