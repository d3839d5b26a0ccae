package sketch

import (
	"strings"
	"unicode"
)

// teaserMost is the length in bytes of the longest body that may say nothing of its article: 200 Han characters.
const teaserMost = 600

// Shares of the pairs of characters of a headline: one that has fewer in the body is not told there, and two
// that have fewer in common are of two articles.
const (
	toldLeast = .25
	sameTitle = .5
)

// Untold reports whether a short body says nothing of its headline, which is another than that of an earlier
// article with the same body: a feed that gives the same introduction to every article. title and earlier are
// the headlines as they were published.
func Untold(in *Input, title, earlier string) bool {
	if len(in.Body) == 0 || len(in.Body) > teaserMost || strings.TrimSpace(title) == "" || strings.TrimSpace(earlier) == "" {
		return false
	}
	return pairShare(in.Title, in.Body) < toldLeast && pairShare(title, earlier) < sameTitle
}

// pairShare is the share of the pairs of letters and digits of a text that another one has.
func pairShare(text, other string) float64 {
	n, there := 0, 0
	last, at := rune(-1), 0
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			last = -1
			continue
		}
		if last >= 0 {
			n++
			if strings.Contains(other, text[at:i+len(string(r))]) {
				there++
			}
		}
		last, at = r, i
	}
	if n == 0 {
		return 1
	}
	return float64(there) / float64(n)
}
