package compare

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"jianguo/compare/quantity"
	"jianguo/data"
)

// Limits are the numbers of the judge. All are part of the policy.
type Limits struct {
	// News, Facts and Share are what makes news: so many characters, so many quantities, or such a share of the later
	// text that the earlier one lacks. Little is the least number of characters of a share, FactsShort what Facts is
	// for two short texts, or after Stale days.
	News       int     `json:"news"`
	Facts      int     `json:"facts"`
	FactsShort int     `json:"facts_short"`
	Share      float64 `json:"share"`
	Little     int     `json:"little"`
	// Later and Earlier are the shares of the later or the earlier text that stand in the other one, from which they
	// are related. With less of the earlier one, a text is an excerpt at most, and all that it has of its own counts.
	Later   float64 `json:"later"`
	Earlier float64 `json:"earlier"`
	// Resembles is the least resemblance of a suspect that shares less than three quarters of either text.
	Resembles float64 `json:"resembles"`
	// Conflicts is how many quantities or names in conflict make another subject; of two short texts one is enough,
	// if it is a share DisagreeShort of all quantities that both texts have at common places.
	Conflicts     int     `json:"conflicts"`
	DisagreeShort float64 `json:"disagree_short"`
	// Subjects is how many words of its opening each text has again, and the other one nowhere, to be about another
	// subject.
	Subjects int `json:"subjects"`
	// Told is the least share of a copy that the earlier text tells. Rest is the share of a sentence that makes it
	// another one.
	Told float64 `json:"told"`
	Rest float64 `json:"rest"`
	// Slots is how many nouns at common places of longer texts are others, and Added the share of these places that
	// other differences are at most, for two fillings of one form.
	Slots int     `json:"slots"`
	Added float64 `json:"added"`
	// Recurs is the number of days between two flashes that are no copies however alike they are. After Stale days
	// a text that is not nearly all in the earlier one, or has FactsShort new facts, is no copy: ceremonies, annual
	// notices.
	Recurs int `json:"recurs"`
	Stale  int `json:"stale"`
	// Look is the share of one text's shingles in the other below which texts are not aligned. Of 580 labelled copies
	// none had less than .36.
	Look float64 `json:"look"`
	// A suspect tells of the matter of the earlier text if one of the two has a share Matter of the other's first
	// Opening tokens, an unrelated text if both have. A round-up of two shares with both less than Both of what it
	// shares with one. Run is the shortest run that counts.
	Matter  float64 `json:"matter"`
	Opening int     `json:"opening_tokens"`
	Both    float64 `json:"both"`
	Run     int     `json:"run_tokens"`
	// Work budgets of a pair of texts. Offsets is how many places of the other text a run is sought at, GapPairs and
	// Pairs how many pairs of tokens are searched in one gap between runs and in all, Sought the bytes that are
	// searched for names, and for clauses: beyond it names are not in conflict, and clauses are new.
	Offsets  int `json:"offsets"`
	GapPairs int `json:"gap_pairs"`
	Pairs    int `json:"pairs"`
	Sought   int `json:"sought_bytes"`
	// Off is one of Rules that does not apply, to see what it is for; empty: all apply.
	Off string `json:"off,omitempty"`
}

// Rules are those without a number.
var Rules = []string{"headlines", "places", "days", "titles", "flashes", "denials", "quantities", "names", "exchanged",
	"again", "moved", "excerpts", "replaced"}

// DefaultLimits are those of a policy without flags: eighty new characters, three new facts, or a fifth of a text
// make news.
func DefaultLimits() Limits { return Limits{}.At(80) }

// At sets how many characters make news, and facts and share with it.
func (l Limits) At(news int) Limits {
	scale := float64(news) / 80
	return Limits{News: news, Facts: max(1, int(math.Round(3*scale))), FactsShort: max(1, int(math.Round(scale))),
		Share: min(.9, .2*scale), Little: max(1, news/2), Later: .5, Earlier: .6, Resembles: .29, Conflicts: 2,
		DisagreeShort: .15, Subjects: 3, Told: .6, Rest: .3, Slots: 2, Added: .34, Recurs: 3, Stale: 30, Look: .35,
		Matter: .25, Opening: 100, Both: .5, Run: 4, Offsets: 16, GapPairs: 1 << 16, Pairs: 1 << 20, Sought: 1 << 23}
}

