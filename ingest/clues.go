package ingest

import (
	"cmp"
	"math"
	"slices"

	"jianguo/sketch"
)

// Weighed is a clue, in words, and what it adds to the two scores before they
// are pressed between 0 and 1: below zero speaks against.
type Weighed struct {
	Clue  string  `json:"clue"`
	Words string  `json:"words"`
	Value float64 `json:"value"`
	Score float64 `json:"score"`
	Story float64 `json:"story"`
}

// clueWords say what a clue has found where it is not zero.
var clueWords = map[sketch.Clue]string{
	sketch.SoftLeast:   "pairs of characters in common, of the side that has fewer",
	sketch.SoftMost:    "pairs of characters in common, of the side that has more",
	sketch.Slots:       "other figures in the same places",
	sketch.Conflicts:   "how many places have other figures",
	sketch.Missing:     "figures that the other side lacks",
	sketch.News:        "figures that only one side has",
	sketch.Agreed:      "figures in common",
	sketch.Shared:      "size of what is in common",
	sketch.Resembles:   "resemblance",
	sketch.Overhang:    "over three tenths of one side outside equal runs",
	sketch.Novel:       "new sentences on one side",
	sketch.Head:        "what a headline or opening says stands in the other text",
	sketch.Subjects:    "names that each side repeats and the other lacks",
	sketch.Topic:       "headlines or openings about what the other text has nowhere",
	sketch.Titled:      "two headlines about what the other text has nowhere",
	sketch.Words:       "Latin words on each side that the other lacks",
	sketch.Label:       "headlines that name two different things in Latin letters",
	sketch.Apart:       "days between their times of publication, more than three",
	sketch.Known:       "pairs of characters of the later text that the earlier one has",
	sketch.Rest:        "text of the later one outside equal runs",
	sketch.Hang:        "over three tenths of the later text outside equal runs",
	sketch.AddsFigures: "figures of the later text that the earlier one lacks",
	sketch.AddsNames:   "names in the later text that the earlier one lacks",
	sketch.AddsUnknown: "in its new sentences, characters and words that the earlier text has nowhere",
}

// leastWeighed is the least that a clue must add to be shown.
const leastWeighed = .25

// weigh lists the clues that count, those against a copy first.
func weigh(c *sketch.Comparison, t *sketch.Thresholds) []Weighed {
	copies, story := &t.CopySketch, &t.StorySketch
	if c.Exact {
		copies, story = &t.Copy, &t.Story
	}
	e := c.Evidence()
	var out []Weighed
	for i, v := range e {
		clue := sketch.Clue(i)
		w := Weighed{clue.String(), clueWords[clue], v, v * copies.Of[i], v * story.Of[i]}
		if math.Abs(w.Score) >= leastWeighed || math.Abs(w.Story) >= leastWeighed {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b Weighed) int { return cmp.Compare(a.Score, b.Score) })
	return out
}
