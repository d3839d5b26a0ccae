// Package verdict has the words that the packages under index share: what is
// published, what becomes of it, why, and by which policy.
//
// It holds values only and depends on nothing of the catalogue. Package index
// exports its names again for the packages outside of index.
package verdict

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNotFound says that no such item, cluster or decision is in the catalogue.
var ErrNotFound = errors.New("not found")

// ErrQuery says that a field of a query or request makes no sense.
var ErrQuery = errors.New("bad query")

// FieldError says which field of a request is wrong, and why. It is ErrQuery or ErrNotFound.
type FieldError struct {
	Field, Problem string
	is             error
}

func (e *FieldError) Error() string { return e.Field + " " + e.Problem }
func (e *FieldError) Unwrap() error { return e.is }

// Wrong makes a FieldError.
func Wrong(is error, field, problem string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(problem, args...), is}
}

// Verdict is the state of an item. The zero Verdict means that it has none yet.
type Verdict uint8

// The verdicts. Their numbers are stored.
const (
	Unique    Verdict = 1 // accepted; the lead of its cluster
	Suspect   Verdict = 2 // accepted, and shown to editors
	Duplicate Verdict = 3 // rejected: a copy of its cluster's lead
	Withdrawn Verdict = 4 // taken back by its source, or blocked by an editor
)

var verdictNames = []string{"", "unique", "suspect", "duplicate", "withdrawn"}

// String, MarshalText and UnmarshalText write and read the name of a verdict.
func (v Verdict) String() string                { return nameOf(verdictNames, int(v)) }
func (v Verdict) MarshalText() ([]byte, error)  { return []byte(v.String()), nil }
func (v *Verdict) UnmarshalText(b []byte) error { return parse(v, verdictNames, "verdict", b) }

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
	ByBlocked   Rule = 6 // a copy of a blocked text
	ByEditor    Rule = 7 // an editor's decision
	BySuspected Rule = 8 // a suspect, rejected because the policy rejects suspects

	// The two rules that the policy of a source adds.
	ByLicence    Rule = 9  // a copy, accepted because its source may republish
	ByPreference Rule = 10 // a copy from a preferred source that became the lead; or the lead it replaced

	ByExempt Rule = 11 // a copy of an exempt text, accepted
	ByAside  Rule = 12 // a suspect of a text that was set aside, accepted
)

var ruleNames = []string{"", "exact", "hamming", "margin", "sketch", "passage", "blocked", "editor", "suspected",
	"licensed", "preferred", "exempt", "aside"}

// String, MarshalText and UnmarshalText write and read the name of a rule.
func (r Rule) String() string                { return nameOf(ruleNames, int(r)) }
func (r Rule) MarshalText() ([]byte, error)  { return []byte(r.String()), nil }
func (r *Rule) UnmarshalText(b []byte) error { return parse(r, ruleNames, "rule", b) }

// Cause names what made an item's state change.
type Cause uint8

// The causes. Their numbers are stored.
const (
	CauseIngest     Cause = 1
	CauseRevision   Cause = 2
	CauseWithdrawal Cause = 3
	CausePromotion  Cause = 4 // another item took the lead, or gave it up
	CauseEditor     Cause = 5
)

var causeNames = []string{"", "ingest", "revision", "withdrawal", "promotion", "editor"}

// String, MarshalText and UnmarshalText write and read the name of a cause.
func (c Cause) String() string                { return nameOf(causeNames, int(c)) }
func (c Cause) MarshalText() ([]byte, error)  { return []byte(c.String()), nil }
func (c *Cause) UnmarshalText(b []byte) error { return parse(c, causeNames, "cause", b) }

func nameOf(names []string, n int) string {
	if n < len(names) {
		return names[n]
	}
	return fmt.Sprintf("unknown(%d)", n)
}

func parse[T ~uint8](to *T, names []string, what string, name []byte) error {
	n := slices.Index(names, string(name))
	if *to = T(max(n, 0)); n < 0 {
		return fmt.Errorf("unknown %s %q", what, name)
	}
	return nil
}