// Validate names the first number that is out of bounds: shares go from 0 to 1, counts from 1 on.
func (l *Limits) Validate() error {
	all := reflect.ValueOf(*l)
	for i := range all.NumField() {
		name, n := all.Type().Field(i).Tag.Get("json"), all.Field(i)
		if n.CanFloat() && !(n.Float() >= 0 && n.Float() <= 1) {
			return fmt.Errorf("policy: %s %v: want 0 to 1", name, n)
		}
		if n.CanInt() && n.Int() < 1 {
			return fmt.Errorf("policy: %s %v: want 1 or more", name, n)
		}
	}
	return nil
}

// Kind is the result of a judgement.
type Kind uint8

// The kinds of judgement, from the weakest to the strongest.
const (
	Unrelated Kind = iota
	Series         // one form, another subject
	Suspect        // repeats much, and adds news
	Duplicate      // adds no news
)

var kindNames = [...]string{"unrelated", "series", "suspect", "duplicate"}

func (k Kind) String() string { return kindNames[k] }

// The reasons of a judgement. Package reason puts them into words.
const (
	LittleText  = "little-text"  // unrelated: too little in common
	OtherMatter = "other-matter" // unrelated: neither begins with what the other one tells
	OtherFacts  = "other-facts"  // series: other quantities or names at common places
	OtherDay    = "other-day"    // series: a flash, or each text tells of the day of its publication

	Exact     = "exact"     // duplicate: the same normal form
	SameText  = "same-text" // duplicate: nearly all of each text is in the other
	Reworded  = "reworded"  // duplicate: the same in other words
	Contained = "contained" // duplicate: the earlier text has it all, and more

	Extends   = "extends"   // suspect: most of the earlier text, and news
	Overlap   = "overlap"   // suspect: each text has its own
	Update    = "update"    // suspect: quantities have moved on at common places
	Denial    = "denial"    // suspect: the headline denies the earlier one
	Moved     = "moved"     // suspect: words of a sentence change places
	Replaced  = "replaced"  // suspect: one form with other words
	Headlines = "headlines" // suspect: the same short body, of which the headlines, two others, say nothing
	TooLong   = "too-long"  // suspect: by sketches, for texts that are too long to align
)

// Judgement is what comparing two texts comes to.
type Judgement struct {
	Kind   Kind
	Reason string
	Trace  []Step
	last   int // step with a yes
	// What the steps stand on; zero where the texts were not aligned.
	*Alignment
	New       News // of the later text
	Lacks     News // of the earlier text
	Agreement Agreement
}

// Step is a line of the trace: a question that the judge asked, what was found, and whether it decided.
type Step struct {
	Question string `json:"question"`
	Found    string `json:"found"`
	Decided  bool   `json:"decided"`
}

