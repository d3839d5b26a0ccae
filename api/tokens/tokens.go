// Package tokens says whose token a request carries.
//
// # The file
//
// A line is a name, a role (one of bus.RoleNames), a public id and the
// argon2id hash of a token, as `jianguo token add` writes it. Such a token is jg_ID_SECRET:
// its id finds the line, so that a wrong one costs one hash at most. Empty lines and those
// that begin with # are passed over.
//
// argon2id is slow by intent. A token that was verified is remembered in memory under a
// keyed hash, until its line is removed. Attempts that fail are bounded by address.
package tokens

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"jianguo/bus"
)

// Failed attempts of one address: so many at once, and one more each time that failureEvery
// has passed.
const (
	failureBurst = 20
	failureEvery = 3 * time.Second
	maxAddresses = 10_000 // whose failures are remembered
	hashesAtOnce = 2
)

// roleOf is the role that a file calls by a name.
func roleOf(name string) (bus.Role, error) {
	i := slices.Index(bus.RoleNames, name)
	if i < 0 {
		return 0, fmt.Errorf("role %q: want %s", name, strings.Join(bus.RoleNames, ", "))
	}
	return 1 << i, nil
}

// Token is a line of the file.
type Token struct {
	ID      string
	Name    string
	Role    bus.Role
	Session string   // names the token within this process; it ends with the line
	Sources []string // patterns of path.Match: it publishes for these alone; none: for all
	hash    *hash
	spend   *rate.Limiter
}

// Spend takes a request from the token's rate.
func (t *Token) Spend() error {
	if t.spend != nil && !t.spend.Allow() {
		return &LimitError{Why: fmt.Sprintf("the token of %q makes more than %v requests a second, which is its bound",
			t.Name, float64(t.spend.Limit())), After: time.Second}
	}
	return nil
}

// sourcePrefix begins the words behind a token that bind it to sources.
const sourcePrefix = "source="

// MayPublish reports whether a token may publish for a source.
func (t *Token) MayPublish(source string) bool {
	return len(t.Sources) == 0 || slices.ContainsFunc(t.Sources, func(pattern string) bool {
		ok, err := path.Match(pattern, source)
		return ok && err == nil
	})
}

// ErrUnknown says that no line has a token.
var ErrUnknown = errors.New("no such token is known")

// LimitError says that too much was tried, and when to try again.
type LimitError struct {
	Why   string
	After time.Duration
}

func (e *LimitError) Error() string { return e.Why }

// Seconds is the value of Retry-After.
func (e *LimitError) Seconds() string { return strconv.Itoa(int(e.After/time.Second) + 1) }

// Set holds the tokens that may use the service. A nil Set lets every client in.
type Set struct {
	file    string
	rate    float64  // requests a second of one token; 0: no bound
	key     [32]byte // of the hashes in memory
	lines   atomic.Pointer[lines]
	hashing chan struct{} // a place for each hash at once

	mu       sync.Mutex
	failures map[netip.Addr]*rate.Limiter // under mu
}

// lines are the tokens of one state of the file.
type lines struct {
	list     []*Token
	byID     map[string]*Token
	verified sync.Map // of [32]byte, the keyed hash of a token, to *Token
}

// Open reads a file of tokens. perSecond bounds the requests that each may make over HTTP;
// 0: no bound.
func Open(file string, perSecond float64) (*Set, error) {
	s := &Set{file: file, rate: perSecond, hashing: make(chan struct{}, hashesAtOnce),
		failures: map[netip.Addr]*rate.Limiter{}}
	_, _ = rand.Read(s.key[:]) // does not fail
	s.lines.Store(&lines{})
	_, err := s.Reload()
	return s, err
}

// Reload reads the file again, and returns the names whose tokens are not in it any more.
// After an error the tokens stay as they were.
func (s *Set) Reload() (gone []string, err error) {
	f, err := os.Open(s.file)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	defer f.Close()
	next, err := s.parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	last := s.lines.Load()
	for _, t := range last.list {
		if !slices.ContainsFunc(next.list, t.same) {
			gone = append(gone, t.Name)
		}
	}
	last.verified.Range(func(sum, t any) bool {
		if i := slices.IndexFunc(next.list, t.(*Token).same); i >= 0 {
			next.verified.Store(sum, next.list[i])
		}
		return true
	})
	s.lines.Store(next)
	return gone, nil
}

func (t *Token) same(o *Token) bool {
	return t.Session == o.Session && t.Name == o.Name && t.Role == o.Role && slices.Equal(t.Sources, o.Sources)
}

