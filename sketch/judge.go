package sketch

// Thresholds are all the numbers of the judge; they are part of the policy hash. There are two logistic scores:
// Copy (is it the same article?) and Story (is it the same story, not another member of a series?), each with
// weights for measured and for estimated comparisons.
type Thresholds struct {
	Duplicate float64 `json:"duplicate"` // least Copy score of a duplicate
	// DuplicateShort is the same for two texts of at most 200 tokens, which give less evidence, so that scores
	// lie nearer to .5.
	DuplicateShort float64 `json:"duplicate_short"`
	// Certain is the Copy score from which the Story score does not count: replaced words look like another
	// story, until nearly all of the text is equal.
	Certain float64 `json:"certain"`
	Suspect float64 `json:"suspect"` // least Story score of a suspect
	Doubt   float64 `json:"doubt"`   // least Copy score of a suspect, whatever its Story score
	Related float64 `json:"related"` // least resemblance of a suspect or a series
	// Excerpt is the least containment, one way, of a suspect or a series with less resemblance: a passage of
	// some length that was taken from a longer text.
	Excerpt float64 `json:"excerpt"`
	// Passage is the least share of a later text that the earlier one has, and Roundup the least share of the
	// earlier text that it is, from which an excerpt adds nothing, whatever their resemblance. What is a smaller
	// part may come from a round-up of other matters.
	Passage float64 `json:"passage"`
	Roundup float64 `json:"roundup"`
	// Echo is the least Layout.Echo of an excerpt that adds nothing.
	Echo float64 `json:"echo"`
	// Figures is the least share of the figures that two duplicates share, where both have four or more. Scores
	// add up likeness, of which long texts have plenty; of 880 labelled pairs no copy lost half of its figures.
	Figures float64 `json:"figures"`
	// Places is the share of common places with other figures, two or more, from which two texts are no
	// duplicates. None of 480 labelled copies reached it; two in five bulletins with a quarter of their figures
	// changed did.
	Places float64 `json:"places"`
	// Edits is the share of the gaps that put another figure or time in a place, from which two texts are no
	// duplicates: editors change words, the bulletin of another day changes figures.
	Edits float64 `json:"edits"`
	// Subject is the share of one place in the openings of two short texts, unknown to the other text on both
	// sides, from which the texts have two subjects: the same notice about another official. None of 490
	// labelled copies reached it. A long text repeats its subject, and needs no such rule.
	Subject float64 `json:"subject"`
	// Recurs is the least number of days between two short texts that are no duplicates for it: flashes of a
	// market's opening or close repeat nearly word for word on other days.
	Recurs int `json:"recurs"`

	Copy        Weights `json:"copy"`
	Story       Weights `json:"story"`
	CopySketch  Weights `json:"copy_sketch"`
	StorySketch Weights `json:"story_sketch"`
}

// DefaultThresholds were chosen by cross-validation on labelled pairs, to which the weights are fitted: see
// TestQuality.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Duplicate: .65, DuplicateShort: .49, Certain: .85, Suspect: .64, Doubt: .42, Related: .26, Excerpt: .8, Passage: .55, Roundup: .2, Echo: .025,
		Figures: .5, Places: .15, Edits: .15, Subject: .67, Recurs: 3,
		Copy: copyWeights, Story: storyWeights,
		CopySketch: copySketchWeights, StorySketch: storySketchWeights,
	}
}

// Vetoed says why two texts are no duplicates, however alike they are; empty where nothing forbids it. Scores add
// up likeness, of which long texts have plenty.
func (t *Thresholds) Vetoed(c *Comparison) string {
	f, l := &c.Facts, &c.Layout
	conflicts, places := float64(f.OtherSlot), float64(f.OtherSlot+f.SameSlot)
	switch {
	case !c.Exact:
	case f.Numbers >= 4 && float64(f.NumbersShared) < t.Figures*float64(f.Numbers):
		return "few figures in common"
	case f.OtherSlot >= 2 && (conflicts >= t.Places*places || conflicts >= t.Edits*float64(l.Gaps)),
		f.OtherSlot == 1 && l.Gaps == 1 && conflicts >= t.Edits*places:
		return "other figures at the same places"
	case t.renamed(c):
		return "another name at the same place"
	case l.OwnDays > 0:
		return "each tells of its own day"
	case l.Repriced:
		return "another figure in the headline"
	case max(c.TokensA, c.TokensB) <= flashTokens && c.Days >= t.Recurs:
		return "a flash of another day"
	case c.ContainedB < .5 && c.ContainedA > c.ContainedB && float64(l.Echo) < t.Echo:
		return "a part of a round-up of other matters"
	}
	return ""
}

