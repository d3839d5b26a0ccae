package verdict

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"jianguo/sketch"
)

// Facts say how an item and the earlier text it was judged against go together: what each has of the other,
// what the item adds, and which facts agree. All but Score comes from one alignment of the two texts.
type Facts struct {
	Reason string  `json:"reason,omitempty"` // the judgement's code
	Score  float32 `json:"score,omitempty"`  // confidence that it adds nothing, 0…1

	Coverage *Coverage `json:"coverage,omitempty"` // nil: the texts were not aligned
	New      *New      `json:"new,omitempty"`      // nil: likewise
	Lacks    int       `json:"lacks,omitempty"`    // characters of passages that only the earlier text has

	Numbers   int      `json:"numbers,omitempty"`   // distinct figures and times of the item
	Shared    int      `json:"shared,omitempty"`    // of those, how many the earlier text has
	Conflicts int      `json:"conflicts,omitempty"` // places where the two texts have other facts
	Agree     []string `json:"agree,omitempty"`     // a few that are equal
	Conflict  []string `json:"conflict,omitempty"`  // a few that are not: the item's / the earlier text's
}

// Coverage is what share of each text stands in the other one, 0…1.
type Coverage struct {
	Later   float32 `json:"later"` // of the item
	Earlier float32 `json:"earlier"`
}

// New is what the item has and the earlier text has not.
type New struct {
	Share      float32  `json:"share"`              // of the item, in passages of its own
	Characters int      `json:"characters"`         // of these passages
	Text       string   `json:"text,omitempty"`     // where it begins to say so: whole sentences, if there are any
	Facts      int      `json:"facts"`              // distinct figures and times
	Examples   []string `json:"examples,omitempty"` // a few of them
}

// examples bounds the facts of each sort that are kept.
const examples = 4

// Estimated are the facts of two texts that could not be aligned.
func Estimated(j *sketch.Judgement, c *sketch.Comparison) *Facts {
	return &Facts{Reason: j.Reason, Score: Round(j.Score, 1000), Numbers: c.Facts.Numbers, Shared: c.Facts.NumbersShared}
}

// Compared are the facts of two texts that were judged and aligned.
func Compared(j *sketch.Judgement, x *sketch.Alignment) *Facts {
	f := &Facts{Score: Round(j.Score, 1000), Coverage: &Coverage{Round(x.Later.Covered, 100), Round(x.Earlier.Covered, 100)}, New: &New{}}
	f.Lacks, f.New.Characters = lacking(&x.Earlier), lacking(&x.Later)
	f.New.Share = Round(float32(f.New.Characters)/float32(max(1, letters(x.Later.Text))), 100)
	f.New.Text = quotation(&x.Later, j.Kind == sketch.Duplicate)
	f.pair(x, j.Kind == sketch.Series)
	if f.Reason = reason(j, f); f.Reason == sketch.InDoubt && f.Conflicts == 0 {
		c := aboutOthers(x)
		f.Conflicts, f.Conflict = len(c), shown(c)
	}
	return f
}

// pair counts the facts and names a few; of a series, what the two texts are about as well.
func (f *Facts) pair(x *sketch.Alignment, series bool) {
	var said, added []*sketch.Fact // distinct, of the item; those that the earlier text lacks
	var conflicts []conflict
	pairs := x.Counterparts(series)
	if series {
		conflicts = aboutOthers(x)
	}
	tickers := ticker.FindAllStringIndex(x.Later.Text, -1)
	priced := func(o *sketch.Fact) bool { // by a ticker
		return slices.ContainsFunc(tickers, func(s []int) bool { return s[0] < o.End && o.Start < s[1] })
	}
	fresh := func(o *sketch.Fact) bool {
		if slices.ContainsFunc(said, o.Equal) {
			return false
		}
		said = append(said, o)
		return true
	}
	for i := range pairs {
		p := &pairs[i]
		switch {
		case p.Later == nil, p.Conflict && (!series && priced(p.Later) || misplaced(x, p)):
		case p.Conflict:
			c := conflictOf(x, p)
			switch {
			case c.rank == inHeadlines:
			case priced(p.Later) || !framed(x, p):
				c.rank = unframed
			case x.Later.Datelined(p.Later) || strings.HasSuffix(c.later, "号"):
				c.rank = atLast
			}
			if !slices.ContainsFunc(conflicts, c.like) {
				conflicts = append(conflicts, c)
			}
			if p.Later.Kind != sketch.FactName && fresh(p.Later) {
				f.Numbers++
			}
		case !fresh(p.Later):
		case p.Earlier == nil && elsewhere(x.Later.Text[p.Later.Start:p.Later.End], &x.Earlier):
			f.Numbers++
			f.Shared++
		case p.Earlier != nil && !p.Later.Finer(p.Earlier):
			f.Numbers++
			f.Shared++
			f.Agree = appendSome(f.Agree, x.Later.Text[p.Later.Start:p.Later.End])
		case !x.Later.Datelined(p.Later) && !priced(p.Later):
			f.Numbers++
			added = append(added, p.Later)
		}
	}
	f.New.Facts = len(added)
	rank := func(o *sketch.Fact) int { // many a page begins with its date, and a number without a unit tells little
		return int(o.Kind)<<1 | strings.Count("0123456789", x.Later.Text[o.End-1:o.End])
	}
	slices.SortStableFunc(added, func(a, b *sketch.Fact) int { return rank(a) - rank(b) })
	for _, o := range added {
		f.New.Examples = appendSome(f.New.Examples, x.Later.Text[o.Start:o.End])
	}
	f.Conflicts, f.Conflict = len(conflicts), shown(conflicts)
}