// Judge says what a later text adds to an earlier one. Nothing else decides about a pair of texts.
func Judge(later, earlier *Doc, l *Limits) Judgement {
	j := Judgement{Alignment: align(later, earlier, l)}
	x := j.Alignment
	a, b := float64(x.Later.Covered), float64(x.Earlier.Covered)
	switch {
	case j.step(later.Form == earlier.Form && later.Form != "", "the same normal form?", "%d and %d bytes",
		len(later.Form), len(earlier.Form)):
		return j.decided(Duplicate, Exact)
	case j.step(!x.related() || a < l.Later && b < l.Earlier, "too little in common?",
		"%.0f and %.0f%% of the shingles (%.0f), %.0f%% of the later text (%.0f), %.0f%% of the earlier (%.0f)",
		100*x.Later.Contained, 100*x.Earlier.Contained, 100*l.Look, 100*a, 100*l.Later, 100*b, 100*l.Earlier):
		return j.decided(Unrelated, LittleText)
	}
	j.New, j.Lacks, j.Agreement = x.Later.news(earlier, l.Sought), x.Earlier.news(later, l.Sought), x.Agreement()
	reason, found := x.otherSubject(&j.Agreement, l)
	if j.step(reason != "", "another subject?", "%s", found) {
		return j.decided(Series, reason)
	}
	if j.step(j.isNews(l), "news?",
		"%d new characters (%d), %.0f%% of the text (%.0f, from %d on), %d new facts (%d); "+
			"%.0f%% untold (%.0f), which counts of an excerpt", j.New.Characters, l.News, 100*j.New.Share, 100*l.Share,
		l.Little, len(j.New.Values), x.facts(), 100*(1-a), 100*(1-l.Told)) {
		if j.step(a < Most && !x.sharesOpening(), "another matter?", "%.0f%% of the later text (%.0f), "+
			"%.0f and %.0f%% of the openings (%.0f), %d days apart", 100*a, 100*Most, 100*x.Later.opening(l),
			100*x.Earlier.opening(l), 100*l.Matter, x.apart()) {
			return j.decided(Unrelated, OtherMatter)
		}
		if j.step(float64(x.Resemblance) < l.Resembles && max(a, b) < Most, "and little else?",
			"resemblance %.2f (%.2f), larger share %.0f%% (%.0f)",
			x.Resemblance, l.Resembles, 100*max(a, b), 100*Most) {
			return j.decided(Unrelated, LittleText)
		}
		return j.decided(Suspect, j.suspicion())
	}
	denial := x.denial()
	text, title := x.form(), x.alignHeadlines()
	head := title.form()
	switch {
	case j.step(denial != "", "a sentence denied?", "%s", denial):
		return j.decided(Suspect, Denial)
	case j.step(x.exchanged(), "words of a sentence exchanged?", "of up to %d", sentenceMost):
		return j.decided(Suspect, Moved)
	case j.step(x.anotherMatter(text), "one form with other words?", "%d places, %d of them nouns (%d), "+
		"%d other differences (%.0f%%): %s / %s", text.slots, text.nouns, l.Slots, text.added, 100*l.Added,
		text.words[0], text.words[1]):
		j.Agreement.Subject = text.words
		return j.decided(Suspect, Replaced)
	case j.step(title.anotherMatter(head) && head.added == 0, "headlines of one form?",
		"%d places, %d other differences: %s / %s", head.slots, head.added, head.words[0], head.words[1]):
		j.Agreement.Subject = [2]string{title.Later.clauseOf(head.words[0]), title.Earlier.clauseOf(head.words[1])}
		return j.decided(Suspect, Replaced)
	}
	j.step(true, "which kind of copy?", "%.0f%% of the later text, %.0f%% of the earlier", 100*a, 100*b)
	return j.decided(Duplicate, j.sameness())
}

// step adds a step to the trace. What was asked for is in parentheses.
func (j *Judgement) step(found bool, question, format string, args ...any) bool {
	if found {
		j.last = len(j.Trace)
	}
	j.Trace = append(j.Trace, Step{Question: question, Found: fmt.Sprintf(format, args...)})
	return found
}

// decided is the judgement that the last step with a yes has decided.
func (j Judgement) decided(kind Kind, reason string) Judgement {
	j.Kind, j.Reason = kind, reason
	j.Trace[j.last].Decided = true
	return j
}

// isNews reports whether the later text adds so much that it is no copy.
func (j *Judgement) isNews(l *Limits) bool {
	n, rest := &j.New, 1-float64(j.Later.Covered)
	excerpt := float64(j.Earlier.Covered) < l.Earlier && l.Off != "excerpts"
	switch {
	case 1-rest < l.Told || j.sentence() && rest > l.Rest || j.stale() && rest > 1-NearlyAll:
		return true
	case excerpt && rest >= l.Share && !(j.short() && j.retold(l)):
		return true
	}
	return n.Characters >= l.News || float64(n.Share) >= l.Share && n.Characters >= l.Little ||
		len(n.Values) >= j.facts()
}

// retold reports whether the earlier text tells nearly all of a short later one: all but a few characters, its names,
// and its headline.
func (x *Alignment) retold(l *Limits) bool {
	untold := float64(1-x.Later.Covered) * float64(x.Later.characters(0, len(x.Later.tokens)))
	return untold < float64(l.Little) && !x.newName() && !x.twoHeadlines()
}

// newName reports whether the later text has a name of its own that the earlier one has nowhere.
func (x *Alignment) newName() bool {
	l, e := x.Later.Doc, x.Earlier.Doc
	fresh := func(name Span) bool { return !e.Has(l.text(name)) }
	return slices.ContainsFunc(x.gaps(), func(g gap) bool {
		return g.a0 < g.a1 && slices.ContainsFunc(l.names(l.span(g.a0, g.a1)), fresh)
	})
}

