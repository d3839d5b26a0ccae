package exposure

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/exposure/story"
	"jianguo/internal/steady"
)

// Config is what a store is opened with. Path and Log are required; every other zero
// value is usable.
type Config struct {
	Path string       // the state file (SQLite)
	Log  eventlog.Log // where events go and come from

	Policies map[string]Policy   // by history; "" is the default history
	Kinds    map[string][]string // by history, the kinds of reports that it keeps; missing: delivered and seen
	Scenes   map[string]Scene    // one that is not listed is as "", which reads and writes the default history
	Location *time.Location      // of days and months; nil: Asia/Shanghai
	Clock    func() time.Time    // by which data expires; nil: Steady, or time.Now
	Steady   *steady.Clock       // goes on where the last process ended; may be nil

	Shared *Shared // states are in a Redis instead of the file; may be nil. The store closes it

	Old *redis.Old // a store that is asked as well, for users of the default history; may be nil

	Stories *story.Stories // for requests with the scope story; may be nil

	MaxUnflushed int           // keys of events applied but not in the file (default 262,144); past it the log waits
	FlushAge     time.Duration // age of the oldest of them (default 10 s)
	CacheBytes   int64         // memory for users (default 256 MiB)
	SweepRate    int           // rows a second checked for expiry (default 2,000; negative: never)
	SweepRest    time.Duration // between two walks over the file (default a minute)
	HealAfter    time.Duration // from a failure to the first try to resume (default 1 s)
	Relaxed      bool          // an answered report survives the end of the process, not necessarily a power cut
	FailClosed   bool          // a filter that cannot be computed returns nothing instead of everything

	// Dead keeps an entry that can never be applied; user is "" where it cannot be read.
	// The entry counts as applied once Dead has returned nil. Until then it is called
	// again, and all later entries wait. nil: logged only.
	Dead func(ctx context.Context, e eventlog.Entry, user string, reason error) error
	// Forgotten removes what is kept of a user elsewhere, such as dead letters. It is
	// called like Dead, before a forget counts as applied.
	Forgotten func(ctx context.Context, user string) error
	// Fail is called at named points (flush-begin, flush-write, flush-commit,
	// flush-committed, appended); an error fails there. For tests.
	Fail   func(point string) error
	Rand   io.Reader    // for the secret of a new file; nil: crypto/rand
	Logger *slog.Logger // nil: slog.Default
}

// reports are the kinds of reports that there are always.
var reports = []string{string(Delivered), string(Seen)}

// MoreKinds are the other ones, in order.
func (cfg *Config) MoreKinds() (more []string) {
	for _, kinds := range cfg.Kinds {
		more = state.Union(more, kinds)
	}
	more = slices.DeleteFunc(more, func(kind string) bool { return slices.Contains(reports, kind) })
	slices.Sort(more)
	return more
}

// Scene is the histories of a part of a platform: its filters ask those that it reads, and its reports go into those
// that it writes and that keep their kind.
type Scene struct{ Reads, Writes []string }

// all is every history of a scene, those that it writes first.
func (sc Scene) all() []string { return state.Union(slices.Clone(sc.Writes), sc.Reads) }

// shanghai is the default zone, fixed rather than looked up: a machine without a
// zone database would otherwise put month ends elsewhere.
var shanghai = time.FixedZone("Asia/Shanghai", 8*3600)

func (cfg *Config) setDefaults() {
	scenes := map[string]Scene{"": {Reads: []string{""}, Writes: []string{""}}}
	maps.Copy(scenes, cfg.Scenes)
	cfg.Scenes = scenes
	cfg.Location = cmp.Or(cfg.Location, shanghai)
	if cfg.Clock == nil {
		cfg.Clock = time.Now
		if cfg.Steady != nil {
			cfg.Clock = cfg.Steady.Now
		}
	}
	cfg.MaxUnflushed = cmp.Or(cfg.MaxUnflushed, 1<<18)
	cfg.FlushAge = cmp.Or(cfg.FlushAge, 10*time.Second)
	cfg.CacheBytes = cmp.Or(cfg.CacheBytes, 256<<20)
	cfg.SweepRate = cmp.Or(cfg.SweepRate, 2000)
	cfg.SweepRest = cmp.Or(cfg.SweepRest, time.Minute)
	cfg.HealAfter = cmp.Or(cfg.HealAfter, time.Second)
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
}

// Of package state.
type (
	Policy    = state.Policy
	EventKind = state.EventKind
)

const (
	Calendar = state.Calendar

	Delivered = state.Delivered
	Seen      = state.Seen
	Unsee     = state.Unsee
	Forget    = state.Forget
	Imported  = state.Imported
	Link      = state.Link
	Unlink    = state.Unlink
	Linked    = state.Linked
	Unlinked  = state.Unlinked
)

// ParsePolicy reads a policy as state.ParsePolicy describes it.
func ParsePolicy(s string) (Policy, error) { return state.ParsePolicy(s) }

// Errors that a caller decides on. All others are failures of the machine.
var (
	ErrFull       = eventlog.ErrFull
	ErrAway       = redis.ErrAway
	ErrClosed     = errors.New("exposure: the store is closed")
	ErrLink       = state.ErrLink
	ErrCorrupt    = state.ErrCorrupt // wrapped by every error about stored bytes that cannot be right
	ErrExceptions = state.ErrExceptions
	ErrNotReady   = errors.New("exposure: the store is still replaying its log")
)
