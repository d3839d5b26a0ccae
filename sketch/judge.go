package sketch

// Thresholds are the numbers that judgement is made of, all in one place; they
// are part of the policy hash. Two logistic scores are asked for: is it the
// same article (Copy), and, if not, is it the same story rather than another
// member of a series (Story)? Each has weights for measured and for estimated
// comparisons.
type Thresholds struct {
	Duplicate float64 `json:"duplicate"` // least Copy score of a duplicate
	// DuplicateShort is the same for two texts of at most 200 tokens, where there
	// is less to go by and scores lie nearer the middle.
	DuplicateShort float64 `json:"duplicate_short"`
	// Certain is the Copy score from which the Story is not asked: words put in
	// the place of others look like another story's, until nearly all is shared.
	Certain float64 `json:"certain"`
	Suspect float64 `json:"suspect"` // least Story score of a suspect
	Doubt   float64 `json:"doubt"`   // least Copy score of a suspect, whatever its Story
	Related float64 `json:"related"` // least resemblance of a suspect or a series
	// Excerpt is the least containment, one way, of a suspect or a series that
	// resembles less: a passage of some length taken out of a longer text.
	Excerpt float64 `json:"excerpt"`
	// Figures is the least share of the figures of a duplicate that both have,
	// where both have four or more. A score adds up likeness, of which long texts
	// have plenty; but of 880 labelled pairs no copy lost half of its figures.
	Figures float64 `json:"figures"`
	// Places is the share of the places with a figure in both texts from which on,
	// where two or more of these have another figure, they are no duplicates: of
	// 480 labelled copies none had that many, of bulletins with a quarter of their
	// figures changed two in five.
	Places float64 `json:"places"`
	// Edits is the share of what was changed between two texts from which on they
	// are no duplicates, if it is figures put for others in the same words: two of
	// them or more, or one that is most of the change and has that share of the
	// figures. Editors change words; another day changes figures.
	Edits float64 `json:"edits"`
	// Retitled is the share of what was changed that is one short word put for
	// another in the openings and below, from which on no Copy score is Certain, and
	// two texts that are no duplicates are rather of one series than in doubt. A
	// longer name put for another, twice or more, never leaves a duplicate.
	Retitled float64 `json:"retitled"`
	// Subject is the share of one place in the openings of two short texts, unknown
	// to the other on both sides, from which on they are about two subjects: the
	// same notice about another official. Of 490 labelled copies that are rejected
	// none is caught; a long text would have to say more than once what it is about.
	Subject float64 `json:"subject"`

	Copy        Weights `json:"copy"`
	Story       Weights `json:"story"`
	CopySketch  Weights `json:"copy_sketch"`
	StorySketch Weights `json:"story_sketch"`
}

// DefaultThresholds were chosen by cross-validation on labelled pairs; the
// weights are fitted (quality_test.go does it, and prints what they are worth).
func DefaultThresholds() Thresholds {
	return Thresholds{
		Duplicate: .57, DuplicateShort: .54, Certain: .85, Suspect: .84, Doubt: .42, Related: .28, Excerpt: .8, Figures: .5, Places: .15, Edits: .15, Retitled: .2, Subject: .67,
		Copy: copyWeights, Story: storyWeights,
		CopySketch: copySketchWeights, StorySketch: storySketchWeights,
	}
}

// otherFigures reports whether too many figures of two texts are others: of all
// that they have, or of those that stand in the same places.
func (t *Thresholds) otherFigures(c *Comparison) bool {
	f := &c.Facts
	return c.Exact && (f.Numbers >= 4 && float64(f.NumbersShared) < t.Figures*float64(f.Numbers) ||
		f.OtherSlot >= 2 && float64(f.OtherSlot) >= t.Places*float64(f.OtherSlot+f.SameSlot))
}

// otherDay reports whether the change is one of figures.
func (t *Thresholds) otherDay(c *Comparison) bool {
	l := &c.Layout
	switch {
	case l.Replaced == 1:
		return 2*l.ReplacedGaps > l.Gaps && 1 >= t.Edits*float64(c.Facts.Numbers)
	default:
		return l.Replaced > 1 && float64(l.ReplacedGaps) >= t.Edits*float64(l.Gaps)
	}
}

// renamed reports whether the texts are about two things of one kind: surely, or
// so it seems.
func (t *Thresholds) renamed(c *Comparison) (surely, maybe bool) {
	l := &c.Layout
	surely = l.Renamed > 1 || max(c.TokensA, c.TokensB) <= shortTokens && float64(l.Subject) >= t.Subject
	return surely, surely || l.Retitled > 1 && float64(l.Retitled) >= t.Retitled*float64(l.Gaps)
}

// little reports whether two texts have too little in common to be related, and
// neither is a passage of the other.
func (c *Comparison) little(t *Thresholds) bool {
	excerpt := float64(max(c.ContainedA, c.ContainedB)) >= t.Excerpt && min(c.TokensA, c.TokensB) >= passageTokens
	return float64(c.Resemblance) < t.Related && !excerpt
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
	surely, renamed := t.renamed(&c)
	oneStory := (float64(j.Story) >= t.Doubt || float64(j.Score) >= t.Certain && !renamed) &&
		!surely && !t.otherFigures(&c) && !t.otherDay(&c)
	switch {
	case c.little(&t):
		j.Score = min(j.Score, float32(t.Doubt))
	case c.Layout.SameBody:
		j.Kind, j.Reason, j.Score = Duplicate, SameText, max(j.Score, float32(least))
	case float64(j.Score) >= least && e[Resembles] >= t.Related && oneStory:
		j.Kind, j.Reason = Duplicate, SameText
	case float64(j.Story) < t.Suspect && (float64(j.Score) < t.Doubt || renamed):
		j.Kind, j.Reason = Series, OtherFacts
	case e[Overhang] > 0 || e[SoftLeast] < .7:
		j.Kind, j.Reason = Suspect, OneSided
	default:
		j.Kind, j.Reason = Suspect, InDoubt
	}
	return j
}
