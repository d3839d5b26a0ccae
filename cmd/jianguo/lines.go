package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// maxLine bounds a line of input: a text of the largest size, escaped.
const maxLine = 8 << 20

// readLines calls f with every line of a file that is not blank; "-" is
// standard input, and .gz is unpacked. Line numbers count from 1.
func readLines(in io.Reader, name string, f func(number int, line []byte) error) error {
	r := in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		r = file
	}
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<16))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer z.Close()
		r = z
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<16), maxLine)
	number := 0
	for lines.Scan() {
		number++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := f(number, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("%s: line %d is longer than %d bytes", name, number+1, maxLine)
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// publishedLayouts are the forms of time that corpora have besides RFC 3339.
var publishedLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02", "2006/01/02", "01/02/2006"}

// wireItem makes a corpus line an item of the wire: corpora often have
// `published`, in many forms, for `published_at`. Times without a zone are
// taken as China's. A line that is not so simple is left as it is, for the
// service to judge.
func wireItem(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"published"`)) || bytes.Contains(line, []byte(`"published_at"`)) {
		return bytes.Clone(line)
	}
	var f map[string]json.RawMessage
	if json.Unmarshal(line, &f) != nil {
		return bytes.Clone(line)
	}
	t, ok := parsePublished(f["published"])
	if !ok {
		return bytes.Clone(line)
	}
	delete(f, "published")
	f["published_at"] = json.RawMessage(`"` + t.Format(time.RFC3339Nano) + `"`)
	out, err := json.Marshal(f)
	if err != nil {
		return bytes.Clone(line)
	}
	return out
}

var china = time.FixedZone("CST", 8*3600)

func parsePublished(raw json.RawMessage) (time.Time, bool) {
	var ms int64
	if json.Unmarshal(raw, &ms) == nil && ms > 0 {
		return time.UnixMilli(ms).In(china), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return time.Time{}, false
	}
	for _, layout := range publishedLayouts {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(s), china); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
