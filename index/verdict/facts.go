package verdict

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	Text       string   `json:"text,omitempty"`     // the beginning of the longest one
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
	for _, p := range lacking(&x.Earlier) {
		f.Lacks += letters(x.Earlier.Text[p.Start:p.End])
	}
	longest := 0
	for _, p := range lacking(&x.Later) {
		text := x.Later.Text[p.Start:p.End]
		n := letters(text)
		f.New.Characters += n
		if n > longest {
			longest, f.New.Text = n, beginning(text)
		}
	}
	f.New.Share = Round(float32(f.New.Characters)/float32(max(1, letters(x.Later.Text))), 100)
	f.pair(x, j.Kind == sketch.Series)
	f.Reason = reason(j, f)
	return f
}

// passage and run are the lengths in tokens of the shortest passage that counts as lacking, and of the shortest run that ends one.
const passage, run = 8, 6

// lacking returns the passages of a side that the other text lacks, from the first clause in each that says something new: less
// than a third of one is in common, between two runs that are, and the other text does not say it in another order.
func lacking(s *sketch.Aligned) (out []sketch.Bytes) {
	for i := 0; i < len(s.Common); {
		n, common := 0, 0
		for ; i+n < len(s.Common) && s.Common[i+n] < run; n++ {
			common += int(min(s.Common[i+n], 1))
		}
		if n >= passage && 3*common < n {
			if p := uncredited(s.Text, novel(s, i, i+n)); strings.ContainsFunc(s.Text[p.Start:p.End], prose) {
				out = append(out, p)
			}
		}
		i += n + 1
	}
	return out
}

// novel is a passage of tokens, from the first clause on that says something new. It is empty if the other text has two thirds
// of the passage's pairs of tokens.
func novel(s *sketch.Aligned, from, to int) (p sketch.Bytes) {
	known := func(from, to int) bool {
		n := 0
		for _, has := range s.Known[from:to] {
			if has {
				n++
			}
		}
		return 3*n >= 2*(to-from)
	}
	if known(from, to) {
		return p
	}
	begins := func(i int) bool { return i == 0 || i == len(s.Tokens) || s.Text[s.Tokens[i].Start-1] == '\n' }
	last, end := to-1, to
	for ; last > from && !begins(last); last-- {
	}
	for ; !begins(end) && end-last <= 2*(to-last); end++ {
	}
	if last > from && 2*(to-last) < end-last {
		to = last // of the last clause most is in common
	}
	for clause := from; ; {
		next := clause + 1
		for next < to && !begins(next) {
			next++
		}
		cut := !begins(clause) && 2*(next-clause) < to-clause // its beginning is in common
		if next == to || !cut && !known(clause, next) {
			return sketch.Bytes{Start: s.Tokens[clause].Start, End: s.Tokens[to-1].End}
		}
		clause = next
	}
}

// Bounds in runes of a clause within an article that counts as a credit, and of a name among credits.
const (
	creditMost = 12
	nameMost   = 8
)

// uncredited is a passage without the credits at its ends.
func uncredited(text string, p sketch.Bytes) sketch.Bytes {
	clauses := strings.Split(text[p.Start:p.End], "\n")
	p.Start = min(p.End, p.Start+credits(slices.All(clauses)))
	return sketch.Bytes{Start: p.Start, End: max(p.Start, p.End-credits(slices.Backward(clauses)))}
}

// credits is the length of the credits that clauses begin with, and of the names among these.
func credits(clauses iter.Seq2[int, string]) (n int) {
	at := 0
	for _, c := range clauses {
		at += len(c) + 1
		switch runes := utf8.RuneCountInString(c); {
		case runes <= creditMost && sketch.Credit(c):
			n = at
		case runes > nameMost:
			return n
		}
	}
	return n
}

