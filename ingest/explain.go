package ingest

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"jianguo/index"
	"jianguo/segment"
	"jianguo/simhash"
	"jianguo/sketch"
)

// Explanation shows how a later text, the query, is judged against an earlier
// one, and every number that had a part in it. It is computed from the two
// texts alone: whether other items would have won, or a search would have been
// cut short, it cannot know.
type Explanation struct {
	Query   Side `json:"query"` // the later one, whose margins S is measured with
	Earlier Side `json:"earlier"`

	Verdict index.Verdict `json:"verdict"`
	Rule    index.Rule    `json:"rule,omitempty"` // the strongest proposal
	Decided string        `json:"decided"`        // what decided, with its threshold
	Series  bool          `json:"series,omitempty"`
	Facts   *index.Facts  `json:"facts,omitempty"`
	Why     string        `json:"why"`

	Proposals []Meeting `json:"proposals"`

	Distance int          `json:"distance"`       // bits, 0…64
	S        float32      `json:"margin"`         // from the query's margins, 0…64
	SReverse float32      `json:"margin_reverse"` // as if the earlier text were the query
	Flipped  []FlippedBit `json:"flipped"`        // the heaviest first

	// Terms are the heaviest features of either side, at most the number asked
	// for; the shares are of all.
	Terms        []SharedTerm `json:"terms"`
	QueryShare   float32      `json:"query_weight_shared"`   // share of the query's weight that the earlier text has too
	EarlierShare float32      `json:"earlier_weight_shared"` // and the other way

	Measured  Judgement `json:"measured"`  // on the texts
	Estimated Judgement `json:"estimated"` // on the sketches alone

	Recipe     string            `json:"recipe"`
	Policy     string            `json:"policy"`
	Thresholds sketch.Thresholds `json:"thresholds"`
}