// parse reads lines. An error names the line, never the token.
func (s *Set) parse(r io.Reader) (*lines, error) {
	l := &lines{byID: map[string]*Token{}}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		f := strings.Fields(sc.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if err := s.parseLine(l, f); err != nil {
			return nil, fmt.Errorf("tokens: line %d: %w", n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if len(l.list) == 0 {
		return nil, errors.New("tokens: the list is empty")
	}
	return l, nil
}

func (s *Set) parseLine(l *lines, f []string) error {
	var sources []string
	for n := len(f) - 1; n > 3 && strings.HasPrefix(f[n], sourcePrefix); n-- {
		sources, f = append(sources, strings.TrimPrefix(f[n], sourcePrefix)), f[:n]
	}
	if len(f) != 4 {
		return fmt.Errorf("it has %d words, want name, role, id and hash, as jianguo token add writes them", len(f))
	}
	role, err := roleOf(f[1])
	if err != nil {
		return err
	}
	t := &Token{Name: f[0], Role: role, ID: f[2], Session: s.session(f[2] + f[3]), Sources: sources}
	if s.rate > 0 {
		t.spend = rate.NewLimiter(rate.Limit(s.rate), max(1, int(s.rate)))
	}
	if t.hash, err = parseHash(f[3]); err != nil {
		return fmt.Errorf("the hash of %q: %w", t.Name, err)
	}
	if l.byID[t.ID] != nil {
		return fmt.Errorf("another line has the id of %q too", t.Name)
	}
	// A client reads the replies to all whose inboxes have its prefix.
	if i := slices.IndexFunc(l.list, func(o *Token) bool {
		return o.Name != t.Name && bus.InboxOf(o.Name) == bus.InboxOf(t.Name)
	}); i >= 0 {
		return fmt.Errorf("the names %q and %q have one inbox on the bus, %s: rename one", l.list[i].Name, t.Name,
			bus.InboxOf(t.Name))
	}
	l.list, l.byID[t.ID] = append(l.list, t), t
	return nil
}

// sum is the keyed hash under which a token is found in memory: without the key nobody can
// choose a token by the time that the search takes.
func (s *Set) sum(secret string) (sum [32]byte) {
	h := hmac.New(sha256.New, s.key[:])
	h.Write([]byte(secret))
	h.Sum(sum[:0])
	return sum
}

// session names what a line holds and does not tell it.
func (s *Set) session(held string) string {
	sum := s.sum("session of " + held)
	return hex.EncodeToString(sum[:12])
}

// Len is the number of tokens.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.lines.Load().list)
}

// List returns the tokens, in the order of the file.
func (s *Set) List() []*Token { return s.lines.Load().list }

// Current reports whether the line that a session came from is still there.
func (s *Set) Current(session string) bool {
	return slices.ContainsFunc(s.lines.Load().list, func(t *Token) bool { return t.Session == session })
}

// Find says whose token a client at an address gives. The error is ErrUnknown, or a
// LimitError after too many unknown ones.
func (s *Set) Find(secret, remote string) (*Token, error) {
	sum := s.sum(secret)
	l := s.lines.Load()
	if t, ok := l.verified.Load(sum); ok {
		return t.(*Token), nil
	}
	if secret == "" {
		return nil, ErrUnknown
	}
	attempt := s.failuresOf(remote).Reserve()
	if wait := attempt.Delay(); wait > 0 {
		attempt.Cancel()
		return nil, &LimitError{Why: "too many unknown tokens came from this address: try again later", After: wait}
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(secret, prefix), "_")
	t := l.byID[id]
	if t == nil || !strings.HasPrefix(secret, prefix) {
		return nil, ErrUnknown
	}
	s.hashing <- struct{}{}
	defer func() { <-s.hashing }()
	if _, ok := l.verified.Load(sum); !ok && !t.hash.isOf(secret) {
		return nil, ErrUnknown
	}
	l.verified.Store(sum, t)
	attempt.Cancel()
	return t, nil
}

// failuresOf bounds the failed attempts of an address.
func (s *Set) failuresOf(remote string) *rate.Limiter {
	from := Address(remote)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.failures[from]
	if f == nil {
		if len(s.failures) >= maxAddresses {
			clear(s.failures)
		}
		f = rate.NewLimiter(rate.Every(failureEvery), failureBurst)
		s.failures[from] = f
	}
	return f
}

// Address is the address in host:port. One IPv6 client has a network of 64 bits.
func Address(remote string) netip.Addr {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	addr := from.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return addr
}

// BusUser is the client of the embedded bus that has a secret, and the subjects it may
// use; it has the type of bus.Config.Authenticate.
func (s *Set) BusUser(secret, remote string) (bus.User, bool) {
	if s == nil {
		return bus.Anonymous(), true
	}
	t, err := s.Find(secret, remote)
	if err != nil {
		return bus.User{}, false
	}
	return bus.UserOf(t.Name, secret, t.Role, t.Sources...), true
}
