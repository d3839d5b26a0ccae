package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"testing"
)

// TestBare: of a profile of this process the path of its program goes, the rest
// stays, and what is cut off is refused.
func TestBare(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var profile, out bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 0); err != nil {
		t.Fatal(err)
	}
	was := unpack(t, profile.Bytes())
	if !bytes.Contains(was, []byte(self)) {
		t.Fatalf("%s is not in the profile", self)
	}
	if err := run(&profile, &out); err != nil {
		t.Fatal(err)
	}
	is := unpack(t, out.Bytes())
	if bytes.Contains(is, []byte(filepath.Dir(self))) || !bytes.Contains(is, []byte(filepath.Base(self))) || !bytes.Contains(is, []byte("testing.tRunner")) {
		t.Fatalf("%q", is)
	}
	if _, err := bare(was[:len(was)-1]); err == nil {
		t.Fatal("a profile cut short is taken")
	}
}

func unpack(t *testing.T, b []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	b, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
