package sketch

import (
	"math"
	"strings"
)

// Clue is one thing that a judgement looks at: a plain number that grows or
// shrinks with one idea. Sizes are in tokens; logs are natural, of 1 + n.
type Clue int

// The clues. Those after Resembles are measured on texts only, and zero in an
// estimate from sketches.
const (
	SoftLeast    Clue = iota // the smaller soft containment
	SoftMost                 // the larger
	Slots                    // share of common places with other figures, damped for few
	Conflicts                // log of how many
	Missing                  // share of the smaller side's figures that the other lacks, damped
	News                     // log of the most figures that one side has alone
	Agreed                   // log of how many figures both have
	Shared                   // log of the size of what they share
	Resembles                // resemblance
	Longest                  // longest run, as a share of the shorter text
	MeanRun                  // log of the mean length of a run
	Swaps                    // places swapped, a run
	RestMost                 // tokens in no run, of the side that has more, by 650
	Overhang                 // share in no run over three tenths, of the side that has more
	Novel                    // log of the most tokens in novel clauses on one side
	NovelMost                // the same count by 650
	Head                     // the larger share of a headline that the other text knows
	Foreign                  // share of the shorter text that is a name put for another
	Subjects                 // log of the smaller number of subjects unknown to the other side
	Developments             // words of a story moving on that one side has alone
	Topic                    // log of the smaller number of topics unknown to the other side
	Titled                   // the same, of two texts with headlines
	Words                    // log of the smaller number of Latin words unknown to the other side
	Label                    // 1 where the headlines name two different things in Latin letters
	Lead                     // log of the smaller number of a lead's figures unknown to the other side
	Apart                    // log of the days between them, from three to sixty
	Moved                    // share of the runs that go back in the earlier text
	Grown                    // log of how many times as long the later text is, 0 where it is not
	Amid                     // log of the most tokens in novel clauses between the first run and the last
	Inserted                 // RestMost × MeanRun: what is added to equal text, more than put in other words
	Clues
)

var clueNames = strings.Fields(`SoftLeast SoftMost Slots Conflicts Missing News Agreed Shared Resembles Longest MeanRun
	Swaps RestMost Overhang Novel NovelMost Head Foreign Subjects Developments Topic Titled Words Label Lead Apart
	Moved Grown Amid Inserted`)

// String is the name of the constant.
func (c Clue) String() string { return clueNames[c] }

// typical is the length of a common news article in tokens, the unit of sizes.
const typical = 650.

// Evidence is a Comparison boiled down to what decides.
type Evidence [Clues]float64

// Evidence reads a comparison.
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
	}
	if !c.Exact {
		e[Shared] = math.Log1p(float64(min(c.ContainedA*float32(c.TokensA), c.ContainedB*float32(c.TokensB))))
		return e
	}
	shared := min(c.TokensA-l.RestA, c.TokensB-l.RestB)
	e[Shared] = log(shared)
	e[Longest] = ratio(l.Longest, min(c.TokensA, c.TokensB))
	e[MeanRun] = math.Log(ratio(shared+1, l.Runs+1))
	e[Swaps] = ratio(l.Swaps, l.Runs+1)
	e[RestMost] = float64(max(l.RestA, l.RestB)) / typical
	e[Overhang] = max(0, max(ratio(l.RestA, c.TokensA), ratio(l.RestB, c.TokensB))-.3)
	e[Novel] = log(max(l.NovelA, l.NovelB))
	e[NovelMost] = float64(max(l.NovelA, l.NovelB)) / typical
	e[Head] = float64(max(l.HeadA, l.HeadB))
	e[Developments] = float64(l.Developments)
	t := &l.Topics
	e[Topic] = log(min(t.A, t.B))
	if t.Titled {
		e[Titled] = e[Topic]
	}
	e[Words] = log(min(t.WordsA, t.WordsB))
	if t.Labels {
		e[Label] = 1
	}
	e[Lead] = log(min(f.LeadA, f.LeadB))
	e[Apart] = math.Log(float64(max(apartLeast, min(apartMost, c.Days))) / apartLeast)
	e[Moved] = ratio(l.Moved, l.Runs+1)
	e[Grown] = max(0, math.Log(ratio(c.TokensA+grownSlack, c.TokensB+grownSlack)))
	e[Amid] = log(max(l.AmidA, l.AmidB))
	e[Inserted] = e[RestMost] * e[MeanRun]
	e[Foreign] = ratio(l.Foreign, min(c.TokensA, c.TokensB))
	e[Subjects] = log(min(f.SubjectsA, f.SubjectsB))
	return e
}

// grownSlack keeps a few tokens from doubling a text of a few.
const grownSlack = 10

// Days that count as apart: crawlers are late by a day or two, and what is
// older than two months is not told from what is older still.
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

// Weights make a logistic score of evidence.
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
