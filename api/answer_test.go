package api

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"jianguo/exposure"
)

// TestWholeAnswers requests answers of sizes near that of net/http's buffer, and larger
// ones, over one connection. Each must arrive complete.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{}, nil)
	for _, size := range append(sizesAbout(4096), 8191, 8192, 8193, 100_000, 300_000) {
		const frame = len(`{"items":[],"dropped":0}`)
		var items []string
		for rest := size - frame + 1; rest > 0; {
			n := min(rest-3, 200) // the id, two quotes, a comma
			if left := rest - 3 - n; left > 0 && left < 12 {
				n -= 12
			}
			id := fmt.Sprintf("%d-", len(items))
			items = append(items, `"`+id+strings.Repeat("x", n-len(id))+`"`)
			rest -= n + 3
		}
		body := `{"user":"whole","items":[` + strings.Join(items, ",") + `]}`
		want := `{"items":[` + strings.Join(items, ",") + `],"dropped":0}`
		rep := x.do("POST", "/filter", body)
		if rep.status != 200 || !bytes.Equal(rep.body, []byte(want)) {
			t.Fatalf("an answer of %d bytes: %d, %d bytes, of which the first are %.100q", len(want), rep.status, len(rep.body), rep.body)
		}
	}
}

func sizesAbout(n int) (sizes []int) {
	for i := n - 400; i <= n+20; i += 7 {
		sizes = append(sizes, i)
	}
	return append(sizes, n-1, n, n+1)
}
