package tokens

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/errgroup"

	"jianguo/internal/testbed"
)

const (
	secret = "jg_id_platform-token"
	line   = "id $argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0c2FsdHNhbHQ"
)

func TestRead(t *testing.T) {
	for list, problem := range map[string]string{
		"":                            "empty",
		"# only a comment\n":          "empty",
		"a platform":                  "line 1",
		"a platform " + secret:        "line 1: it has 3 words, want name, role, id and hash, as jianguo token add writes them",
		"a platform " + secret + " x": "the hash of",
		"\n\na admin " + line:         `line 3: role "admin"`,
		"a platform id $argon2id$":    "argon2id",
		"a platform id $argon2id$v=19$m=99999999,t=2,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0c2FsdHNhbHQ": "at most",
		"a platform " + line + "\nb editor " + line:                                                    "line 2",
		"a.b platform " + line + "\na_b recall 2" + line:                                               `line 2: the names "a.b" and "a_b" have one inbox on the bus, _INBOX_a_b`,
	} {
		s, err := read(t, list)
		if err == nil || !strings.Contains(err.Error(), problem) || s.Len() != 0 {
			t.Errorf("%.40q: %v, want %q", list, err, problem)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%.40q: the error tells the token", list)
		}
	}
}

// TestRate: a token makes as many requests as its rate allows.
func TestRate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	secret, err := Add(file, "old", "recall")
	testbed.OK(t, err)
	s, err := Open(file, 0.001)
	testbed.OK(t, err)
	tok, err := s.Find(secret, "10.0.0.1:1")
	testbed.OK(t, err)
	var limit *LimitError
	if err := tok.Spend(); err != nil {
		t.Error(err)
	}
	if err := tok.Spend(); !errors.As(err, &limit) {
		t.Errorf("beyond its rate: %v", err)
	}
}

// TestManyTokens: tokens that are known count as no failures of their address, however many come from there, nor does
// one that comes many times at once.
func TestManyTokens(t *testing.T) {
	var list []string
	for i := range 2 * failureBurst {
		h := hash{time: 1, memory: 8, threads: 1, salt: []byte("saltsalt")}
		h.sum = argon2.IDKey(fmt.Appendf(nil, "jg_%d_x", i), h.salt, h.time, h.memory, h.threads, 16)
		encode := base64.RawStdEncoding.EncodeToString
		list = append(list, fmt.Sprintf("n%d recall %d $argon2id$v=19$m=8,t=1,p=1$%s$%s", i, i, encode(h.salt), encode(h.sum)))
	}
	s, err := read(t, strings.Join(list, "\n"))
	testbed.OK(t, err)
	var all errgroup.Group
	for i := range list {
		all.Go(func() error {
			_, err := s.Find("jg_0_x", "10.0.0.1:1")
			return err
		})
		if _, err := s.Find(fmt.Sprintf("jg_%d_x", i), "10.0.0.1:1"); err != nil {
			t.Errorf("token %d: %v", i, err)
		}
	}
	testbed.OK(t, all.Wait())
	var limit *LimitError
	wrong := 0
	for err = nil; !errors.As(err, &limit); wrong++ {
		_, err = s.Find("jg_0_wrong", "10.0.0.1:1")
	}
	if wrong <= failureBurst || limit.After > failureEvery {
		t.Errorf("the wrong token was refused at try %d, for %v", wrong, limit.After)
	}
}

// TestFailuresOfMany: an address that failed too often stays refused when more addresses
// fail than are remembered.
func TestFailuresOfMany(t *testing.T) {
	s, err := read(t, "a platform "+line)
	testbed.OK(t, err)
	address := func(i int) string { return fmt.Sprintf("10.0.%d.%d:1", i>>8, i&255) }
	for i := range maxAddresses {
		_, _ = s.Find("x", address(i))
	}
	for range failureBurst {
		_, _ = s.Find("x", address(1))
	}
	_, _ = s.Find("x", address(maxAddresses))
	var limit *LimitError
	if _, err := s.Find("x", address(1)); !errors.As(err, &limit) {
		t.Errorf("an address beyond its failures: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a platform "+secret, secret)
	f.Add("a recall id $argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0c2FsdHNhbHQ", "jg_id_x")
	f.Fuzz(func(t *testing.T, list, secret string) {
		s, err := read(t, list)
		if (err == nil) != (s.Len() > 0) {
			t.Errorf("%d tokens, %v", s.Len(), err)
		}
		if s == nil || strings.Contains(list, "$") {
			return // a hash of the fuzzer may take long
		}
		if _, err := s.Find(secret, "10.0.0.1:1"); err == nil && !strings.Contains(list, secret) {
			t.Errorf("%q was found", secret)
		}
	})
}

// read reads a list as Open reads a file.
func read(t *testing.T, list string) (*Set, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tokens")
	testbed.OK(t, os.WriteFile(name, []byte(list), 0o600))
	return Open(name, 0)
}
