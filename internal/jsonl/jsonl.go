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

	"jianguo/internal/wrap"
)

// MaxLine bounds a line, in bytes: a text of the largest size, escaped.
const MaxLine = 8 << 20

// open opens a file; "-" is standard input, and a .gz file is unpacked.
func open(stdin io.Reader, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	file, err := os.Open(name)
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return file, err
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(file, 1<<16))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{z, file}, nil
}

// Read calls f with every line of a file that is not blank. Line numbers count from 1; an error of f gets file and
// line.
func Read(stdin io.Reader, name string, f func(number int, line []byte) error) error {
	r, err := open(stdin, name)
	if err != nil {
		return err
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<16), MaxLine)
	number := 0
	for lines.Scan() {
		number++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := f(number, lines.Bytes()); err != nil {
			return fmt.Errorf("%s: line %d: %w", name, number, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s: line %d is longer than %d bytes", name, number+1, MaxLine)
	}
	return wrap.Err(lines.Err(), "%s", name)
}

// layouts are the forms of time in corpora, in addition to RFC 3339.
var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02", "2006/01/02", "01/02/2006"}

// Item returns a copy of a line as the service wants it: a time in `published`, as
// corpora have it, is added as `published_at` unless that is there. Times without a
// zone are China's. Any other line is copied as it is, for the service to judge.
func Item(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"published"`)) || bytes.Contains(line, []byte(`"published_at"`)) {
		return bytes.Clone(line)
	}
	var it struct{ Published json.RawMessage }
	if json.Unmarshal(line, &it) != nil {
		return bytes.Clone(line)
	}
	t, ok := parseTime(it.Published)
	if !ok {
		return bytes.Clone(line)
	}
	end := bytes.LastIndexByte(line, '}')
	out := append(make([]byte, 0, len(line)+52), line[:end]...)
	out = t.AppendFormat(append(out, `,"published_at":"`...), time.RFC3339Nano)
	return append(append(out, '"'), line[end:]...)
}

var china = time.FixedZone("CST", 8*3600)

// parseTime reads a time in one of the layouts, or milliseconds since 1970.
func parseTime(raw json.RawMessage) (time.Time, bool) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		var ms int64
		err := json.Unmarshal(raw, &ms)
		return time.UnixMilli(ms).In(china), err == nil && ms > 0
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(s), china); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
