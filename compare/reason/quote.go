package reason

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/compare"
	"jianguo/compare/quantity"
)

const (
	quoteMost  = 50 // characters of a quotation
	quoteLeast = 20 // of one that says something
	ends       = "。！？；!?"
	pauses     = "，：,:"
)

// A clause of the item, with the mark that ends it.
type clause struct {
	start, end  int  // of Text
	own         bool // the earlier text has it not
	facts       int  // quantities and names that the earlier text has nowhere
	past        bool // it has a year before the last one that the item names
	first, last bool // of its sentence
}

// quotes is what says most of what is new: a sentence, or where it is long some of its clauses in a row. What ends
// without a full stop is no sentence, but a caption, a credit or the headline of another article.
func (p *pair) quotes() []string {
	clauses, text := p.clausesOfSentences(), p.later.Text
	best, most := "", 0.0
	for i := range clauses {
		own, facts, past := 0, 0, false
		for k := i; k < len(clauses) && (k == i || !clauses[k].first && clauses[k].start == clauses[k-1].end); k++ {
			c := &clauses[k]
			facts, past = facts+c.facts, past || c.past
			if c.own {
				own += c.end - c.start
			}
			said := whole(strings.TrimRight(text[clauses[i].start:c.end], ends+pauses+" "))
			length := utf8.RuneCountInString(said)
			if length > quoteMost {
				break
			}
			if said == "" || p.spent() || 2*own < c.end-clauses[i].start || strings.HasSuffix(text[:c.end], "：") ||
				strings.Contains(p.earlier.Text, said) {
				continue
			}
			score := 2*float64(min(facts, 3)) + float64(min(length, quoteLeast))/4 -
				6*float64(c.start)/float64(len(text))
			if clauses[i].first {
				score += 2
			}
			if c.last {
				score += 2
			}
			if past {
				score -= 3
			}
			if best == "" || score > most {
				best, most = said, score
			}
		}
	}
	if best == "" {
		return nil
	}
	return []string{best}
}

// clausesOfSentences are the clauses of the item's sentences, in order, without those that are spoken, and without
// page residue and the sentence that follows it: a headline may run into the first one.
func (p *pair) clausesOfSentences() (out []clause) {
	from, begin := 0, 0 // the clause, and in out the sentence
	own, facts, past := p.marks()
	compared := p.later.compared()
	quoted, first, residue := false, true, false
	for i, r := range p.later.Text {
		if r == '“' || r == '”' {
			quoted = r == '“'
		}
		ended := strings.ContainsRune(ends, r)
		if r != '\n' && !ended && !strings.ContainsRune(pauses, r) {
			continue
		}
		c := clause{start: from, end: i + utf8.RuneLen(r), first: first, last: ended}
		if ended && strings.HasPrefix(p.later.Text[c.end:], "”") {
			c.end, quoted = c.end+len("”"), false
		}
		from, first = c.end, ended || r == '\n'
		c.own, c.facts, c.past = c.among(&own) > 0, c.among(&facts), c.among(&past) > 0
		some, all := p.later.residue(compared, c.start, c.end)
		if residue = (residue || all) && !c.last; !some && !residue {
			out = append(out, c)
		}
		if r == '\n' || quoted && ended {
			out = out[:begin]
		}
		if ended {
			begin = len(out)
		}
	}
	return out[:begin]
}

// among counts the spans that share something with a clause, and drops those before it. Both come in order.
func (c *clause) among(spans *[]compare.Span) (n int) {
	for len(*spans) > 0 && (*spans)[0].End <= c.start {
		*spans = (*spans)[1:]
	}
	for _, s := range *spans {
		if s.Start >= c.end {
			break
		}
		if s.End > c.start {
			n++
		}
	}
	return n
}

// compared says by byte of Text whether it is in Form.
func (o *Original) compared() []bool {
	out := make([]bool, len(o.Text))
	for i := range len(o.Form) {
		if o.Form[i] != '\n' {
			if start, _ := o.Origin(i); start >= 0 {
				out[start] = true
			}
		}
	}
	return out
}

// residue reports whether a stretch of Text has letters that are not compared, and no others.
func (o *Original) residue(compared []bool, start, end int) (some, all bool) {
	letters, left := 0, 0
	for i, r := range o.Text[start:end] {
		if unicode.IsLetter(r) {
			if letters++; !compared[start+i] {
				left++
			}
		}
	}
	return left > 0, left > 0 && left == letters
}

// marks are where in Text the item's own clauses stand, its new quantities and names, and years of the past, each in
// order.
func (p *pair) marks() (own, facts, past []compare.Span) {
	d := p.j.Later.Doc
	add := func(to *[]compare.Span, s compare.Span) {
		if p.spent() {
			return
		}
		clause := d.Clause(s.Start)
		at := strings.Index(p.later.Form, d.Form[clause.Start:clause.End])
		if at < 0 {
			return
		}
		start, _ := p.later.Origin(at + s.Start - clause.Start)
		_, end := p.later.Origin(at + s.End - clause.Start - 1)
		*to = append(*to, compare.Span{Start: start, End: end})
	}
	for _, s := range p.j.New.Clauses {
		add(&own, s)
	}
	for _, i := range p.j.New.Values {
		if v := d.Value(i); v.Unit != "" || v.Kind == quantity.Date {
			add(&facts, compare.Span{Start: v.Start, End: v.End})
		}
	}
	for _, s := range d.NewNames(p.j.Earlier.Doc) {
		add(&facts, s)
	}
	for _, s := range d.Past() {
		add(&past, s)
	}
	for _, spans := range [][]compare.Span{own, facts, past} {
		slices.SortFunc(spans, func(a, b compare.Span) int { return cmp.Compare(a.Start, b.Start) })
	}
	return own, facts, past
}
