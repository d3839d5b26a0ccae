package console

import (
	"net/url"
	"strings"
)

// maxReason bounds a reason, in characters.
const maxReason = 500

func limited(reason string) string {
	r := []rune(strings.TrimSpace(reason))
	return string(r[:min(len(r), maxReason)])
}

// said are the parameters that tell a page what the last step did.
var said = []string{"done", "conflict", "saved", "of"}

// with adds a parameter to the address to return to, and drops those of the
// last step.
func with(to, key, value string) string {
	u, err := url.Parse(to)
	if err != nil {
		return "/"
	}
	q := u.Query()
	for _, k := range said {
		q.Del(k)
	}
	u.RawQuery = q.Encode()
	return and(u.String(), key, value)
}

// and adds a parameter to an address.
func and(to, key, value string) string {
	u, err := url.Parse(to)
	if err != nil {
		return "/"
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func splitLines(text string) []string { return strings.Split(text, "\n") }

// oneLine is a text with its line breaks and runs of spaces as single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
