package console

import (
	"net/url"
	"strings"
)

// limitedReason is a reason of at most 500 characters.
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

// oneLine is a text with its line breaks and runs of spaces as single spaces.
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
