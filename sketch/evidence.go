package sketch

import (
	"math"
	"strings"
)

// Clue is one input of the scores, a plain number. Sizes are in tokens; logs are natural, of 1 + n.
type Clue int

// The clues. Those after Resembles are measured on texts only, and zero in an estimate from sketches. "Unknown"
// means that the other text has it nowhere.
const (
	SoftLeast Clue = iota // the smaller soft containment
	SoftMost              // the larger soft containment
	Slots                 // share of common places with other figures, damped for few places
	Conflicts             // log of the number of common places with other figures
	Missing               // share of the figures of the text with fewer that the other lacks, damped
	News                  // log of the larger number of figures that only one text has
	Agreed                // log of the number of figures that both have
	Shared                // log of the size of what both have
	Resembles             // resemblance
	Overhang              // share of tokens in no run above .3, of the text with more
	Novel                 // log of the tokens in novel clauses, of the text with more
	Head                  // the larger share of a headline that the other text has
	Subjects              // log of the smaller number of unknown subjects
	Topic                 // log of the smaller number of unknown topics
	Titled                // the same where both texts have headlines, else 0
	Words                 // log of the smaller number of unknown Latin words
	Label                 // 1 where the headlines have different names in Latin letters
	Apart                 // log of the days between them, from 3 to 60

	// What the later text adds. Overhang and Novel above do not say on which side it is.
	Known       // share of the later text's pairs that the earlier one has
	AddsFigures // log of its figures that the earlier text lacks
	AddsNames   // number of its names that the earlier text lacks
	AddsUnknown // tokens in its novel clauses that the earlier text lacks, in units of 100
	AddsMatter  // Layout.Matter in units of 100, if the text had 650 tokens
	Clues
)

var clueNames = strings.Fields(`SoftLeast SoftMost Slots Conflicts Missing News Agreed Shared Resembles Overhang Novel Head Subjects Topic Titled Words Label Apart
	Known AddsFigures AddsNames AddsUnknown AddsMatter`)

// String is the name of the constant.
func (c Clue) String() string { return clueNames[c] }

// typical is the length of a common news article in tokens, the unit of sizes.
const typical = 650.

// Evidence is the clues of a comparison.
type Evidence [Clues]float64

// Evidence computes the clues.
func (c *Comparison) Evidence() Evidence {
	f, l := &c.Facts, &c.Layout
	e := Evidence{
		SoftLeast: float64(min(c.SoftA, c.SoftB)),
		SoftMost:  float64(max(c.SoftA, c.SoftB)),
		Slots:     ratio(f.OtherSlot, f.OtherSlot+f.SameSlot+2),
		Conflicts: log(f.OtherSlot),
		Missing:   ratio(f.Numbers-f.NumbersShared, f.Numbers+1),
		News:      log(max(f.OnlyA, f.OnlyB)),
		Agreed:    log(f.NumbersShared),
		Resembles: float64(c.Resemblance),

		Known:       float64(c.SoftA),
		AddsFigures: log(f.OnlyA),
	}
	if !c.Exact {
		e[Shared] = math.Log1p(float64(min(c.ContainedA*float32(c.TokensA), c.ContainedB*float32(c.TokensB))))
		return e
	}
	shared := min(c.TokensA-l.RestA, c.TokensB-l.RestB)
	e[Shared] = log(shared)
	e[Overhang] = max(0, max(ratio(l.RestA, c.TokensA), ratio(l.RestB, c.TokensB))-.3)
	e[Novel] = log(max(l.NovelA, l.NovelB))
	e[Head] = float64(max(l.HeadA, l.HeadB))
	t := &l.Topics
	e[Topic] = log(min(t.A, t.B))
	if t.Titled {
		e[Titled] = e[Topic]
	}
	e[Words] = log(min(t.WordsA, t.WordsB))
	if t.Labels {
		e[Label] = 1
	}
	e[Apart] = math.Log(float64(max(apartLeast, min(apartMost, c.Days))) / apartLeast)
	e[AddsFigures] = log(f.Adds)
	e[AddsNames] = float64(f.NamesA)
	e[AddsUnknown] = float64(l.Unknown) / 100
	e[AddsMatter] = float64(l.Matter) / 100 * math.Sqrt(typical/float64(max(1, c.TokensA)))
	e[Subjects] = log(min(f.SubjectsA, f.SubjectsB))
	return e
}

// Bounds of the days that count: crawlers are late by a day or two, and all days beyond two months are alike.
const (
	apartLeast = 3
	apartMost  = 60
)

func log(n int) float64 { return math.Log1p(float64(max(0, n))) }

func ratio(a, b int) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Weights are those of a logistic score.
type Weights struct {
	Bias float64  `json:"bias"`
	Of   Evidence `json:"of"` // one for each Clue
}

// Score is between 0 and 1.
func (w *Weights) Score(e *Evidence) float64 {
	x := w.Bias
	for i, v := range e {
		x += v * w.Of[i]
	}
	return 1 / (1 + math.Exp(-x))
}
