package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"jianguo/internal/testbed"
)

// TestRead: files as other programs leave them are read, from a file of any name and from standard input; an error
// costs no line but the one that it is about.
func TestRead(t *testing.T) {
	long := strings.Repeat("x", MaxLine+1)
	random := make([]byte, 1<<19) // it compresses badly: half of the file has lines
	for i := range random {
		random[i] = 'a' + byte(i*i>>7%23)
	}
	for name, c := range map[string]struct {
		file, err string
		want      []string
	}{
		"plain":         {"a\n\nb", "", []string{"1 a", "3 b"}},
		"CRLF":          {"a\r\nb\r\n", "", []string{"1 a", "2 b"}},
		"BOM":           {"\ufeffa\nb\n", "", []string{"1 a", "2 b"}},
		"gzip":          {zip("a\nb\n"), "", []string{"1 a", "2 b"}},
		"gzip, BOM":     {zip("\ufeffa\n"), "", []string{"1 a"}},
		"two members":   {zip("a\n") + zip("b\n"), "", []string{"1 a", "2 b"}},
		"empty":         {"", "", nil},
		"short":         {"\x1f", "", []string{"1 \x1f"}},
		"a long line":   {"a\n" + long + "\nb\n", "line 2 is longer than 8388608 bytes", []string{"1 a", "3 b"}},
		"long and last": {"a\n" + long, "line 2 is longer than 8388608 bytes", []string{"1 a"}},
		"cut off":       {zip("a\n" + string(random))[:1000], "unexpected EOF", []string{"1 a"}},
		"no header":     {zip("a\n")[:5], "unexpected EOF", nil},
	} {
		file := filepath.Join(t.TempDir(), "file")
		testbed.OK(t, os.WriteFile(file, []byte(c.file), 0o600))
		for _, from := range []string{file, "-"} {
			var got []string
			err := Read(strings.NewReader(c.file), from, func(n int, line []byte) error {
				got = append(got, fmt.Sprintf("%d %s", n, line))
				return nil
			})
			if said := strings.TrimPrefix(fmt.Sprint(err), from+": "); !slices.Equal(got, c.want) || said != c.err && (err != nil || c.err != "") {
				t.Errorf("%s from %s: %.100q, %v; want %q and %q", name, from, got, err, c.want, c.err)
			}
		}
	}
}

// TestReadRefused: an error about a line does not hide that an earlier one was too long.
func TestReadRefused(t *testing.T) {
	file := strings.Repeat("x", MaxLine+1) + "\nb\nc\n"
	err := Read(strings.NewReader(file), "-", func(int, []byte) error { return os.ErrInvalid })
	if said := fmt.Sprint(err); !errors.Is(err, os.ErrInvalid) || !strings.Contains(said, "line 1 is longer") || !strings.Contains(said, "line 2: invalid") {
		t.Errorf("%v", err)
	}
}

func zip(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// TestWithPublishedAt: a corpus line gains the time of publishing in the form of the service,
// and nothing else changes.
func TestWithPublishedAt(t *testing.T) {
	for _, c := range []struct{ line, at string }{
		{`{"id":"a","body":"b","published":"2023-08-16 17:58:01"}`, "2023-08-16T17:58:01+08:00"},
		{`{"id":"a","body":"b","published":"2023-08-16T17:58"}`, "2023-08-16T17:58:00+08:00"},
		{`{ "published" : "2023-08-16" , "id":"a","body":"\"published\": \\"}`, "2023-08-16T00:00:00+08:00"},
		{`{"id":"a","title":"published","more":{"published":"x"},"list":["published",{"published":1}],"published": 1692180000000 }`, "2023-08-16T18:00:00+08:00"},
		{`{"id":"a","body":"\\\"published\":","published":"2023-08-16T17:58:01Z"}`, "2023-08-16T17:58:01Z"},
		{`{"id":"a","published":"gestern"}`, ""},
		{`{"id":"a","published":null}`, ""},
		{`{"id":"a","body":"published"}`, ""},
		{`{"id":"a","more":{"published":"2023-08-16"}}`, ""},
		{`{"id":"a","published":"2023-08-16","published":"2023-08-17"}`, "2023-08-17T00:00:00+08:00"},
		{`{"id":"a","published":"2023-08-16`, ""},
		{`{"id":"a","published":"2023-08-16"`, ""},
		{`{"id":"a","body":"b","published":"2023-08-16","published_at":"2023-08-17T00:00:00Z"}`, ""},
	} {
		got := WithPublishedAt([]byte(c.line))
		if c.at == "" {
			if !bytes.Equal(got, []byte(c.line)) {
				t.Errorf("%s became %s", c.line, got)
			}
			continue
		}
		var was, is map[string]any
		testbed.OK(t, json.Unmarshal([]byte(c.line), &was))
		if err := json.Unmarshal(got, &is); err != nil {
			t.Fatalf("%s became %s: %v", c.line, got, err)
		}
		want := maps.Clone(was)
		want["published_at"] = c.at
		if diff := cmp.Diff(want, is); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.line, diff)
		}
	}
}
