// Command barepgo takes out of a profile on standard input the paths of the
// machine it was made on, which no compiler asks for, and writes it to standard
// output.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "barepgo:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	profile, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	if profile, err = bare(profile); err != nil {
		return err
	}
	w, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(profile)
	return errors.Join(err, w.Close())
}

var errProfile = errors.New("not a profile")

// Of the message perftools.profiles.Profile: its table of strings, and the
// types that fields have on the wire.
const (
	stringTable = 6

	varint = 0
	fixed8 = 1
	length = 2
)

// bare leaves of every string that is an absolute path its last element. The
// strings keep their numbers.
func bare(profile []byte) ([]byte, error) {
	var out []byte
	for len(profile) > 0 {
		tag, n := binary.Uvarint(profile)
		if n <= 0 {
			return nil, errProfile
		}
		whole := n
		switch tag & 7 {
		case varint:
			_, m := binary.Uvarint(profile[n:])
			if m <= 0 {
				return nil, errProfile
			}
			whole += m
		case fixed8:
			whole += 8
		case length:
			size, m := binary.Uvarint(profile[n:])
			if m <= 0 || size > uint64(len(profile)-n-m) {
				return nil, errProfile
			}
			whole += m + int(size)
			if text := profile[n+m : whole]; tag>>3 == stringTable && bytes.HasPrefix(text, []byte("/")) {
				text = []byte(path.Base(string(text)))
				out = binary.AppendUvarint(append(out, profile[:n]...), uint64(len(text)))
				out, profile = append(out, text...), profile[whole:]
				continue
			}
		default:
			return nil, errProfile
		}
		if whole > len(profile) {
			return nil, errProfile
		}
		out, profile = append(out, profile[:whole]...), profile[whole:]
	}
	return out, nil
}