// flashTokens is the length of the longest flash.
const flashTokens = 120

// renamed reports whether the texts are about two subjects of one kind.
func (t *Thresholds) renamed(c *Comparison) bool {
	short := max(c.TokensA, c.TokensB) <= shortTokens
	return c.Facts.Renamed > 1 || short && (c.Facts.Renamed > 0 || c.Layout.Heading || float64(c.Layout.Subject) >= t.Subject)
}

// little reports whether two texts have too little in common to be related, and neither is a passage of the
// other.
func (c *Comparison) little(t *Thresholds) bool {
	contained := float64(max(c.ContainedA, c.ContainedB)) >= t.Excerpt && min(c.TokensA, c.TokensB) >= passageTokens
	return float64(c.Resemblance) < t.Related && !contained && !c.excerpt(t)
}

// excerpt reports whether most of the later text is a passage of the earlier one, and enough of that for both to
// be about one matter.
func (c *Comparison) excerpt(t *Thresholds) bool {
	return float64(c.ContainedA) >= t.Passage && float64(c.ContainedB) >= t.Roundup && min(c.TokensA, c.TokensB) >= passageTokens
}

// Kind is the result of a judgement.
type Kind uint8

// The kinds of judgement, from weakest to strongest.
const (
	Unrelated Kind = iota
	Series         // the same form with other facts: another member of a series
	Suspect        // much equal text and a large rest on one side, or in doubt
	Duplicate      // text and facts agree
)

// Judgement is a kind and the code of its reason; package index puts the code into words.
type Judgement struct {
	Kind   Kind
	Reason string  // one of the constants below
	Score  float32 // Copy score, 0…1, like a probability
	Story  float32 // Story score, 0…1
}

// The reasons of a Judgement.
const (
	SameText   = "same-text"   // duplicate: text and facts agree
	OneSided   = "one-sided"   // suspect: one text has much that the other lacks
	InDoubt    = "in-doubt"    // suspect: the facts neither clearly agree nor conflict
	OtherFacts = "other-facts" // series: the same form with other facts
	Estimated  = "estimated"   // suspect: the texts are too long to be compared
	Headlines  = "headlines"   // suspect: the same short body, of which the headlines, two others, say nothing
	LittleText = "little-text" // unrelated: too little in common

	// What an alignment makes of SameText and OneSided.
	Reworded  = "reworded"  // duplicate: the same in other words
	Contained = "contained" // duplicate: the earlier text has it all, and more
	Extends   = "extends"   // suspect: most of the earlier text, and something new
	Overlap   = "overlap"   // suspect: each text has its own
)

// Judge decides a comparison.
func Judge(c Comparison, t Thresholds) Judgement {
	if c.TokensA == 0 || c.TokensB == 0 {
		return Judgement{Reason: LittleText}
	}
	e := c.Evidence()
	copies, story := &t.CopySketch, &t.StorySketch
	if c.Exact {
		copies, story = &t.Copy, &t.Story
	}
	j := Judgement{Reason: LittleText, Score: float32(copies.Score(&e)), Story: float32(story.Score(&e))}
	least := t.Duplicate
	if max(c.TokensA, c.TokensB) <= shortTokens {
		least = t.DuplicateShort
	}
	sameStory := (float64(j.Story) >= t.Doubt || float64(j.Score) >= t.Certain) && t.Vetoed(&c) == ""
	switch {
	case c.little(&t):
		j.Score = min(j.Score, float32(t.Doubt))
	case c.Layout.SameBody:
		j.Kind, j.Reason, j.Score = Duplicate, SameText, max(j.Score, float32(least))
	case float64(j.Score) >= least && (e[Resembles] >= t.Related || c.excerpt(&t)) && sameStory:
		j.Kind, j.Reason = Duplicate, SameText
	case t.renamed(&c) || float64(j.Story) < t.Suspect && float64(j.Score) < t.Doubt:
		j.Kind, j.Reason = Series, OtherFacts
	case e[Overhang] > 0 || e[SoftLeast] < .7:
		j.Kind, j.Reason = Suspect, OneSided
	default:
		j.Kind, j.Reason = Suspect, InDoubt
	}
	return j
}
