package verdict

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/sketch"
)

// The rule sets a Policy can follow.
const (
	RulesJianguo = "jianguo" // all kinds of proposals, judged together
	RulesHamming = "hamming" // the textbook: reject at a small distance, no judging
)

// What a Policy does with suspects.
const (
	SuspectsPublish = "publish" // accepted, linked, shown to editors
	SuspectsHold    = "hold"    // the same, and the event asks the platform to wait for an editor
	SuspectsReject  = "reject"  // duplicates
)

// Policy is every number that decides a verdict, apart from the recipe. A
// change takes effect at once; its hash is stored with each verdict.
type Policy struct {
	Rules    string `json:"rules"`    // RulesJianguo or RulesHamming
	Distance int    `json:"distance"` // proposals `hamming`: bits, 0…3
	Suspects string `json:"suspects"`
	// Strictness is the dial that has moved the thresholds; empty: Rewrites. See At.
	Strictness string `json:"strictness,omitempty"`
	// Covered is the least share of an article that the alignment with the earlier text has to
	// find there, for a duplicate; 0: the judge alone decides.
	Covered float32 `json:"covered,omitempty"`

	// Flood is how many suspects of one text in a minute of the stream set it aside: the next
	// ones are unique. 0: never.
	Flood int `json:"flood"`

	// MaxS bounds the proposals `margin`: S, 0…64. Unrelated texts have about 32.
	MaxS float32 `json:"max_s"`
	// Passages bounds the proposals `passage`, newest first: a passage shared by
	// more texts than that is boilerplate.
	Passages int `json:"passages"`
	// Judged bounds how many proposals an item is judged against, the most likely
	// first. Unrelated texts do not count.
	Judged int `json:"judged"`
	// Texts bounds how many of those are compared on their kept texts. A proposal
	// whose sketch resembles less than Look is not one of them, unless it may be an
	// excerpt. Half of the proposals on a news corpus resemble less; of 79,552
	// articles fed in order, Look changed the series of six and the verdict of none.
	Texts int     `json:"texts"`
	Look  float32 `json:"look"`
	// Work bounds the tokens, of both sides together, of the pairs that are compared on
	// texts after the first one, that one included: what an article may cost those behind it. Other pairs
	// are judged by their sketches, and are suspects at most.
	Work       int               `json:"work"`
	Thresholds sketch.Thresholds `json:"thresholds"`

	// Window is how long an exemplar stays after the last copy of its cluster
	// arrived, Cap how long after it arrived itself.
	Window time.Duration `json:"window"`
	Cap    time.Duration `json:"cap"`
}

// DefaultPolicy is the policy of `jianguo serve` without flags.
func DefaultPolicy() Policy {
	return Policy{
		Rules:      RulesJianguo,
		Distance:   3,
		Suspects:   SuspectsPublish,
		Flood:      100,
		MaxS:       8,
		Passages:   16,
		Judged:     64,
		Texts:      8,
		Look:       0.1,
		Work:       1 << 18,
		Thresholds: sketch.DefaultThresholds(),
		Window:     90 * 24 * time.Hour,
		Cap:        2 * 365 * 24 * time.Hour,
	}
}

// The positions of the dial: what is rejected as a copy.
const (
	Copies   = "copies"   // nearly all of it is in the earlier text
	Rewrites = "rewrites" // also the same in other words, a cut, an excerpt
	Stories  = "stories"  // also the same report with little of its own
)

// Strictnesses are the positions of the dial, the one that rejects least first.
var Strictnesses = []string{Copies, Rewrites, Stories}

// At returns the policy at a position of the dial, which sets the numbers that draw the line
// between duplicates and suspects as a whole. docs/QUALITY.md has a table for each.
func (p Policy) At(strictness string) Policy {
	d, t := sketch.DefaultThresholds(), &p.Thresholds
	t.Duplicate, t.DuplicateShort, t.Passage, t.Roundup, t.Echo = d.Duplicate, d.DuplicateShort, d.Passage, d.Roundup, d.Echo
	p.Strictness, p.Covered = strictness, 0
	switch strictness {
	case Copies:
		p.Covered = .85
	case Stories:
		t.Duplicate, t.DuplicateShort, t.Passage, t.Roundup, t.Echo = .48, .48, .4, .12, .015
	default:
		p.Strictness = ""
	}
	return p
}

// Validate names the first field that is out of bounds.
func (p Policy) Validate() error {
	switch {
	case p.Rules != RulesJianguo && p.Rules != RulesHamming:
		return fmt.Errorf("policy: rule %q: want %s or %s", p.Rules, RulesJianguo, RulesHamming)
	case p.Distance < 0 || p.Distance > 3:
		return fmt.Errorf("policy: distance %d: the index finds 0 to 3 without loss", p.Distance)
	case p.Suspects != SuspectsPublish && p.Suspects != SuspectsHold && p.Suspects != SuspectsReject:
		return fmt.Errorf("policy: suspects %q: want %s, %s or %s", p.Suspects, SuspectsPublish, SuspectsHold, SuspectsReject)
	case p.MaxS < 0 || p.MaxS > 64:
		return fmt.Errorf("policy: max_s %v: want 0 to 64", p.MaxS)
	case p.Judged < 1 || p.Texts < 0 || p.Passages < 0 || p.Work < 0 || p.Flood < 0:
		return fmt.Errorf("policy: judged %d, texts %d, passages %d, work %d, flood %d: want at least 1, 0, 0, 0 and 0", p.Judged, p.Texts, p.Passages, p.Work, p.Flood)
	case !(p.Look >= 0 && p.Look <= 1):
		return fmt.Errorf("policy: look %v: want 0 to 1", p.Look)
	case !(p.Covered >= 0 && p.Covered <= 1):
		return fmt.Errorf("policy: covered %v: want 0 to 1", p.Covered)
	case p.Window <= 0 || p.Cap < p.Window:
		return fmt.Errorf("policy: window %v, cap %v: want 0 < window ≤ cap", p.Window, p.Cap)
	}
	return nil
}

// Hash names the policy: 16 hexadecimal digits.
func (p Policy) Hash() string { return fmt.Sprintf("%016x", xxh3.HashString(p.Detail())) }

// Detail is the policy as JSON. The catalogue keeps it, so that the hash in an
// old verdict can still be explained.
func (p Policy) Detail() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // no field of a Policy can fail to encode
	}
	return string(b)
}

// Unrelated reports whether the sketches of two texts already tell that a look
// at the texts would judge them unrelated. contained is the larger of the two
// containments. It agrees with sketch.Judge, which calls a pair unrelated that
// resembles less than Thresholds.Related and is no excerpt.
func (p *Policy) Unrelated(resemblance, contained float32) bool {
	t := &p.Thresholds
	return resemblance < p.Look && float64(resemblance) < t.Related && float64(contained) < t.Excerpt/2
}

// Doubt makes a suspect of a duplicate of which the earlier text covers too little.
func (p *Policy) Doubt(j sketch.Judgement, x *sketch.Alignment) sketch.Judgement {
	if j.Kind == sketch.Duplicate && x.Later.Covered < p.Covered {
		j.Kind, j.Reason = sketch.Suspect, sketch.InDoubt
	}
	return j
}
