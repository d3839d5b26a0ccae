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

// queueURL is the address of a list with an item of it open, and further parameters in
// pairs.
func queueURL(path, id string, more ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			q.Set(more[i], more[i+1])
		}
	}
	if id != "" {
		q.Set("at", id)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
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

// oneLine is a text with its line breaks and runs of spaces as single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// inside is an address to return to within this console: any other becomes /.
func inside(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, "\\") {
		return "/"
	}
	return to
}
