package api

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"jianguo/exposure"
)

// TestWholeAnswers asks for answers of every size about that of the server's buffer,
// and of larger ones, over one connection: each must come whole and at once.
func TestWholeAnswers(t *testing.T) {
	x := newExposureServer(t, exposure.Config{}, Tokens{})
	for _, size := range append(sizesAbout(serverBuffer), 8191, 8192, 8193, 100_000, 300_000) {
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
		status, got, _ := x.post("/filter", "application/json", "", []byte(body))
		if status != 200 || !bytes.Equal(got, []byte(want)) {
			t.Fatalf("an answer of %d bytes: %d, %d bytes, of which the first are %.100q", len(want), status, len(got), got)
		}
	}
}

func sizesAbout(n int) (sizes []int) {
	for i := n - 400; i <= n+20; i += 7 {
		sizes = append(sizes, i)
	}
	return append(sizes, n-1, n, n+1)
}

// TestJoin: two writes become one, in order, and no others wait.
func TestJoin(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := wholeListener{l}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ctx := withConn(t.Context(), c)
	full, rest := bytes.Repeat([]byte{'a'}, serverBuffer), bytes.Repeat([]byte{'b'}, 10_000)
	var want []byte
	for _, step := range []struct {
		announced int
		writes    [][]byte
	}{
		{0, [][]byte{full}},
		{serverBuffer, [][]byte{full}},
		{serverBuffer + 1, [][]byte{full, rest, full}},
		{serverBuffer + 1, [][]byte{rest, full}},
		{99999, [][]byte{full, full, full}},
	} {
		joinWrites(ctx, step.announced)
		for _, w := range step.writes {
			if n, err := c.Write(w); n != len(w) || err != nil {
				t.Fatal(n, err)
			}
			want = append(want, w...)
		}
	}
	go c.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(client); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Fatalf("%d bytes of %d arrived, or in another order: %v", got.Len(), len(want), err)
	}
}
