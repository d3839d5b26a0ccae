// Package tokens says whose token a request carries.
//
// # The file
//
// A line is a name, a role (one of bus.RoleNames), a public id and the
// argon2id hash of a token, as `jianguo token add` writes it. Such a token is jg_ID_SECRET:
// its id finds the line, so that a wrong one costs one hash at most. Empty lines and those
// that begin with # are passed over.
//
// argon2id is slow by intent. A line remembers the SHA-256 of the token that it verified, until it is
// removed. Attempts that fail are bounded by address.
package tokens

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/crypto/argon2"
	"golang.org/x/time/rate"

	"jianguo/bus"
	"jianguo/internal/must"
)

// Failed attempts of one address: so many at once, and one more each time that failureEvery
// has passed.
const (
	failureBurst = 20
	failureEvery = 3 * time.Second
	maxAddresses = 10_000 // whose failures are remembered: the last ones
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

type Token struct {
	ID      string
	Name    string
	Role    bus.Role
	Line    string   // hash of the line, with which sessions that began with the token end
	Sources []string // it publishes for these alone, where * is any characters and ? one; none: for all
	hash    *hash
	spend   *rate.Limiter
	known   atomic.Pointer[[sha256.Size]byte] // the sum of the token, once it was verified
}

// isOf reports whether a token with a sum was verified to be this one.
func (t *Token) isOf(sum [sha256.Size]byte) bool {
	known := t.known.Load()
	return known != nil && subtle.ConstantTimeCompare(known[:], sum[:]) == 1
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
		ok, err := regexp.MatchString(anyOf.Replace("^(?s:"+regexp.QuoteMeta(pattern))+")$", source)
		return ok && err == nil
	})
}

var anyOf = strings.NewReplacer(`\*`, ".*", `\?`, ".")

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
	file     string
	rate     float64 // requests a second of one token; 0: no bound
	list     atomic.Pointer[[]*Token]
	hashing  chan struct{} // a place for each hash at once
	failures *lru.Cache[netip.Addr, *rate.Limiter]
}

// Open reads a file of tokens. perSecond bounds the requests that each may make over HTTP;
// 0: no bound.
func Open(file string, perSecond float64) (*Set, error) {
	s := &Set{file: file, rate: perSecond, hashing: make(chan struct{}, hashesAtOnce),
		failures: must.Get(lru.New[netip.Addr, *rate.Limiter](maxAddresses))}
	s.list.Store(new([]*Token))
	_, err := s.Reload()
	return s, err
}

// mark is the byte order mark that some programs write in front of a file.
const mark = "\ufeff"

// Reload reads the file again, and returns the names whose tokens are not in it any more.
// After an error the tokens stay as they were.
func (s *Set) Reload() (gone []string, err error) {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	next, err := s.parse(strings.TrimPrefix(string(text), mark))
	if err != nil {
		return nil, fmt.Errorf("%s: tokens: %w", s.file, err)
	}
	for _, t := range s.List() {
		i := slices.IndexFunc(next, func(o *Token) bool { return o.Line == t.Line })
		if i < 0 {
			gone = append(gone, t.Name)
		} else {
			next[i] = t // with what it has verified
		}
	}
	s.list.Store(&next)
	return gone, nil
}

// parse reads lines. An error names the line, never the token.
func (s *Set) parse(text string) (list []*Token, err error) {
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if list, err = s.parseLine(list, f); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("the list is empty: add a token first")
	}
	return list, nil
}

func (s *Set) parseLine(list []*Token, f []string) ([]*Token, error) {
	sum := sha256.Sum256([]byte(strings.Join(f, " ")))
	t := &Token{Line: hex.EncodeToString(sum[:12])}
	for n := len(f) - 1; n > 3 && strings.HasPrefix(f[n], sourcePrefix); n-- {
		t.Sources, f = append(t.Sources, strings.TrimPrefix(f[n], sourcePrefix)), f[:n]
	}
	if len(f) != 4 {
		return nil, fmt.Errorf("it has %d words, want name, role, id and hash, as jianguo token add writes them",
			len(f))
	}
	var err error
	t.Name, t.ID = f[0], f[2]
	if t.Role, err = roleOf(f[1]); err != nil {
		return nil, err
	}
	if s.rate > 0 {
		t.spend = rate.NewLimiter(rate.Limit(s.rate), max(1, int(s.rate)))
	}
	if t.hash, err = parseHash(f[3]); err != nil {
		return nil, fmt.Errorf("the hash of %q: %w", t.Name, err)
	}
	if find(list, t.ID) != nil {
		return nil, fmt.Errorf("another line has the id of %q too", t.Name)
	}
	// A client reads the replies to all whose inboxes have its prefix.
	if i := slices.IndexFunc(list, func(o *Token) bool {
		return o.Name != t.Name && bus.InboxOf(o.Name) == bus.InboxOf(t.Name)
	}); i >= 0 {
		return nil, fmt.Errorf("the names %q and %q have one inbox on the bus, %s: rename one", list[i].Name, t.Name,
			bus.InboxOf(t.Name))
	}
	return append(list, t), nil
}

