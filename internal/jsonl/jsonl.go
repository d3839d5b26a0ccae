// Package jsonl reads files of articles, one JSON object a line.
package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// MaxLine bounds a line of input: a text of the largest size, escaped.
const MaxLine = 8 << 20

// Read calls f with every line of a file that is not blank; "-" is
// standard input, and .gz is unpacked. Line numbers count from 1.
func Read(in io.Reader, name string, f func(number int, line []byte) error) error {
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
	lines.Buffer(make([]byte, 1<<16), MaxLine)
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
			return fmt.Errorf("%s: line %d is longer than %d bytes", name, number+1, MaxLine)
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// publishedLayouts are the forms of time that corpora have besides RFC 3339.
var publishedLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "2006/01/02", "01/02/2006"}

// Item makes a corpus line an item of the wire, in memory of its own:
// corpora often have `published`, in many forms, for `published_at`. Times
// without a zone are taken as China's. A line that is not so simple is left as
// it is, for the service to judge.
func Item(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"published"`)) || bytes.Contains(line, []byte(`"published_at"`)) {
		return bytes.Clone(line)
	}
	key, value, end, ok := memberOf(line, `"published"`)
	if !ok {
		return bytes.Clone(line)
	}
	t, ok := parsePublished(line[value:end])
	if !ok {
		return bytes.Clone(line)
	}
	out := make([]byte, 0, len(line)+32)
	out = append(append(out, line[:key]...), `"published_at":"`...)
	out = t.AppendFormat(out, time.RFC3339Nano)
	return append(append(out, '"'), line[end:]...)
}

// memberOf finds a member of a JSON object by its quoted name: where the name
// begins, and its value, which ends before end. A name that is there twice is
// no simple case.
func memberOf(line []byte, name string) (key, value, end int, ok bool) {
	depth, from := 0, -1
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 && from >= 0 && !ok {
				end, ok = i, true
			}
		case ',':
			if depth == 1 && from >= 0 && !ok {
				end, ok = i, true
			}
		case '"':
			start := i
			if i = closingQuote(line, i); i < 0 {
				return 0, 0, 0, false
			}
			if depth != 1 || string(line[start:i+1]) != name {
				continue
			}
			if j := i + 1 + bytes.IndexByte(line[i+1:], ':'); j > i && len(bytes.TrimSpace(line[i+1:j])) == 0 {
				if from >= 0 {
					return 0, 0, 0, false
				}
				key, from, i = start, j+1, j
			}
		}
	}
	return key, from, end, ok && depth == 0
}

// closingQuote is where the string ends that begins at i; -1: nowhere.
func closingQuote(line []byte, i int) int {
	for i++; i < len(line); i++ {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for line[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return -1
}

var china = time.FixedZone("CST", 8*3600)

func parsePublished(raw json.RawMessage) (time.Time, bool) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		var ms int64
		err := json.Unmarshal(raw, &ms)
		return time.UnixMilli(ms).In(china), err == nil && ms > 0
	}
	for _, layout := range publishedLayouts {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(s), china); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