// twoHeadlines reports whether both texts have headlines that have less than half in common.
func (x *Alignment) twoHeadlines() bool {
	a, b := x.Later.headline, x.Earlier.headline
	return a != "" && b != "" && pairShare(a, b) < sameTitle
}

// facts is how many new facts are news.
func (x *Alignment) facts() int {
	if x.short() || x.stale() {
		return x.limits.FactsShort
	}
	return x.limits.Facts
}

// stale reports whether so long a time lies between two texts that the later one rather tells of the next such event.
func (x *Alignment) stale() bool { return x.apart() >= x.limits.Stale }

// short reports whether both texts are short.
func (x *Alignment) short() bool {
	return max(len(x.Later.tokens), len(x.Earlier.tokens)) <= shortTokens
}

// Shares of a text from which it counts as covered by the other one.
const (
	NearlyAll = .9
	Most      = .75
)

// suspicion is the reason of a suspect.
func (j *Judgement) suspicion() string {
	movedOn := func(c Conflict) bool {
		v, o := c.values[0], c.values[1]
		return !c.Name && !j.ownDays(v, o) && (v.Kind != quantity.Date || v.Low > o.Low)
	}
	switch {
	case slices.ContainsFunc(j.Agreement.Conflicts, movedOn):
		return Update
	case j.Earlier.Covered >= Most && j.Later.Covered < j.Earlier.Covered:
		return Extends
	}
	return Overlap
}

// sameness is the reason of a duplicate. What each text has of its own apart, they are word for word the same, or not.
func (j *Judgement) sameness() string {
	switch a, b := j.Later.Covered, j.Earlier.Covered; {
	case a > b && b < Most:
		return Contained
	case min(a+j.New.Share, b+j.Lacks.Share) >= NearlyAll:
		return SameText
	}
	return Reworded
}

// otherSubject says why two texts are about two subjects; empty: they are not.
func (x *Alignment) otherSubject(g *Agreement, l *Limits) (reason, found string) {
	n, short, apart := len(g.Conflicts), x.short(), x.apart()
	share := float64(n) / float64(max(1, n+g.Equal))
	found = fmt.Sprintf("%d in conflict (%d), %.0f%% of %d (%.0f, if short)", n, l.Conflicts, 100*share, n+g.Equal,
		100*l.DisagreeShort)
	for _, c := range g.Conflicts {
		says := x.Later.text(c.Later) + " / " + x.Earlier.text(c.Earlier)
		switch {
		case c.Headline && l.Off != "headlines":
			return OtherFacts, "both headlines: " + says
		case c.Name && c.Places > 1 && l.Off != "places":
			return OtherFacts, fmt.Sprintf("at %d places: %s", c.Places, says)
		case !c.Name && apart != 0 && x.ownDays(c.values[0], c.values[1]) && l.Off != "days":
			return OtherDay, "each text has the day of its publication: " + says
		}
	}
	if a, b := x.headlines(); a != "" && b != "" && l.Off != "titles" {
		g.Subject = [2]string{a, b}
		return OtherFacts, "in the headlines: " + a + " / " + b
	}
	if n >= l.Conflicts || short && n > 0 && share >= l.DisagreeShort {
		return OtherFacts, found
	}
	if a := x.Later.subjects(x.Earlier.Doc); len(a) >= l.Subjects {
		if b := x.Earlier.subjects(x.Later.Doc); len(b) >= l.Subjects {
			return OtherFacts, "subjects that the other text has not: " + strings.Join(a, "、") + " / " +
				strings.Join(b, "、")
		}
	}
	if short && apart >= l.Recurs && l.Off != "flashes" {
		return OtherDay, fmt.Sprintf("flashes of two days, %d apart", apart)
	}
	return "", found
}

// apart is the number of days between the two publications; 0 where one is not known.
func (x *Alignment) apart() int {
	a, b := x.Later.Text.Published, x.Earlier.Text.Published
	if a <= 0 || b <= 0 {
		return 0
	}
	return int(max(a-b, b-a))
}

// code is the version of the code that judges. It changes with every change that may change a verdict.
const code = "22"

// Version names the code and the tables that judge, for the policy.
var Version = fmt.Sprintf("%s-%08x", code, uint32(xxh3.HashString(data.Denials+data.Numerals+data.Units)))