func find(list []*Token, id string) *Token {
	for _, t := range list {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.List())
}

// List returns the tokens, in the order of the file.
func (s *Set) List() []*Token { return *s.list.Load() }

// HasLine reports whether a line is still in the file.
func (s *Set) HasLine(line string) bool {
	return slices.ContainsFunc(s.List(), func(t *Token) bool { return t.Line == line })
}

// Find says whose token a client at an address gives. The error is ErrUnknown, or a
// LimitError after too many unknown ones.
func (s *Set) Find(secret, remote string) (*Token, error) {
	sum := sha256.Sum256([]byte(secret))
	var t *Token
	if rest, ok := strings.CutPrefix(secret, prefix); ok {
		id, _, _ := strings.Cut(rest, "_")
		t = find(s.List(), id)
	}
	if t != nil && t.isOf(sum) {
		return t, nil
	}
	if secret == "" {
		return nil, ErrUnknown
	}
	if t != nil {
		s.hashing <- struct{}{}
		defer func() { <-s.hashing }()
	}
	failures := s.failuresOf(remote)
	switch missing := 1 - failures.Tokens(); {
	case t != nil && t.isOf(sum): // a request before it in the queue has verified it
		return t, nil
	case missing > 0:
		return nil, &LimitError{Why: "too many unknown tokens came from this address: try again later",
			After: time.Duration(missing * float64(failureEvery))}
	case t == nil || !t.hash.isOf(secret):
		failures.Allow()
		return nil, ErrUnknown
	}
	t.known.Store(&sum)
	return t, nil
}

// failuresOf bounds the failed attempts of an address.
func (s *Set) failuresOf(remote string) *rate.Limiter {
	fresh := rate.NewLimiter(rate.Every(failureEvery), failureBurst)
	if known, ok, _ := s.failures.PeekOrAdd(Address(remote), fresh); ok {
		return known
	}
	return fresh
}

// Address is the address in host:port. One IPv6 client has a network of 64 bits.
func Address(remote string) netip.Addr {
	from, _ := netip.ParseAddrPort(remote) // of anything else, the zero address
	addr := from.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64) // which every such address has
		return network.Addr()
	}
	return addr
}

// BusUser is the client of the embedded bus that has a secret, and the subjects it may
// use; it has the type of bus.Config.Authenticate.
func (s *Set) BusUser(secret, remote string) (bus.User, bool) {
	if s == nil {
		return bus.Anonymous(secret), true
	}
	t, err := s.Find(secret, remote)
	if err != nil {
		return bus.User{}, false
	}
	return bus.UserOf(t.Name, secret, t.Role, t.Sources...), true
}

// prefix begins a token, an id of idLength characters and _ follow, and then the secret.
const (
	prefix   = "jg_"
	idLength = 10
)

// What one hash may cost at most.
const maxTime, maxMemory, maxThreads = 16, 256 << 10, 8

// hash is a parsed argon2id hash in the form of its reference implementation:
// $argon2id$v=19$m=19456,t=2,p=1$SALT$HASH.
type hash struct {
	time, memory uint32
	threads      uint8
	salt, sum    []byte
}

func parseHash(text string) (*hash, error) {
	h, part := new(hash), strings.Split(text, "$")
	malformed := errors.New("is not of the form $argon2id$v=19$m=…,t=…,p=…$salt$hash: add the token again")
	if len(part) != 6 || part[0] != "" || part[1] != "argon2id" || part[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return nil, malformed
	}
	if n, err := fmt.Sscanf(part[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); n != 3 || err != nil {
		return nil, malformed
	}
	if h.time < 1 || h.time > maxTime || h.threads < 1 || h.threads > maxThreads || h.memory < 8*uint32(h.threads) ||
		h.memory > maxMemory {
		return nil, fmt.Errorf("wants m=%d,t=%d,p=%d: at most m=%d,t=%d,p=%d are taken", h.memory, h.time, h.threads,
			maxMemory, maxTime, maxThreads)
	}
	var saltErr, sumErr error
	h.salt, saltErr = base64.RawStdEncoding.DecodeString(part[4])
	h.sum, sumErr = base64.RawStdEncoding.DecodeString(part[5])
	if saltErr != nil || sumErr != nil || len(h.salt) < 8 || len(h.sum) < 16 {
		return nil, malformed
	}
	return h, nil
}

func (h *hash) isOf(secret string) bool {
	return subtle.ConstantTimeCompare(h.sum, argon2.IDKey([]byte(secret), h.salt, h.time, h.memory, h.threads,
		uint32(len(h.sum)))) == 1
}
