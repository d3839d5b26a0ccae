package sketch

import "strings"

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
	return len(in.Body) > 0 && len(in.Body) <= teaserMost && title != "" && earlier != "" && title != earlier &&
		pairShare(in.Title, in.Body) < toldLeast && pairShare(title, earlier) < sameTitle
}

// pairShare is the share of the pairs of characters of a text that another one has.
func pairShare(text, other string) float64 {
	runes, there := []rune(text), 0
	for i := range len(runes) - 1 {
		if strings.Contains(other, string(runes[i:i+2])) {
			there++
		}
	}
	return float64(there) / float64(max(len(runes)-1, 1))
}