// Side is one of the two texts.
type Side struct {
	ID          string `json:"id,omitempty"`
	Title       string `json:"title"`
	Tokens      int    `json:"tokens"` // Han characters, Latin words and figures of the normal form
	Blank       bool   `json:"blank,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// Meeting is a way in which the index might have proposed the earlier text.
type Meeting struct {
	Rule   index.Rule `json:"rule"`
	Met    bool       `json:"met"`
	Detail string     `json:"detail"`
}

// FlippedBit is a bit in which the fingerprints differ, and the margin it has
// on each side.
type FlippedBit struct {
	Bit     int     `json:"bit"`
	Query   float32 `json:"query"`
	Earlier float32 `json:"earlier"`
}

// SharedTerm is a feature and its weight on each side, 0 where it is missing.
type SharedTerm struct {
	Text    string  `json:"text"`
	Query   float32 `json:"query"`
	Earlier float32 `json:"earlier"`
}

// Judgement is a comparison and what the judge makes of it.
type Judgement struct {
	Resemblance      float32 `json:"resemblance"`
	QueryContained   float32 `json:"query_contained"`   // share of the query that the earlier text has
	EarlierContained float32 `json:"earlier_contained"` // and the other way
	// Clues are what the scores are made of, those against a copy first.
	Clues  []Weighed `json:"clues"`
	Kind   string    `json:"kind"` // duplicate, suspect, series or unrelated
	Reason string    `json:"reason"`
	Score  float32   `json:"score"` // the same article
	Story  float32   `json:"story"` // one story, not two of a series

	decided  sketch.Judgement
	compared sketch.Comparison
}

// Explain judges a later item against an earlier one as the policy would, with
// both texts kept; terms bounds Explanation.Terms.
func Explain(seg *segment.Segmenter, policy index.Policy, language string, later, earlier *Item, terms int) *Explanation {
	var qt, et segment.Text
	seg.Analyze(&qt, later.Title, later.Body)
	seg.Analyze(&et, earlier.Title, earlier.Body)
	q, c := Prepare(seg, later), Prepare(seg, earlier)
	x := &Explanation{
		Query: side(q), Earlier: side(c), Distance: simhash.Distance(q.Print.Fingerprint, c.Print.Fingerprint),
		S: q.Print.S(c.Print.Fingerprint), SReverse: c.Print.S(q.Print.Fingerprint),
		Recipe: seg.Recipe(), Policy: policy.Hash(), Thresholds: policy.Thresholds,
	}
	aligned := sketch.Align(q.Text, c.Text)
	x.Measured = judgement(aligned.Comparison, &policy, func(j sketch.Judgement) sketch.Judgement { return policy.Doubt(j, aligned) })
	x.Estimated = judgement(sketch.Compare(&q.Sketch, &c.Sketch), &policy, func(j sketch.Judgement) sketch.Judgement { return j })
	x.flip(&q.Print, &c.Print)
	x.share(qt.Terms, et.Terms, terms)
	x.meet(q, c, &policy)
	x.decide(q, c, aligned, &policy)
	e := index.Event{ID: q.ID, Verdict: x.Verdict, Cause: index.CauseIngest, Rule: x.Rule, Of: cmp.Or(c.ID, c.Title),
		Series: map[bool]uint32{true: 1}[x.Series], Distance: &x.Distance, Facts: x.Facts}
	if policy.Rules != index.RulesHamming {
		e.Resemblance = &x.Measured.Resemblance
	}
	if x.Facts == nil {
		e.Of = "" // not judged: nothing can be said of it
	}
	x.Why = index.Why(&e, language)
	return x
}

func side(a *index.Article) Side {
	return Side{ID: a.ID, Title: a.Title, Tokens: int(a.Sketch.Tokens), Blank: a.Blank, Fingerprint: a.Print.Fingerprint.String()}
}

var kindNames = map[sketch.Kind]string{sketch.Unrelated: "unrelated", sketch.Series: "series", sketch.Suspect: "suspect", sketch.Duplicate: "duplicate"}

func judgement(c sketch.Comparison, p *index.Policy, doubt func(sketch.Judgement) sketch.Judgement) Judgement {
	t := p.Thresholds
	k := doubt(sketch.Judge(c, t))
	return Judgement{Resemblance: c.Resemblance, QueryContained: c.ContainedA, EarlierContained: c.ContainedB,
		Clues: weigh(&c, &t), Kind: kindNames[k.Kind], Reason: k.Reason, Score: k.Score, Story: k.Story, decided: k, compared: c}
}

func (x *Explanation) flip(q, c *simhash.Print) {
	for d := uint64(q.Fingerprint ^ c.Fingerprint); d != 0; d &= d - 1 {
		b := bits.TrailingZeros64(d)
		x.Flipped = append(x.Flipped, FlippedBit{b, q.Margins[b], c.Margins[b]})
	}
	slices.SortFunc(x.Flipped, func(a, b FlippedBit) int { return cmp.Compare(b.Query, a.Query) })
}

// share lines up the features of both sides, the heaviest first.
func (x *Explanation) share(q, c []segment.Term, most int) {
	at := make(map[uint64]int, len(q)+len(c))
	var all []SharedTerm
	term := func(t segment.Term) *SharedTerm {
		i, ok := at[t.Hash]
		if !ok {
			i = len(all)
			at[t.Hash] = i
			all = append(all, SharedTerm{Text: t.Text})
		}
		return &all[i]
	}
	var inQuery, inEarlier float32
	for _, t := range q {
		term(t).Query += t.Weight
		inQuery += t.Weight
	}
	for _, t := range c {
		term(t).Earlier += t.Weight
		inEarlier += t.Weight
	}
	for _, t := range all {
		if t.Query > 0 && t.Earlier > 0 {
			x.QueryShare += t.Query / inQuery
			x.EarlierShare += t.Earlier / inEarlier
		}
	}
	slices.SortFunc(all, func(a, b SharedTerm) int {
		return cmp.Or(cmp.Compare(max(b.Query, b.Earlier), max(a.Query, a.Earlier)), cmp.Compare(a.Text, b.Text))
	})
	x.Terms = all[:min(len(all), most)]
}

// meet says which proposals would have brought the two together.
func (x *Explanation) meet(q, c *index.Article, p *index.Policy) {
	if q.Blank || c.Blank {
		return
	}
	add := func(rule index.Rule, met bool, format string, args ...any) {
		x.Proposals = append(x.Proposals, Meeting{rule, met, fmt.Sprintf(format, args...)})
	}
	identical := q.Exact == c.Exact
	add(index.ByExact, identical, "%s normal form", map[bool]string{true: "the same", false: "another"}[identical])
	if !q.Print.Empty() && !c.Print.Empty() {
		add(index.ByHamming, x.Distance <= p.Distance, "distance %d, at most %d", x.Distance, p.Distance)
		if p.Rules == index.RulesHamming {
			return
		}
		add(index.ByMargin, x.S <= p.MaxS, "S %.2f, at most %g, if the search gets there within its budget", x.S, p.MaxS)
	}
	for _, k := range []struct {
		rule index.Rule
		q, c []uint64
	}{{index.BySketch, q.Sketch.Keys(), c.Sketch.Keys()}, {index.ByPassage, q.Sketch.PassageKeys(), c.Sketch.PassageKeys()}} {
		shared := slices.DeleteFunc(slices.Clone(k.q), func(key uint64) bool { return !slices.Contains(k.c, key) })
		if len(k.q) > 0 {
			add(k.rule, len(shared) > 0, "%d of %d keys shared", len(shared), len(k.q))
		}
	}
}

// decide repeats what the index does once it has met the earlier text.
func (x *Explanation) decide(q, c *index.Article, aligned *sketch.Alignment, p *index.Policy) {
	x.Verdict = index.Unique
	i := slices.IndexFunc(x.Proposals, func(m Meeting) bool { return m.Met })
	switch {
	case q.Blank || c.Blank:
		x.Decided = "one side has no letter and no digit: it matches nothing"
		return
	case i < 0:
		x.Decided = "the search would not have met the earlier text"
		return
	}
	x.Rule = x.Proposals[i].Rule
	m := &x.Measured
	if p.Texts == 0 {
		m = &x.Estimated
	}
	x.Facts = index.Compared(&m.decided, aligned)
	if p.Texts == 0 {
		x.Facts = index.Estimated(&m.decided, &m.compared)
	}
	switch {
	case x.Rule == index.ByExact && sketch.Untold(&q.Text, q.Title, c.Title):
		x.Verdict, x.Decided, x.Facts = index.Suspect, "the normal forms are the same, and say nothing of the headlines, which are two", &index.Facts{Reason: sketch.Headlines}
	case x.Rule == index.ByExact:
		x.Verdict, x.Decided, x.Facts = index.Duplicate, "the normal forms are the same", &index.Facts{Reason: "exact"}
	case p.Rules == index.RulesHamming:
		x.Verdict, x.Decided = index.Duplicate, fmt.Sprintf("distance %d ≤ %d", x.Distance, p.Distance)
		x.Facts = &index.Facts{Reason: "distance"}
	default:
		x.judged(m, p)
	}
}

func (x *Explanation) judged(m *Judgement, p *index.Policy) {
	t := &p.Thresholds
	score := fmt.Sprintf("score %.3f (duplicate from %g, a short text from %g; doubt from %g), story %.3f (suspect from %g)",
		m.Score, t.Duplicate, t.DuplicateShort, t.Doubt, m.Story, t.Suspect)
	if rule := t.Vetoed(&m.compared); rule != "" {
		score += ", no duplicate: " + rule
	}
	x.Decided = m.Reason + ": " + score
	switch m.decided.Kind {
	case sketch.Duplicate:
		x.Verdict = index.Duplicate
	case sketch.Suspect:
		x.Verdict = index.Suspect
		if p.Suspects == index.SuspectsReject {
			x.Verdict, x.Rule = index.Duplicate, index.BySuspected
		}
	case sketch.Series:
		x.Series = true
	default:
		x.Rule, x.Facts = index.NoRule, &index.Facts{Reason: m.Reason}
		x.Decided = fmt.Sprintf("%s: resemblance %.3f (related from %g), %s", m.Reason, m.Resemblance, t.Related, score)
	}
}

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
	sketch.AddsFigures: "figures of the later text that the earlier one lacks, or says of something else",
	sketch.AddsNames:   "names in the later text that the earlier one lacks",
	sketch.AddsUnknown: "in its new sentences, characters and words that the earlier text has nowhere",
	sketch.AddsMatter:  "new passages of the later text",
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
