package verdict

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/compare"
)

// The rule sets a Policy can follow.
const (
	RulesJianguo = "jianguo" // all kinds of proposals, judged together
	RulesHamming = "hamming" // the textbook: reject at a small distance, no judging
)

// What a Policy does with suspects.
const (
	SuspectsPublish = "publish" // accepted, linked, shown to editors
	SuspectsReject  = "reject"  // duplicates
)

// Policy is every number that decides a verdict, apart from the recipe. A
// change takes effect at once; its hash is stored with each verdict.
type Policy struct {
	Rules    string `json:"rules"`    // RulesJianguo or RulesHamming
	Distance int    `json:"distance"` // proposals `hamming`: bits, 0…3
	Suspects string `json:"suspects"`
	// Strictness names a setting of the dial; empty: News of Limits as it is. See At.
	Strictness string `json:"strictness,omitempty"`
	// Limits are the numbers of the judge, and Judge the version of its code, tables and lists.
	Limits compare.Limits `json:"limits"`
	Judge  string         `json:"judge"`

	// Flood is how many suspects of one text in a minute of the stream set it aside: the next
	// ones are unique. Ids count once, and so does each other source than the text's. 0: never. FloodSpan is how far
	// apart the first and the last one are at least: what was sent at once decides nothing.
	Flood     int           `json:"flood"`
	FloodSpan time.Duration `json:"flood_span"`

	// MaxS bounds the proposals `margin`: S, 0…64. Unrelated texts have about 32.
	MaxS float32 `json:"max_s"`
	// Passages bounds the proposals `passage`, newest first: a passage shared by
	// more texts than that is boilerplate.
	Passages int `json:"passages"`
	// Judged bounds how many proposals an item is judged against, the most likely
	// first. Unrelated texts do not count.
	Judged int `json:"judged"`
	// Texts bounds how many of those are compared on their texts, the likeliest by their sketches first.
	Texts int `json:"texts"`
	// Look is the resemblance below which two sketches show that their texts are unrelated, unless one contains the
	// other.
	Look float32 `json:"look"`
	// Work bounds the tokens, of both sides together, of the pairs that are compared on texts: what an article may
	// cost those behind it. Of pairs beyond, sketches make suspects at most.
	Work int `json:"work"`

	// Tellings bounds how many tellings a story grows to by what arrives: a further one begins a story. Decisions of
	// editors have no bound.
	Tellings int `json:"tellings"`

	// Window is how long an exemplar stays after the last copy of its cluster
	// arrived, Cap how long after it arrived itself.
	Window time.Duration `json:"window"`
	Cap    time.Duration `json:"cap"`
}

// DefaultPolicy is the policy of `jianguo serve` without flags.
func DefaultPolicy() Policy {
	return Policy{
		Rules:     RulesJianguo,
		Distance:  3,
		Suspects:  SuspectsPublish,
		Flood:     100,
		FloodSpan: 10 * time.Second,
		MaxS:      8,
		Passages:  16,
		Judged:    64,
		Texts:     8,
		Look:      0.1,
		Work:      1 << 17,
		Tellings:  32,
		Judge:     compare.Version,
		Window:    90 * 24 * time.Hour,
		Cap:       2 * 365 * 24 * time.Hour,
	}.At(Strictnesses[1])
}

// Strictnesses are the settings of the dial, the one that rejects least first: at copies a sentence is news, at
// rewrites a paragraph, at stories only a longer passage.
var Strictnesses = []string{"copies", "rewrites", "stories"}

// At returns the policy at a setting of the dial; empty: as it is.
func (p Policy) At(strictness string) Policy {
	if i := slices.Index(Strictnesses, strictness); i >= 0 {
		p.Strictness, p.Limits = strictness, p.Limits.At([]int{30, 80, 200}[i])
	}
	return p
}

// Now returns what was chosen of a policy, maybe of another version, with the thresholds of this program.
func (p Policy) Now() Policy {
	now := DefaultPolicy()
	now.Rules, now.Distance, now.Window, now.Cap = p.Rules, p.Distance, p.Window, p.Cap
	if p.Suspects == SuspectsReject { // earlier builds had hold, which was judged as publish
		now.Suspects = p.Suspects
	}
	now.Strictness, now.Limits = p.Strictness, now.Limits.At(p.Limits.News)
	return now.At(p.Strictness)
}

// Changes lists how a policy differs from another one: "limits.news 80 → 30, strictness rewrites → copies".
func (p Policy) Changes(from Policy) string {
	var list []string
	is, was := p.flat(), from.flat()
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if is[name] != was[name] {
			list = append(list, fmt.Sprintf("%s %v → %v", name, was[name], is[name]))
		}
	}
	return strings.Join(list, ", ")
}

// flat returns the values of a policy by their names.
func (p Policy) flat() map[string]any {
	var all map[string]any
	_ = json.Unmarshal([]byte(p.Detail()), &all) // as it was encoded
	for name, value := range all["limits"].(map[string]any) {
		all["limits."+name] = value
	}
	delete(all, "limits")
	all["window"], all["cap"], all["flood_span"] = p.Window, p.Cap, p.FloodSpan
	return all
}

// Validate names the first field that is out of bounds.
func (p Policy) Validate() error {
	switch {
	case p.Rules != RulesJianguo && p.Rules != RulesHamming:
		return fmt.Errorf("policy: rule %q: want %s or %s", p.Rules, RulesJianguo, RulesHamming)
	case p.Distance < 0 || p.Distance > 3:
		return fmt.Errorf("policy: distance %d: the index finds 0 to 3 without loss", p.Distance)
	case p.Suspects != SuspectsPublish && p.Suspects != SuspectsReject:
		return fmt.Errorf("policy: suspects %q: want %s or %s", p.Suspects, SuspectsPublish, SuspectsReject)
	case p.MaxS < 0 || p.MaxS > 64:
		return fmt.Errorf("policy: max_s %v: want 0 to 64", p.MaxS)
	case p.Judged < 1 || min(p.Texts, p.Passages, p.Work, p.Tellings, p.Flood, int(p.FloodSpan)) < 0:
		return fmt.Errorf("policy: judged %d, texts %d, passages %d, work %d, tellings %d, flood %d, flood_span %v: "+
			"want at least 1, and 0 of the others",
			p.Judged, p.Texts, p.Passages, p.Work, p.Tellings, p.Flood, p.FloodSpan)
	case !(p.Look >= 0 && p.Look <= 1):
		return fmt.Errorf("policy: look %v: want 0 to 1", p.Look)
	case p.Window <= 0 || p.Cap < p.Window:
		return fmt.Errorf("policy: window %v, cap %v: want 0 < window ≤ cap", p.Window, p.Cap)
	}
	return p.Limits.Validate()
}

// Hash names the policy: 16 hexadecimal digits.
func (p Policy) Hash() string { return fmt.Sprintf("%016x", xxh3.HashString(p.Detail())) }

// Detail is the policy as JSON. The catalogue keeps it, so that the hash in an
// old verdict can still be explained.
func (p Policy) Detail() string {
	b, _ := json.Marshal(p) // no field can fail to encode
	return string(b)
}

// Unrelated reports whether the sketches of two texts already tell that comparing the texts would find nothing.
func (p *Policy) Unrelated(e *compare.Estimate) bool {
	return e.Resemblance < p.Look && float64(max(e.Later, e.Earlier)) < p.Limits.Look
}
