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

// MaxLine bounds a line, in bytes: a text of the largest size, escaped.
const MaxLine = 8 << 20

// Open opens a file; "-" is standard input. What is gzipped is unpacked, whatever its name, and a byte order mark in
// front is dropped: programs write one that their users never see.
func Open(stdin io.Reader, name string) (*bufio.Reader, io.Closer, error) {
	file := io.NopCloser(stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, err
		}
		file = f
	}
	r := bufio.NewReaderSize(file, 1<<16)
	if magic, _ := r.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
		}
		r = bufio.NewReaderSize(z, 1<<16)
	}
	if mark, _ := r.Peek(3); string(mark) == "\ufeff" {
		_, _ = r.Discard(3)
	}
	return r, file, nil
}

// Read calls f with every line of a file that is not blank. Line numbers count from 1; an error of f, which ends it,
// gets file and line. Lines beyond MaxLine are passed over, and named by the error at the end. Of a file that ends in
// an error, the line in which it does is not read.
func Read(stdin io.Reader, name string, f func(number int, line []byte) error) error {
	r, file, err := Open(stdin, name)
	if err != nil {
		return err
	}
	defer file.Close()
	var line []byte
	var long error
	for number := 1; err != io.EOF; number++ {
		line, err = readLine(r, line[:0])
		switch {
		case err != nil && err != io.EOF:
			return errors.Join(long, fmt.Errorf("%s: %w", name, err))
		case len(line) > MaxLine:
			long = errors.Join(long, fmt.Errorf("%s: line %d is longer than %d bytes", name, number, MaxLine))
		case len(bytes.TrimSpace(line)) > 0:
			if err := f(number, line); err != nil {
				return errors.Join(long, fmt.Errorf("%s: line %d: %w", name, number, err))
			}
		}
	}
	return long
}

// readLine appends the next line without its end to line, or, of one that is too long, more than MaxLine bytes.
func readLine(r *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= MaxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// layouts are the forms of time in corpora, in addition to RFC 3339.
var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02", "2006/01/02", "01/02/2006"}

// WithPublishedAt returns a copy of a line as the service wants it: a time in `published`, as
// corpora have it, is added as `published_at` unless that is there. Times without a
// zone are China's. Any other line is copied as it is, for the service to judge.
func WithPublishedAt(line []byte) []byte {
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
