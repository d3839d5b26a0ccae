package index

import (
	"fmt"
	"time"

	"jianguo/simhash"
	"jianguo/sketch"
)

// Verdict is what is held of an item. The zero Verdict means that none has
// been given yet.
type Verdict uint8

// The verdicts. Their numbers are stored.
const (
	Unique    Verdict = 1 // accepted; the lead of its cluster
	Suspect   Verdict = 2 // accepted, and shown to editors
	Duplicate Verdict = 3 // rejected: a copy of its cluster's lead
	Withdrawn Verdict = 4 // taken back by its source, or blocked by an editor
)

var verdictNames = []string{"", "unique", "suspect", "duplicate", "withdrawn"}

func (v Verdict) String() string { return nameOf(verdictNames, int(v)) }

// MarshalText writes the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name.
func (v *Verdict) UnmarshalText(b []byte) error {
	n, err := numberOf(verdictNames, "verdict", string(b))
	*v = Verdict(n)
	return err
}

// Accepted reports whether an item with this verdict is in the pool.
func (v Verdict) Accepted() bool { return v == Unique || v == Suspect }

// Rule names how the earlier text of a verdict was found.
type Rule uint8

// The rules. Their numbers are stored.
const (
	NoRule      Rule = 0
	ByExact     Rule = 1 // same normal form
	ByHamming   Rule = 2 // fingerprints at distance ≤ 3
	ByMargin    Rule = 3 // further apart, over weak bits
	BySketch    Rule = 4 // short texts: shared MinHash keys
	ByPassage   Rule = 5 // a long passage in common
	ByBlocked   Rule = 6 // a copy of something blocked
	ByEditor    Rule = 7 // an editor said so
	BySuspected Rule = 8 // a suspect, rejected because the policy rejects suspects

	// What the policy of a source made of a verdict.
	ByLicence    Rule = 9  // a copy, accepted because its source may republish
	ByPreference Rule = 10 // a copy that took the lead over because its source has the originals; or the lead it took over from
)

var ruleNames = []string{"", "exact", "hamming", "margin", "sketch", "passage", "blocked", "editor", "suspected", "licensed", "preferred"}

func (r Rule) String() string { return nameOf(ruleNames, int(r)) }

// MarshalText writes the rule's name.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a rule's name.
func (r *Rule) UnmarshalText(b []byte) error {
	n, err := numberOf(ruleNames, "rule", string(b))
	*r = Rule(n)
	return err
}

// Cause names what made an item's state change.
type Cause uint8

// The causes. Their numbers are stored.
const (
	CauseIngest     Cause = 1
	CauseRevision   Cause = 2
	CauseWithdrawal Cause = 3
	CausePromotion  Cause = 4 // another item took the lead, or left it
	CauseEditor     Cause = 5
)

var causeNames = []string{"", "ingest", "revision", "withdrawal", "promotion", "editor"}

func (c Cause) String() string { return nameOf(causeNames, int(c)) }

// MarshalText writes the cause's name.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a cause's name.
func (c *Cause) UnmarshalText(b []byte) error {
	n, err := numberOf(causeNames, "cause", string(b))
	*c = Cause(n)
	return err
}

func nameOf(names []string, n int) string {
	if n < len(names) {
		return names[n]
	}
	return fmt.Sprintf("unknown(%d)", n)
}

func numberOf(names []string, what, s string) (int, error) {
	for i, name := range names {
		if name == s {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q", what, s)
}

// Article is what ingest made of one published item.
type Article struct {
	ID        string
	Revision  int64 // 0: none given
	Title     string
	Source    string
	URL       string
	Published time.Time // zero: unknown

	Packed []byte       // the body as PackText left it; nil: not kept
	Exact  [16]byte     // hash of the normal form
	Blank  bool         // nothing to compare: matches nothing
	Text   sketch.Input // the normal form; nil strings where judging on texts is off
	Print  simhash.Print
	Sketch sketch.Sketch

	preview *preview // what Index.Preview left; nil: nothing
}

// Withdrawal takes an item back.
type Withdrawal struct {
	ID       string
	Revision int64
	// Promote hands the lead to the oldest copy; without it the text stays
	// indexed as blocked, and later copies are rejected.
	Promote bool
	Reason  string
}

// Mutation is one message of the ITEMS stream. With neither Article nor
// Withdrawal it only moves the applied sequence on: a dead letter.
type Mutation struct {
	Seq      uint64    // applied sequence: rises by one a message
	At       time.Time // the stream's timestamp: when it arrived
	Article  *Article
	Withdraw *Withdrawal
}

// Outcome is what became of one Mutation.
type Outcome struct {
	// Changed is false where the mutation was older than what is stored or
	// said nothing new; Event then is the stored verdict.
	Changed bool
	// Event is the state of the mutation's item afterwards. Its Number is 0
	// for a dead letter.
	Event Event
}

// Facts is how the facts of an item and of what it was judged against go
// together.
type Facts struct {
	Reason   string   `json:"reason,omitempty"`   // the judge's code
	Score    float32  `json:"score,omitempty"`    // how sure the judge is that it is a copy, 0…1
	Numbers  int      `json:"numbers,omitempty"`  // distinct figures of the smaller side
	Shared   int      `json:"shared,omitempty"`   // of those, how many both have
	Agree    []string `json:"agree,omitempty"`    // a few of them
	Conflict []string `json:"conflict,omitempty"` // a few that stand against each other
}

// Event is one change of an item's state, as it is published. Per id, the
// highest Number is true.
type Event struct {
	Number      uint64    `json:"event"`
	ID          string    `json:"id"`
	Revision    int64     `json:"revision"`
	Verdict     Verdict   `json:"verdict"`
	Previous    Verdict   `json:"previous,omitempty"`
	Cause       Cause     `json:"cause"`
	Rule        Rule      `json:"rule,omitempty"`
	Of          string    `json:"of,omitempty"`
	Cluster     uint32    `json:"cluster"`
	Series      uint32    `json:"series,omitempty"`
	Distance    *int      `json:"distance,omitempty"`    // bits, 0…64
	Margin      *float32  `json:"margin,omitempty"`      // S, 0…64
	Resemblance *float32  `json:"resemblance,omitempty"` // 0…1
	Facts       *Facts    `json:"facts,omitempty"`
	Why         string    `json:"why"`
	Fingerprint string    `json:"fingerprint"` // 16 hexadecimal digits
	Recipe      string    `json:"recipe"`
	Policy      string    `json:"policy"`
	At          time.Time `json:"at"`
}