// aboutOthers is what two texts are about, if that can be told.
func aboutOthers(x *sketch.Alignment) (out []conflict) {
	for _, o := range subjects(x) {
		out = append(out, conflict{later: o[0], earlier: o[1], kind: sketch.FactName, rank: ofSubject})
	}
	return out
}

// conflictOf is what two facts say that are in conflict.
func conflictOf(x *sketch.Alignment, p *sketch.FactPair) conflict {
	a, b := x.Later.Text[p.Later.Start:p.Later.End], x.Earlier.Text[p.Earlier.Start:p.Earlier.End]
	c := conflict{kind: p.Later.Kind, pair: p, rank: atPlace}
	c.later, c.earlier = opposed(a, b, x.Later.Text[:p.Later.Start], x.Earlier.Text[:p.Earlier.Start])
	if strings.Contains(x.Later.Title, a) && strings.Contains(x.Earlier.Title, b) {
		c.rank = inHeadlines
	}
	return c
}

// framed reports whether the two texts have some words in common before the facts of a pair, or behind them.
func framed(x *sketch.Alignment, p *sketch.FactPair) bool {
	const least = 2 * len("字")
	a, b, n := x.Later.Text, x.Earlier.Text, 0
	before := func(text string) int { return len(text) - len(cmp.Or(ending(text, rises), ending(text, falls))) - 1 }
	for i, j := before(a[:p.Later.Start]), before(b[:p.Earlier.Start]); n < least && i >= 0 && j >= 0 && a[i] == b[j]; i, j = i-1, j-1 {
		n++
	}
	for i, j := p.Later.End, p.Earlier.End; n < least && i < len(a) && j < len(b) && a[i] == b[j]; i, j = i+1, j+1 {
		n++
	}
	return n == least
}

// misplaced reports whether a conflict is none of one matter: of a dateline and another time, or of names in no common frame.
func misplaced(x *sketch.Alignment, p *sketch.FactPair) bool {
	return x.Later.Datelined(p.Later) != x.Earlier.Datelined(p.Earlier) || p.Later.Kind == sketch.FactName && !framed(x, p)
}

// digitsMost is the length of a number that does not stand in two texts by chance.
const digitsMost = 4

// elsewhere reports whether a text has a long number without a unit in other words, 1992-2007年进入 or 13…777777, or calls the year this one.
func elsewhere(fact string, s *sketch.Aligned) bool {
	unit := strings.TrimLeft(strings.TrimPrefix(fact, "第"), "0123456789.")
	number := strings.TrimSuffix(strings.TrimPrefix(fact, "第"), unit)
	return strings.Contains(s.Title, fact) || len(number) >= digitsMost && (unit == "" || unit == "年") &&
		(strings.Contains(s.Text, number) || strings.Contains(s.Title, number) || unit == "年" && strings.Contains(s.Text, "今年"))
}

// Words before a figure, of which two texts may have opposite ones.
var (
	rises = strings.Fields("上涨 大涨 暴涨 微涨 增长 增加 上升 回升 涨 升 增 涨幅")
	falls = strings.Fields("下跌 大跌 暴跌 微跌 下降 减少 下滑 回落 跌 降 减 贬 跌幅")
)

// ending is the longest word that a text ends with, empty for none.
func ending(text string, words []string) (word string) {
	for _, w := range words {
		if len(w) > len(word) && strings.HasSuffix(text, w) {
			word = w
		}
	}
	return word
}

// opposed writes before two figures which of them rises and which falls.
func opposed(a, b, beforeA, beforeB string) (string, string) {
	for _, words := range [][2][]string{{rises, falls}, {falls, rises}} {
		if x, y := ending(beforeA, words[0]), ending(beforeB, words[1]); x != "" && y != "" {
			return x + a, y + b
		}
	}
	return a, b
}

