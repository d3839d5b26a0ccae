package sketch

import "math"

// Evidence is a Comparison boiled down to what decides, each a plain number
// that grows or shrinks with one idea. Logarithms are natural, of 1 + n.
type Evidence struct {
	Soft      float64 `json:"soft"`      // the smaller soft containment
	SoftMost  float64 `json:"soft_most"` // the larger
	Resembles float64 `json:"resembles"` // resemblance
	Slots     float64 `json:"slots"`     // share of common places with another figure, damped for few
	Conflicts float64 `json:"conflicts"` // log of how many
	Missing   float64 `json:"missing"`   // log of figures of the smaller side that the other lacks
	News      float64 `json:"news"`      // log of the most figures that one side has alone
	Longest   float64 `json:"longest"`   // longest run, of the shorter text
	Rest      float64 `json:"rest"`      // share in no run, of the side that has more of it
	Excess    float64 `json:"excess"`    // the same, without what was swapped in place
	Swaps     float64 `json:"swaps"`     // swaps a run
	Echo      float64 `json:"echo"`      // the smaller share of repeated pairs unknown to the other
	Names     float64 `json:"names"`     // share of names that both sides lack of each other, damped
	Bias      float64 `json:"bias"`      // one
}

// dot is the weighted sum.
func (e *Evidence) dot(w *Evidence) float64 {
	return e.Soft*w.Soft + e.SoftMost*w.SoftMost + e.Resembles*w.Resembles +
		e.Slots*w.Slots + e.Conflicts*w.Conflicts + e.Missing*w.Missing + e.News*w.News +
		e.Longest*w.Longest + e.Rest*w.Rest + e.Excess*w.Excess + e.Swaps*w.Swaps +
		e.Echo*w.Echo + e.Names*w.Names + e.Bias*w.Bias
}

// Evidence reads a comparison.
func (c *Comparison) Evidence() Evidence {
	f, l := &c.Facts, &c.Layout
	e := Evidence{
		Soft:      float64(min(c.SoftA, c.SoftB)),
		SoftMost:  float64(max(c.SoftA, c.SoftB)),
		Resembles: float64(c.Resemblance),
		Slots:     ratio(f.OtherSlot, f.OtherSlot+f.SameSlot+2),
		Conflicts: math.Log1p(float64(f.OtherSlot)),
		Missing:   math.Log1p(float64(f.Numbers - f.NumbersShared)),
		News:      math.Log1p(float64(max(f.OnlyA, f.OnlyB))),
		Names:     ratio(min(f.NamesA, f.NamesB), f.Names+min(f.NamesA, f.NamesB)+2),
		Bias:      1,
	}
	if c.Exact {
		e.Longest = ratio(l.Longest, min(c.TokensA, c.TokensB))
		e.Rest = max(ratio(l.RestA, c.TokensA), ratio(l.RestB, c.TokensB))
		e.Excess = max(ratio(l.RestA-l.SwapA, c.TokensA), ratio(l.RestB-l.SwapB, c.TokensB))
		e.Swaps = ratio(l.Swaps, l.Runs+1)
		e.Echo = min(ratio(l.EchoA, c.TokensA), ratio(l.EchoB, c.TokensB))
	}
	return e
}

func ratio(a, b int) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Thresholds are the numbers that judgement is made of, all in one place; they
// are part of the policy hash. Two logistic scores are asked for: is it the
// same article (Copy), and, if not, is it the same story rather than another
// member of a series (Story)? Each has weights for measured and for estimated
// comparisons.
type Thresholds struct {
	Duplicate float64 `json:"duplicate"` // least Copy score of a duplicate
	Suspect   float64 `json:"suspect"`   // least Story score of a suspect
	Doubt     float64 `json:"doubt"`     // least Copy score of a suspect, whatever its Story
	Contained float64 `json:"contained"` // least soft containment, one way, of a relative

	Copy, Story             Evidence // weights, measured on texts
	CopySketch, StorySketch Evidence // weights, estimated from sketches
}

// DefaultThresholds were chosen by cross-validation, see docs/QUALITY.md.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Duplicate: .6, Suspect: .6, Doubt: .3, Contained: .35,
		Copy: Evidence{Soft: 5.65, Slots: -6, Conflicts: -1.43, Missing: -.52, News: -.92,
			Longest: -1.88, Rest: -4.09, Excess: -3.91, Names: -3.44, Bias: 2.12},
		Story: Evidence{SoftMost: 4.8, Slots: -2, Conflicts: -1.2, Missing: -.6,
			Longest: -1.8, Excess: 2.5, Swaps: -5, Echo: -50, Names: -4, Bias: 3},
		CopySketch: Evidence{Resembles: 5, Soft: 8, Slots: -3.5, Conflicts: -1.5, Missing: -.58,
			News: -1.17, Bias: -4.6},
		StorySketch: Evidence{SoftMost: 5, Soft: -2.4, Slots: -1, Conflicts: -1.54, Missing: -1.11,
			News: -1.08, Bias: 2.8},
	}
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
	Story  float32 // the same for: of one story, not two members of a series
}

// The reasons of a Judgement.
const (
	SameText   = "same-text"   // duplicate: text and facts agree
	OneSided   = "one-sided"   // suspect: one text has much that the other lacks
	InDoubt    = "in-doubt"    // suspect: the facts neither clearly agree nor conflict
	OtherFacts = "other-facts" // series: the same form with other facts
	LittleText = "little-text" // unrelated: too little in common
)

// Judge decides a comparison. s is the margin distance S of the pair, or a
// negative number where there is none; it proposes, and has no say here.
func Judge(c Comparison, s float32, t Thresholds) Judgement {
	e := c.Evidence()
	copies, story := &t.CopySketch, &t.StorySketch
	if c.Exact {
		copies, story = &t.Copy, &t.Story
	}
	j := Judgement{Reason: LittleText, Score: logistic(e.dot(copies)), Story: logistic(e.dot(story))}
	related := e.SoftMost >= t.Contained
	switch {
	case c.TokensA == 0 || c.TokensB == 0 || !related:
		j.Score = min(j.Score, float32(t.Doubt)/2)
	case float64(j.Score) >= t.Duplicate:
		j.Kind, j.Reason = Duplicate, SameText
	case float64(j.Story) < t.Suspect && float64(j.Score) < t.Doubt:
		j.Kind, j.Reason = Series, OtherFacts
	case e.Rest > 1./3:
		j.Kind, j.Reason = Suspect, OneSided
	default:
		j.Kind, j.Reason = Suspect, InDoubt
	}
	return j
}

func logistic(x float64) float32 { return float32(1 / (1 + math.Exp(-x))) }
