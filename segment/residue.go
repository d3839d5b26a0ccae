package segment

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// residue recognises what pages wrap around an article. The language of its
// patterns is described in data/tables/residue.txt.
type residue struct {
	// byFirst are the patterns by the first rune of their first literal.
	byFirst map[rune][]pattern
	first   [1 << 16 / 64]uint64 // those runes, as a set
}

type pattern struct {
	// head and tail are within how many bytes of the text's beginning or end
	// the pattern must begin, and in its first or second half; 0 for anywhere.
	// Other residue does not count. A Han character is three bytes.
	head, tail int
	begin      bool // a clause begins here, or up to lead characters before
	lead       int
	parts      []part
}

// A part is one element of a pattern.
type part struct {
	kind    partKind
	literal []byte
	// least and most are the characters of a gap.
	least, most int
	must        bool // a break that must be there
}

type partKind uint8

const (
	literalPart partKind = iota
	gapPart
	endPart   // $
	breakPart // ， or ：
	restPart  // ...
)

func (r *residue) add(file string, normal func(string) string) error {
	if r.byFirst == nil {
		r.byFirst = map[rune][]pattern{}
	}
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
		c, _ := utf8.DecodeRune(p.parts[0].literal)
		r.byFirst[c] = append(r.byFirst[c], p)
		if c < 1<<16 {
			r.first[c>>6] |= 1 << (c & 63)
		}
	}
	return nil
}

func parsePattern(s string, normal func(string) string) (p pattern, err error) {
	where, s, _ := strings.Cut(s, " ")
	if where != "any" {
		n := 0
		if len(where) > 4 {
			n, err = strconv.Atoi(where[4:])
		}
		switch {
		case n < 1 || n > 999 || err != nil:
			return p, fmt.Errorf("want any, head1 to head999 or tail1 to tail999 first")
		case where[:4] == "head":
			p.head = 3 * n
		case where[:4] == "tail":
			p.tail = 3 * n
		}
	}
	s = strings.TrimSpace(s)
	if s, p.begin = strings.CutPrefix(s, "^"); p.begin && strings.HasPrefix(s, "{") {
		if _, p.lead, s, err = parseGap(s); err != nil {
			return p, err
		}
	}
	for s != "" {
		var x part
		switch {
		case strings.HasPrefix(s, "..."):
			x.kind, s = restPart, s[3:]
		case s[0] == '$':
			x.kind, s = endPart, s[1:]
		case s[0] == '{':
			x.kind = gapPart
			if x.least, x.most, s, err = parseGap(s); err != nil {
				return p, err
			}
		default:
			n := strings.IndexAny(s, "{$.：")
			switch {
			case n < 0:
				n = len(s)
			case n == 0 && strings.HasPrefix(s, "："):
				p.parts = append(p.parts, part{kind: breakPart, must: true})
				s = s[len("："):]
				continue
			case n == 0:
				return p, fmt.Errorf("a single dot means nothing here")
			}
			p.parts = appendLiterals(p.parts, normal("x"+s[:n]+"x"))
			s = s[n:]
			continue
		}
		p.parts = append(p.parts, x)
	}
	if len(p.parts) == 0 || p.parts[0].kind != literalPart {
		return p, fmt.Errorf("want a literal to begin with, or ^{n} and a literal")
	}
	if p.head+p.tail > 0 {
		return p, nil
	}
	if n := utf8.RuneCount(p.parts[0].literal); n < 2 {
		return p, fmt.Errorf("want a literal of two characters or more where a pattern may stand anywhere")
	}
	return p, nil
}

// appendLiterals takes the normal form of a stretch of pattern apart. The x
// before and after it shows whether breaks are at its ends.
func appendLiterals(parts []part, form string) []part {
	for i, c := range strings.Split(form[1:len(form)-1], "\n") {
		if i > 0 {
			parts = append(parts, part{kind: breakPart})
		}
		if c != "" {
			parts = append(parts, part{kind: literalPart, literal: []byte(c)})
		}
	}
	return parts
}

func parseGap(s string) (least, most int, rest string, err error) {
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return 0, 0, s, fmt.Errorf("{ without }")
	}
	low, high, ranged := strings.Cut(s[1:end], "-")
	if !ranged {
		low, high = "0", low
	}
	least, err1 := strconv.Atoi(low)
	most, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil || least < 0 || most < max(1, least) || most > 99 {
		return 0, 0, s, fmt.Errorf("want {1} to {99}, or {1-2} and the like")
	}
	return least, most, s[end+1:], nil
}

// A span is a stretch of text, in bytes.
type span struct{ start, end int }

