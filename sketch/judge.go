package sketch

// Thresholds are the numbers that judgement is made of, all in one place; they
// are part of the policy hash.
type Thresholds struct {
	Duplicate   float32 `json:"duplicate"`   // least Score of a duplicate
	Contained   float32 `json:"contained"`   // least containment, either way, of a relative
	FactsAgree  float32 `json:"facts_agree"` // least share of figures that agree
	SlotsAgree  float32 `json:"slots_agree"` // least share of places with the same figure
	Resemblance float32 `json:"resemblance"` // least resemblance of a suspect
}

// DefaultThresholds were chosen by cross-validation, see docs/QUALITY.md.
func DefaultThresholds() Thresholds {
	return Thresholds{Duplicate: .5, Contained: .6, FactsAgree: .7, SlotsAgree: .6, Resemblance: .15}
}

// Kind is what a judgement says of a pair.
type Kind uint8

// The kinds of judgement, from weakest to strongest.
const (
	Unrelated Kind = iota
	Series         // same form, other facts: another member of a series
	Suspect        // agreeing text with a large one-sided rest, or in doubt
	Duplicate      // agreeing text, agreeing facts
)

// Judgement is the kind and a code that names why; package index puts the code
// into words.
type Judgement struct {
	Kind   Kind
	Reason string  // a short code, e.g. "same-text", "one-sided", "other-facts"
	Score  float32 // probability-like, 0…1: how sure the judge is of Duplicate
}

// The reasons of a Judgement.
const (
	SameText    = "same-text"   // duplicate: text and facts agree
	OneSided    = "one-sided"   // suspect: one text has much that the other lacks
	InDoubt     = "in-doubt"    // suspect: facts neither clearly agree nor conflict
	OtherFacts  = "other-facts" // series: the same form with other facts
	LittleInAll = "little"      // unrelated: too little in common
)

// Judge decides a comparison. s is the margin distance S of the pair, or a
// negative number where there is none.
func Judge(c Comparison, s float32, t Thresholds) Judgement {
	most, least := max(c.ContainedA, c.ContainedB), min(c.ContainedA, c.ContainedB)
	facts, slots := float32(1), float32(1)
	if c.Facts.Numbers > 0 {
		facts = float32(c.Facts.NumbersShared) / float32(c.Facts.Numbers)
	}
	if n := c.Facts.SameSlot + c.Facts.OtherSlot; n > 0 {
		slots = float32(c.Facts.SameSlot) / float32(n)
	}
	score := c.Resemblance * min(facts, 1) * slots
	switch {
	case c.Resemblance < t.Resemblance && most < t.Contained:
		return Judgement{Unrelated, LittleInAll, score}
	case facts < t.FactsAgree || slots < t.SlotsAgree:
		return Judgement{Series, OtherFacts, score}
	case least >= t.Contained || c.Resemblance >= t.Duplicate:
		return Judgement{Duplicate, SameText, max(score, .5)}
	case most >= t.Contained:
		return Judgement{Suspect, OneSided, score}
	}
	return Judgement{Suspect, InDoubt, score}
}
