package tokens

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"jianguo/internal/testbed"
)

// base32 is the alphabet of rand.Text.
const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// A token that was added is found, its file does not tell it, and after it was revoked
// it is unknown, without a restart. Other lines stay.
func TestAddRevokeReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	const comment = mark + "# ours\r\n\n" // as an editor on Windows leaves it
	testbed.OK(t, os.WriteFile(file, []byte(comment), 0o640))
	_ = os.Chown(file, 65532, 65532) // by root
	before, err := os.Stat(file)
	testbed.OK(t, err)
	other, err := Add(file, "other", "recall")
	testbed.OK(t, err)
	added, err := Add(file, "张三", "editor")
	testbed.OK(t, err)
	after, err := os.Stat(file)
	if err != nil || after.Sys().(*syscall.Stat_t).Uid != before.Sys().(*syscall.Stat_t).Uid || after.Mode() != before.Mode() {
		t.Errorf("%v was %v: %v", after, before, err)
	}
	s, err := Open(file, 0)
	testbed.OK(t, err)
	if _, random, _ := strings.Cut(strings.TrimPrefix(added, prefix), "_"); len(random) < 26 || strings.Trim(random, base32) != "" {
		t.Errorf("%s: 26 characters of %s hold 128 bits", added, base32)
	}
	for secret, name := range map[string]string{added: "张三", other: "other", added + "x": "", other[1:]: "", added[:20]: "", "": ""} {
		for range 2 {
			tok, err := s.Find(secret, "10.0.0.1:1")
			if name == "" && !errors.Is(err, ErrUnknown) || name != "" && (err != nil || tok.Name != name) {
				t.Errorf("%q: %v %v, want %q", secret, tok, err, name)
			}
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(raw), added) || !strings.Contains(string(raw), "$argon2id$") ||
		!strings.HasPrefix(string(raw), strings.TrimPrefix(comment, mark)+"other recall ") {
		t.Errorf("%v\n%s", err, raw)
	}
	tok, err := s.Find(added, "10.0.0.1:1")
	if err != nil || !s.HasLine(tok.Line) {
		t.Fatal(err)
	}
	if n, err := Revoke(file, tok.ID); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if gone, err := s.Reload(); err != nil || len(gone) != 1 || gone[0] != "张三" {
		t.Errorf("%v %v", gone, err)
	}
	if _, err := s.Find(added, "10.0.0.1:1"); !errors.Is(err, ErrUnknown) || s.HasLine(tok.Line) {
		t.Errorf("revoked: %v", err)
	}
	if _, err := s.Find(other, "10.0.0.1:1"); err != nil {
		t.Errorf("the other token: %v", err)
	}
	// What a service would not take is not written: not even the last token goes, which would stay in force.
	if _, err := Revoke(file, "other"); err == nil || !strings.Contains(err.Error(), "add a token first") {
		t.Errorf("the last token: %v", err)
	}
	_, dot := Add(file, "a.b", "recall")
	if _, err := Add(file, "a_b", "recall"); dot != nil || err == nil || !strings.Contains(err.Error(), "rename one") {
		t.Errorf("two names of one inbox: %v, %v", dot, err)
	}
	if _, err := s.Reload(); err != nil || s.Len() != 2 {
		t.Errorf("%v, %d tokens", err, s.Len())
	}
	if _, err := Add(file, "desk", "editor", "甲报"); err == nil || !strings.Contains(err.Error(), "only the role platform") {
		t.Errorf("an editor of one source: %v", err)
	}
	testbed.OK(t, os.WriteFile(file, []byte("broken"), 0o600))
	if _, err := s.Reload(); err == nil || s.Len() != 2 {
		t.Errorf("a broken file: %v, %d tokens", err, s.Len())
	}
	if n, err := Revoke(file, "nobody"); n != 0 || err == nil {
		t.Error("revoked a token that there is not")
	}
}

// Of tokens that are added at once none is lost.
func TestAddAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	var adding sync.WaitGroup
	for n := range 8 {
		adding.Go(func() {
			if _, err := Add(file, fmt.Sprint("name", n), "recall"); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	if s, err := Open(file, 0); err != nil || s.Len() != 8 {
		t.Errorf("%d of 8 tokens: %v", s.Len(), err)
	}
}

// After many wrong tokens from an address no more are tried from there; tokens that are
// in use keep working, and so do other addresses.
func TestGuessing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	used, err := Add(file, "used", "recall")
	testbed.OK(t, err)
	other, err := Add(file, "other", "recall")
	testbed.OK(t, err)
	s, err := Open(file, 0)
	testbed.OK(t, err)
	find := func(secret, from string) error { _, err := s.Find(secret, from); return err }
	testbed.OK(t, find(used, "10.0.0.1:1"))
	var limit *LimitError
	n := 0
	for !errors.As(find(fmt.Sprint("jg_guess_", n), fmt.Sprint("10.0.0.1:", n+1)), &limit) {
		if n++; n > 25 { // one more each three seconds; the first use of a token counts too
			t.Fatal("guesses are not bounded")
		}
	}
	if n < 19 || limit.After <= 0 || limit.After > 3*time.Second || limit.Seconds() == "0" {
		t.Errorf("after %d wrong ones, try again after %v", n, limit.After)
	}
	if err := find(other, "10.0.0.1:1"); !errors.As(err, &limit) {
		t.Errorf("a token that was never used, from the address of guesses: %v", err)
	}
	if err := errors.Join(find(used, "10.0.0.1:1"), find(other, "10.0.0.2:1")); err != nil {
		t.Error(err)
	}
}