// find appends the spans of body that are residue, in order and apart from
// each other; none, if less than a third of body would remain. breaks are
// body's ends of sentences. What would begin or end in the middle of a Latin
// word or a number is no residue.
func (r *residue) find(spans []span, body []byte, breaks []clauseBreak, f *folds) []span {
	var near []nearMatch
	for i := 0; i < len(body); {
		c, size := rune(body[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(body[i:])
		}
		if uint32(c) < 1<<16 && r.first[c>>6]>>(c&63)&1 != 0 {
			for k := range r.byFirst[c] {
				p := &r.byFirst[c][k]
				s, ok := p.match(body, i, breaks)
				switch {
				case !ok || f.splits(body, s.start) || f.splits(body, s.end):
				case p.head+p.tail > 0:
					near = append(near, nearMatch{s, p})
				default:
					spans = merge(spans, s)
				}
			}
		}
		i += size
	}
	if len(near) > 0 {
		spans = addNear(spans, near, len(body))
	}
	if _, outside := outside(spans, 0, len(body)); 3*outside < len(body) {
		return spans[:0]
	}
	return spans
}

// A nearMatch counts if it is near enough to one of the ends of the text.
type nearMatch struct {
	span
	*pattern
}

// addNear adds the matches that are, other residue aside, as near to the
// beginning or the end as their patterns ask; so what stands further out does
// not push them away.
func addNear(spans []span, near []nearMatch, length int) []span {
	for _, m := range near {
		if before, after := outside(spans, m.start, length); m.head > 0 && before <= min(m.head, after) {
			spans = insert(spans, m.span)
		}
	}
	for i := len(near) - 1; i >= 0; i-- {
		m := near[i]
		if before, after := outside(spans, m.start, length); m.tail > 0 && after <= min(m.tail, before) {
			spans = insert(spans, m.span)
		}
	}
	return spans
}

// outside returns how many bytes before and after at lie outside the spans.
func outside(spans []span, at, length int) (before, after int) {
	before, after = at, length-at
	for _, s := range spans {
		before -= max(0, min(s.end, at)-s.start)
		after -= max(0, s.end-max(s.start, at))
	}
	return before, after
}

// insert adds s at its place.
func insert(spans []span, s span) []span {
	i := len(spans)
	for i > 0 && spans[i-1].start > s.start {
		i--
	}
	rest := slices.Clone(spans[i:])
	spans = merge(spans[:i], s)
	for _, s := range rest {
		spans = merge(spans, s)
	}
	return spans
}

// merge adds s, whose end is not before those of spans, or which overlaps the
// last.
func merge(spans []span, s span) []span {
	for len(spans) > 0 && spans[len(spans)-1].end >= s.start {
		last := spans[len(spans)-1]
		s = span{min(s.start, last.start), max(s.end, last.end)}
		spans = spans[:len(spans)-1]
	}
	return append(spans, s)
}

// match tries the pattern with its first literal at i.
func (p *pattern) match(body []byte, i int, breaks []clauseBreak) (span, bool) {
	end, ok := matchParts(p.parts, body, i, breaks)
	if !ok {
		return span{}, false
	}
	start := i
	if p.begin {
		for n := p.lead; start > 0 && body[start-1] != '\n'; n-- {
			if n == 0 {
				return span{}, false
			}
			_, size := utf8.DecodeLastRune(body[:start])
			start -= size
		}
	}
	return span{start, end}, true
}

func matchParts(parts []part, body []byte, i int, breaks []clauseBreak) (int, bool) {
	for k, x := range parts {
		switch x.kind {
		case literalPart:
			n := matchLiteral(body[i:], x.literal)
			if n < 0 {
				return 0, false
			}
			i += n
		case endPart:
			if i < len(body) && body[i] != '\n' {
				return 0, false
			}
		case breakPart:
			if i == len(body) {
				continue
			}
			if body[i] != '\n' {
				if x.must {
					return 0, false
				}
				continue
			}
			i++
		case restPart:
			i = sentenceEnd(body, i, breaks)
		case gapPart:
			for n := 0; ; n++ {
				if n >= x.least {
					if end, ok := matchParts(parts[k+1:], body, i, breaks); ok {
						return end, true
					}
				}
				if n == x.most || i == len(body) || body[i] == '\n' {
					return 0, false
				}
				_, size := utf8.DecodeRune(body[i:])
				i += size
			}
		}
	}
	return i, true
}

// matchLiteral returns how many bytes of body literal takes, separators aside;
// -1 if body does not begin with it.
func matchLiteral(body, literal []byte) int {
	if bytes.HasPrefix(body, literal) {
		return len(literal)
	}
	i := 0
	for _, b := range literal {
		for i > 0 && i < len(body) && body[i] == '\n' {
			i++
		}
		if i == len(body) || body[i] != b {
			return -1
		}
		i++
	}
	return i
}

func sentenceEnd(body []byte, i int, breaks []clauseBreak) int {
	lo, hi := 0, len(breaks)
	for lo < hi {
		if mid := (lo + hi) / 2; breaks[mid].at < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(breaks) {
		return breaks[lo].at
	}
	return len(body)
}

// remove takes the spans out of body, in place, and leaves a clause break
// where each was.
func remove(body []byte, spans []span, breaks []clauseBreak) ([]byte, []clauseBreak) {
	kept, from := body[:0], 0
	keptBreaks, b := breaks[:0], 0
	keep := func(end int) {
		for from < end && separator(body[from]) {
			from++
		}
		for end > from && separator(body[end-1]) {
			end--
		}
		if from >= end {
			return
		}
		between := clause
		for ; b < len(breaks) && breaks[b].at < from; b++ {
			between = max(between, breaks[b].class)
		}
		if len(kept) > 0 {
			if between > clause {
				keptBreaks = append(keptBreaks, clauseBreak{len(kept), between})
			}
			kept = append(kept, '\n')
		}
		for ; b < len(breaks) && breaks[b].at < end; b++ {
			keptBreaks = append(keptBreaks, clauseBreak{breaks[b].at - from + len(kept), breaks[b].class})
		}
		kept = append(kept, body[from:end]...)
	}
	for _, s := range spans {
		keep(s.start)
		from = s.end
	}
	keep(len(body))
	return kept, keptBreaks
}

func separator(b byte) bool { return b == '\n' || b == ' ' }