// ticker is what a page writes behind the name of a share, of today: (37.370, -0.25, -0.66%).
var ticker = regexp.MustCompile(`\n\d+\.\d+\n-?\d+\.\d+\n-?\d+\.\d+%`)

// The ranks of conflicts, in the order in which they are named.
const (
	ofSubject = iota
	inHeadlines
	atPlace
	atLast   // datelines, numbers of documents
	unframed // without words in common around it, or a ticker's: if there is no other
)

// conflict is what the two texts have at one place.
type conflict struct {
	later, earlier string
	kind           sketch.FactKind
	pair           *sketch.FactPair // nil: the subject
	rank           int
	nth            int // of its kind
}

// like reports whether two conflicts are one: that of two names, whole or in part, or of two figures, exact or rounded, may
// stand at several places.
func (c conflict) like(o conflict) bool {
	if c.kind != sketch.FactName || o.kind != sketch.FactName {
		return c.kind == o.kind && c.pair.Later.Equal(o.pair.Later) && c.pair.Earlier.Equal(o.pair.Earlier)
	}
	return part(c.later, o.later) && part(c.earlier, o.earlier)
}

func part(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) }

// shown chooses the conflicts that are named: the subjects and those of the headlines first, then one of each kind, so that a
// notice about another bank names the bank and the amount; and last those with a value that is named already.
func shown(conflicts []conflict) (words []string) {
	var count [3]int
	for i := range conflicts {
		c := &conflicts[i]
		c.nth = count[c.kind]
		count[c.kind]++
	}
	slices.SortStableFunc(conflicts, func(a, b conflict) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.nth, b.nth), cmp.Compare(a.kind, b.kind))
	})
	var again []string
	for i, c := range conflicts {
		if c.rank == unframed && len(words) > 0 {
			break
		}
		pair := display(c.later, "/") + " / " + display(c.earlier, "/")
		said := func(o conflict) bool {
			return c.later == o.later || c.earlier == o.earlier || c.kind == sketch.FactName && o.kind == c.kind && (part(c.later, o.later) || part(c.earlier, o.earlier))
		}
		if slices.ContainsFunc(conflicts[:i], said) {
			again = append(again, pair)
		} else {
			words = append(words, pair)
		}
	}
	words = append(words, again...)
	return words[:min(examples, len(words))]
}

func appendSome(list []string, text string) []string {
	if len(list) < examples {
		list = append(list, display(text, "/"))
	}
	return list
}

// Of a normal form, celsius is ℃, and code is SHR-4685.
var (
	celsius = regexp.MustCompile(`(\d)c([^a-z\d]|$)`)
	code    = regexp.MustCompile(`([a-z])\n(\d)`)
)

// display writes what a normal form says for people, with a mark for each separator.
func display(text, mark string) string {
	if mark == "/" {
		text = code.ReplaceAllString(text, "$1-$2")
	}
	return celsius.ReplaceAllString(strings.ReplaceAll(text, "\n", mark), "$1℃$2")
}

// Shares of a text from which it counts as covered by the other one.
const (
	nearlyAll = .9
	most      = .75
	nearly    = .85  // of a part
	margin    = .055 // between two shares that are about equal
)

// contained reports whether one text is a part of the other: by their shares, and by what the other has of its own. Where
// it has no passage of its own, it is only worded at greater length.
func contained(share, other float32, own int) bool {
	return share >= nearly && other < most || share >= nearlyAll && other < min(nearlyAll, share-margin) && own > 0
}

// reason is the code of a judgement, made exact by what the alignment found.
func reason(j *sketch.Judgement, f *Facts) string {
	c := f.Coverage
	switch j.Kind {
	case sketch.Duplicate:
		switch {
		case min(c.Later, c.Earlier) >= nearlyAll:
			return sketch.SameText
		case contained(c.Later, c.Earlier, f.Lacks):
			return sketch.Contained
		case c.Later >= nearlyAll && c.Later+c.Earlier >= 2*nearlyAll && c.Later-c.Earlier < margin:
			return sketch.SameText
		}
		return sketch.Reworded
	case sketch.Suspect:
		switch {
		case f.New.Share < .05 && f.New.Facts == 0 || f.Conflicts > 0 && f.New.Share < .1 && f.New.Facts <= f.Conflicts:
			return sketch.InDoubt
		case c.Earlier >= most && c.Later < c.Earlier:
			return sketch.Extends
		}
		return sketch.Overlap
	}
	return j.Reason
}