// pair counts the facts and names a few; of a series, what the two texts are about as well.
func (f *Facts) pair(x *sketch.Alignment, series bool) {
	var said, added []*sketch.Fact // distinct, of the item; those that the earlier text lacks
	var conflicts []conflict
	pairs := x.Counterparts(series)
	if series {
		if later, earlier, found := subjects(x); found {
			conflicts = append(conflicts, conflict{later: later, earlier: earlier, kind: sketch.FactName})
		}
	}
	tickers := ticker.FindAllStringIndex(x.Later.Text, -1)
	stale := func(o *sketch.Fact) bool {
		return x.Later.Datelined(o) || slices.ContainsFunc(tickers, func(s []int) bool { return s[0] < o.End && o.Start < s[1] })
	}
	hourly := func(o *sketch.Fact) bool { // the earlier text says a time to the hour
		return slices.ContainsFunc(pairs, func(p sketch.FactPair) bool { return p.Earlier != nil && o.Equal(p.Earlier) && !o.Finer(p.Earlier) })
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
		case p.Later == nil:
		case p.Conflict:
			a, b := x.Later.Text[p.Later.Start:p.Later.End], x.Earlier.Text[p.Earlier.Start:p.Earlier.End]
			c := conflict{later: a, earlier: b, kind: p.Later.Kind, pair: p, rank: 2}
			if strings.Contains(x.Later.Title, a) && strings.Contains(x.Earlier.Title, b) {
				c.rank = 1
			}
			if !slices.ContainsFunc(conflicts, c.like) {
				conflicts = append(conflicts, c)
			}
			if p.Later.Kind != sketch.FactName && fresh(p.Later) {
				f.Numbers++
			}
		case !fresh(p.Later):
		case p.Earlier != nil && (!p.Later.Finer(p.Earlier) || hourly(p.Later)):
			f.Numbers++
			f.Shared++
			f.Agree = appendSome(f.Agree, x.Later.Text[p.Later.Start:p.Later.End])
		case !stale(p.Later):
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

// ticker is what a page writes behind the name of a share, of today: (37.370, -0.25, -0.66%).
var ticker = regexp.MustCompile(`\n\d+\.\d+\n-?\d+\.\d+\n-?\d+\.\d+%`)

// conflict is what the two texts have at one place.
type conflict struct {
	later, earlier string
	kind           sketch.FactKind
	pair           *sketch.FactPair // nil: the subject
	rank           int              // 0: the subject; 1: both headlines say it
	nth            int              // of its kind
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

// celsius is ℃ in the normal form.
var celsius = regexp.MustCompile(`(\d)c([^a-z\d]|$)`)

// display writes what a normal form says for people, with a mark for each separator.
func display(text, mark string) string {
	return celsius.ReplaceAllString(strings.ReplaceAll(text, "\n", mark), "$1℃$2")
}

// Shares of a text from which it counts as covered by the other one.
const (
	nearlyAll = .9
	most      = .75
	margin    = .055 // between two shares that are about equal
)

// contained reports whether one text is a part of the other: by their shares, and by what the other has of its own. Where
// it has no passage of its own, it is only worded at greater length.
func contained(share, other float32, own int) bool {
	return share >= most && other < most || share >= nearlyAll && other < min(nearlyAll, share-margin) && own > 0
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

// letters is the number of characters of a normal form, separators apart.
func letters(text string) int {
	return utf8.RuneCountInString(text) - strings.Count(text, "\n") - strings.Count(text, " ")
}

// Bounds of a quoted beginning, in characters: clauses are quoted up to the first, one is cut at the second; clauses up to the
// third say little.
const (
	quoted     = 16
	quotedMax  = 40
	leadInMost = 5
)

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// prose reports whether a character stands in sentences, but not in the address of a page.
func prose(r rune) bool { return r == ' ' || isHan(r) }

// attributions end a clause that says who says what follows.
var attributions = strings.Fields("报道 消息 获悉 公布 发布 宣布 透露 表示 介绍 指出 强调 认为 显示 注意到 发文称 称 说")

// leadsIn reports whether a clause only leads to what is said: the number of a list item, the address of a page, 据了解, 央视报道.
func leadsIn(clause string) bool {
	return !strings.ContainsFunc(clause, isHan) || utf8.RuneCountInString(clause) <= leadInMost ||
		slices.ContainsFunc(attributions, func(o string) bool { return strings.HasSuffix(clause, o) })
}

// beginning quotes a passage from its beginning to the end of a clause, or of a word.
func beginning(text string) string {
	text = strings.TrimLeft(text, "的了是\n")
	for clause, rest, ok := strings.Cut(text, "\n"); ok && leadsIn(clause) && utf8.RuneCountInString(rest) >= quoted; clause, rest, ok = strings.Cut(text, "\n") {
		text = rest
	}
	n, word, particle := 0, 0, 0 // where the last word begins, and what follows the last particle
	for i, r := range text {
		latin := r != '\n' && r != ' ' && r < utf8.RuneSelf
		if !latin || i == 0 || text[i-1] == '\n' || text[i-1] >= utf8.RuneSelf {
			word = i
		}
		switch {
		case r == '\n' && n >= quoted && (text[i-1] >= utf8.RuneSelf || text[i+1] >= utf8.RuneSelf) && !strings.HasSuffix(text[:i], "是") && !strings.HasSuffix(text[:i], "为"):
			return display(text[:i], "，") + "…"
		case n == quotedMax:
			return display(text[:cmp.Or(particle, word)], "，") + "…"
		case n >= quoted && strings.ContainsRune(sketch.Particles, r):
			particle = i
		}
		n++
	}
	return display(text, "，")
}
