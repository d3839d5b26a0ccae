package segment

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// residue recognises the text that pages put around an article.
type residue struct {
	// byFirst are the patterns by the last bits of the first rune of their first literal.
	byFirst [firstMask + 1][]*pattern
}

const firstMask = 1<<12 - 1

// add reads a list of patterns.
func (r *residue) add(file string, normal func(string) string) error {
	line := 0
	for s := range strings.Lines(file) {
		line++
		if s = strings.TrimSpace(s); s == "" || s[0] == '#' {
			continue
		}
		p, err := parsePattern(s, normal)
		if err != nil {
			return fmt.Errorf("line %d: %.40q: %w", line, s, err)
		}
		for _, c := range p.firsts() {
			r.byFirst[c&firstMask] = append(r.byFirst[c&firstMask], &p)
		}
	}
	return nil
}

// firsts are the runes that a pattern begins with.
func (p *pattern) firsts() []rune {
	if p.parts[0].kind == numberPart {
		return []rune("-0123456789")
	}
	c, _ := utf8.DecodeRune(p.parts[0].literal)
	return []rune{c}
}

// find returns the spans of body that are residue, with its lines of links if these are a quarter of it at most; none
// if less than a third of body would remain. breaks are body's ends of sentences. No residue begins or ends inside a
// Latin word or a number.
func (r *residue) find(body []byte, breaks []clauseBreak, links []span, f *folds) (spans []span) {
	var near []nearMatch
	for i := 0; i < len(body); {
		c, size := utf8.DecodeRune(body[i:])
		for _, p := range r.byFirst[c&firstMask] {
			s, ok := p.match(body, i, breaks)
			switch {
			case !ok || f.splits(body, s.start) || f.splits(body, s.end):
			case p.head+p.tail > 0:
				near = append(near, nearMatch{s, p})
			default:
				spans = merge(spans, s)
			}
		}
		i += size
	}
	if len(near) > 0 {
		spans = addNear(spans, near, body, breaks)
	}
	if _, rest := outside(links, 0, len(body)); len(links) > 0 && 4*rest >= 3*len(body) { // no digest of links
		all := slices.Concat(spans, links)
		slices.SortStableFunc(all, func(a, b span) int { return a.start - b.start })
		spans = nil
		for _, s := range all {
			spans = merge(spans, s)
		}
	}
	if _, outside := outside(spans, 0, len(body)); 3*outside < len(body) {
		return nil
	}
	return spans
}

// A nearMatch is residue only if it is near enough to one end of the text.
type nearMatch struct {
	span
	*pattern
}

// nearMost bounds how many matches are tried from either end, each against all spans: an article has a dozen.
const nearMost = 200

// addNear adds the matches that are as near to the beginning or the end as their patterns ask. Residue that
// stands further out does not count.
func addNear(spans []span, near []nearMatch, body []byte, breaks []clauseBreak) []span {
	for _, m := range near[:min(len(near), nearMost)] {
		if before, after := outside(spans, m.start, len(body)); m.head > 0 && before <= min(m.head, after) {
			if m.before {
				m.start = 0
			}
			spans = insert(spans, m.span)
		}
	}
	from, credits := 0, len(body)
	for _, last := range []bool{false, true} {
		if last {
			from = cmp.Or(lastStop(spans, breaks), len(body))
		}
		for _, m := range slices.Backward(near[max(0, len(near)-nearMost):]) {
			before, after := outside(spans, m.start, len(body))
			if m.last != last || m.start < from || after > min(m.tail, before) ||
				last && (m.start >= credits || !inLines(body[m.start:credits])) {
				continue
			}
			if spans = insert(spans, m.span); last {
				credits = m.start
			}
		}
	}
	return spans
}

// lineMost is the length in bytes of the longest line of a page that is no prose: a headline of 40 Han characters.
const lineMost = 120

// inLines reports whether no clause is longer than a line of a page.
func inLines(form []byte) bool {
	long := func(clause []byte) bool { return len(clause) > lineMost }
	return !slices.ContainsFunc(bytes.Split(form, []byte("\n")), long)
}

// lastStop is where the last full stop is that is no residue; 0: nowhere.
func lastStop(spans []span, breaks []clauseBreak) int {
	for _, b := range slices.Backward(breaks) {
		for len(spans) > 0 && spans[len(spans)-1].start >= b.at {
			spans = spans[:len(spans)-1]
		}
		if b.class == stop && (len(spans) == 0 || spans[len(spans)-1].end < b.at) {
			return b.at
		}
	}
	return 0
}

// shortTitle is the length in bytes below which a headline is too short to be recognised in the body.
const shortTitle = 18

// addHeadline adds the span of the headline, if the body begins with it and goes on. Its last clauses, such as the name
// of a site, may be missing there.
func addHeadline(spans []span, title, body []byte, f *folds) []span {
	if len(title) < shortTitle {
		return spans
	}
	start, i := 0, 0
	if len(spans) > 0 && spans[0].start == 0 {
		start, i = spans[0].end, spans[0].end // 原标题 stands before a headline
	}
	clause := start // the end of the last clause that the body has, if it ends one there
	for k, b := range title {
		if b == '\n' && k >= shortTitle && i < len(body) && body[i] == '\n' {
			clause = i
		}
		if separator(b) {
			continue
		}
		for i < len(body) && separator(body[i]) {
			i++
		}
		if i == len(body) || body[i] != b {
			i = clause
			break
		}
		i++
	}
	if i == start || i == len(body) || f.splits(body, i) {
		return spans
	}
	return insert(spans, span{start, i})
}

// remove takes the spans out of body, in place, and leaves a clause break where each one was.
func remove(body []byte, spans []span) []byte {
	kept, from := body[:0], 0
	keep := func(end int) {
		if part := bytes.Trim(body[from:end], "\n "); len(part) > 0 {
			if len(kept) > 0 {
				kept = append(kept, '\n')
			}
			kept = append(kept, part...)
		}
	}
	for _, s := range spans {
		keep(s.start)
		from = s.end
	}
	keep(len(body))
	return kept
}
