package exposure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/exposure/story"
	"jianguo/internal/clock"
	"jianguo/internal/must"
)

// Config is what a store is opened with. Path and Log are required; every other zero
// value is usable.
type Config struct {
	Path string       // the state file (SQLite)
	Log  eventlog.Log // where events go and come from

	Policies map[string]state.Policy // by history; "" is the default history
	Kinds    map[string][]string     // by history, the kinds of reports that it keeps; missing: delivered and seen
	Scenes   map[string]Scene        // one that is not listed is as "", which reads and writes the default history
	Location *time.Location          // of days and months; nil: Asia/Shanghai
	Clock    func() time.Time        // by which data expires; nil: Steady, or time.Now
	Steady   *clock.Steady           // goes on where the last process ended; may be nil

	Shared *Shared // states are in a Redis instead of the file; may be nil. The store closes it

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

// builtinKinds are the kinds of reports that every store takes.
var builtinKinds = []string{string(state.Delivered), string(state.Seen)}

// MoreKinds are the kinds of reports that Kinds adds to the built-in ones, in order.
func (cfg *Config) MoreKinds() (more []string) {
	for _, kinds := range cfg.Kinds {
		more = state.Union(more, kinds)
	}
	more = slices.DeleteFunc(more, func(kind string) bool { return slices.Contains(builtinKinds, kind) })
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

// Errors that a caller decides on. All others are failures of the machine.
var (
	ErrFull       = eventlog.ErrFull
	ErrAway       = redis.ErrAway
	ErrGone       = eventlog.ErrGone
	ErrClosed     = errors.New("exposure: the store is closed")
	ErrLink       = state.ErrLink
	ErrCorrupt    = state.ErrCorrupt // wrapped by every error about stored bytes that cannot be right
	ErrExceptions = state.ErrExceptions
	ErrNotReady   = errors.New("exposure: the store is still replaying its log")
	ErrFailed     = errors.New("exposure: the store has failed") // until it has resumed
)

// defaultName is, in a policy file, the default history, and the scene of requests that name no listed one.
const defaultName = "default"

type policyFile struct {
	Histories map[string]struct {
		Policy string
		Kinds  []string // missing: delivered and seen
	}
	Scenes map[string]Scene // what one leaves out is as in defaultName, and what that leaves out is every history
}

// ReadPolicies reads the policy of the default history, or a file that ends in .json, which docs/EXPOSURE.md describes:
// Policies, Kinds and Scenes of a Config. Errors name the field.
func ReadPolicies(path string) (cfg Config, err error) {
	if !strings.HasSuffix(path, ".json") {
		policy, err := state.ParsePolicy(path)
		if err != nil {
			return cfg, fmt.Errorf("%w, nor a file that ends in .json", err)
		}
		return Config{Policies: map[string]state.Policy{"": policy}}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return cfg, err
	}
	if cfg, err = parsePolicies(data); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return cfg, err
}

func parsePolicies(data []byte) (cfg Config, err error) {
	err = must.Catch(func() {
		var f policyFile
		must.Do(json.Unmarshal(data, &f, json.RejectUnknownMembers(true), json.MatchCaseInsensitiveNames(true)))
		if _, ok := f.Histories[defaultName]; !ok {
			must.Do(fmt.Errorf("histories: %s is missing", defaultName))
		}
		cfg.Policies, cfg.Kinds, cfg.Scenes = map[string]state.Policy{}, map[string][]string{}, map[string]Scene{}
		for name, h := range f.Histories {
			policy, err := state.ParsePolicy(h.Policy)
			must.Dof(err, "histories.%s.policy", name)
			if cfg.Policies[storedName(name)] = policy; h.Kinds != nil {
				must.Dof(checkKinds(h.Kinds), "histories.%s.kinds", name)
				cfg.Kinds[storedName(name)] = h.Kinds
			}
		}
		f.fill(cfg.Scenes)
	})
	return cfg, err
}

// storedName is the name of a history in the state file, and of a scene in a Config. It panics on errors (must).
func storedName(name string) string {
	switch name {
	case "":
		must.Do(errors.New("a history or a scene has an empty name"))
	case defaultName:
		return ""
	}
	return name
}

// reservedKinds are subjects that are no kinds of a policy file.
var reservedKinds = []string{"played", "unsee", "forget", "imported", "link", "unlink", "linked", "unlinked", "filter",
	"report"}

var kindName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

func checkKinds(kinds []string) error {
	for _, kind := range kinds {
		if !kindName.MatchString(kind) || slices.Contains(reservedKinds, kind) {
			return fmt.Errorf("%.60q is no name of a kind: "+
				"a word of up to 32 letters a to z, digits, _ and -, and none of %s", kind,
				strings.Join(reservedKinds, ", "))
		}
	}
	if len(kinds) == 0 {
		return errors.New("is empty")
	}
	return nil
}

// fill fills in the scenes, and refuses a history that no scene writes. It panics on errors (must).
func (f *policyFile) fill(scenes map[string]Scene) {
	all := slices.Sorted(maps.Keys(f.Histories))
	all = append([]string{defaultName}, slices.DeleteFunc(all, func(h string) bool { return h == defaultName })...)
	base := Scene{Reads: all, Writes: all}

	var written []string
	for _, name := range append([]string{defaultName}, slices.Sorted(maps.Keys(f.Scenes))...) {
		sc := f.Scenes[name]
		if sc.Reads == nil {
			sc.Reads = base.Reads
		}
		if sc.Writes == nil {
			sc.Writes = base.Writes
		}
		if name == defaultName {
			base = sc
		}
		sc.Reads, sc.Writes = f.storedNames(name+".reads", sc.Reads), f.storedNames(name+".writes", sc.Writes)
		scenes[storedName(name)] = sc
		written = append(written, sc.Writes...)
	}
	for _, h := range all {
		if !slices.Contains(written, storedName(h)) {
			must.Do(fmt.Errorf("histories.%s: no scene writes it", h))
		}
	}
}

// storedNames are the names in the state file of the histories that a field of the scenes lists.
func (f *policyFile) storedNames(field string, names []string) (list []string) {
	for _, h := range names {
		if _, ok := f.Histories[h]; !ok {
			all := strings.Join(slices.Sorted(maps.Keys(f.Histories)), ", ")
			must.Do(fmt.Errorf("scenes.%s: %.60q is no history: %s", field, h, all))
		}
		list = append(list, storedName(h))
	}
	return list
}
