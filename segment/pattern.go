package segment

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A pattern is one line of a residue list; its language is described in data/tables/residue.txt.
type pattern struct {
	// The pattern must begin within head bytes of the beginning of the text, or tail bytes of its end, and in
	// that half of the text; 0 for anywhere. Other residue does not count. A Han character is three bytes.
	head, tail int
	last       bool // it must begin behind the last full stop, near the end
	before     bool // it takes what stands before it
	begin      bool // a clause begins here, or at most lead characters earlier
	lead       int
	parts      []part
}

type part struct {
	kind    partKind
	literal []byte
	// least and most are the length of a gap in characters.
	least, most int
	must        bool // a break that is required
}

type partKind uint8

const (
	literalPart partKind = iota
	gapPart
	endPart   // $
	breakPart // ， or ：
	restPart  // ...
	allPart   // ....
	numberPart
	boxPart // ...×
)

func parsePattern(s string, normal func(string) string) (p pattern, err error) {
	where, s, _ := strings.Cut(s, " ")
	if err = p.parseWhere(where); err != nil {
		return p, err
	}
	s = strings.TrimSpace(s)
	s, p.before = strings.CutPrefix(s, "....")
	if s, p.begin = strings.CutPrefix(s, "^"); p.begin && strings.HasPrefix(s, "{") {
		if _, p.lead, s, err = parseGap(s); err != nil {
			return p, err
		}
	}
	for s != "" {
		switch {
		case strings.HasPrefix(s, "...×"):
			p.parts, s = append(p.parts, part{kind: boxPart}), s[len("...×"):]
		case strings.HasPrefix(s, "...."):
			p.parts, s = append(p.parts, part{kind: allPart}), s[4:]
		case s[0] == '#':
			p.parts, s = append(p.parts, part{kind: numberPart}), s[1:]
		case strings.HasPrefix(s, "..."):
			p.parts, s = append(p.parts, part{kind: restPart}), s[3:]
		case strings.HasPrefix(s, "："):
			p.parts, s = append(p.parts, part{kind: breakPart, must: true}), s[len("："):]
		case s[0] == '$':
			p.parts, s = append(p.parts, part{kind: endPart}), s[1:]
		case s[0] == '{':
			x := part{kind: gapPart}
			if x.least, x.most, s, err = parseGap(s); err != nil {
				return p, err
			}
			p.parts = append(p.parts, x)
		case s[0] == '.':
			return p, fmt.Errorf("a single dot means nothing here")
		default:
			n := strings.IndexAny(s, "{$.：#")
			if n < 0 {
				n = len(s)
			}
			p.parts, s = appendLiterals(p.parts, normal("x"+s[:n]+"x")), s[n:]
		}
	}
	if len(p.parts) == 0 || p.parts[0].kind != literalPart && (p.parts[0].kind != numberPart || !p.begin) {
		return p, fmt.Errorf("want a literal to begin with, or ^{n} and a literal, or ^#")
	}
	if n := utf8.RuneCount(p.parts[0].literal); n < 2 && p.head+p.tail == 0 && p.parts[0].kind == literalPart {
		return p, fmt.Errorf("want a literal of two characters or more where a pattern may stand anywhere")
	}
	return p, nil
}

// parseWhere reads where a pattern may begin: any, head7, tail40, last40.
func (p *pattern) parseWhere(where string) error {
	if where == "any" {
		return nil
	}
	if len(where) > 4 {
		if n, err := strconv.Atoi(where[4:]); err == nil && n >= 1 && n <= 999 {
			switch where[:4] {
			case "head":
				p.head = 3 * n
				return nil
			case "tail", "last":
				p.tail, p.last = 3*n, where[:4] == "last"
				return nil
			}
		}
	}
	return fmt.Errorf("want any, head1 to head999, tail1 to tail999 or last1 to last999 first")
}

// appendLiterals splits the normal form of a stretch of pattern into literals and breaks. The x before and
// behind it shows whether there are breaks at its ends.
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

// match tries the pattern with its first literal at i.
func (p *pattern) match(body []byte, i int, breaks []clauseBreak) (span, bool) {
	if p.begin && p.lead == 0 && i > 0 && body[i-1] != '\n' { // most
		return span{}, false
	}
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

// numberMost is the length of the longest number of a pattern, in bytes: one is sought at each digit of a text.
const numberMost = 24

// matchParts matches the parts one after the other from i on, and returns where they end.
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
		case allPart:
			i = len(body)
		case numberPart:
			rest := body[i:min(i+numberMost, len(body))]
			n := len(rest) - len(bytes.TrimLeft(rest, "-0123456789.:%"))
			if n == 0 || n == numberMost {
				return 0, false
			}
			i += n
		case restPart:
			i = sentenceEnd(body, i, breaks)
		case boxPart:
			if i = boxEnd(i, breaks); i < 0 {
				return 0, false
			}
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

// matchLiteral returns how many bytes of body the literal takes, clause breaks included; -1 if body does not
// begin with it.
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

// boxMost is the length in bytes of the longest text in a box, of 80 Han characters.
const boxMost = 240

// boxEnd returns where the cross stands that closes the box that i lies in, -1 for none.
func boxEnd(i int, breaks []clauseBreak) int {
	k := sort.Search(len(breaks), func(k int) bool { return breaks[k].at >= i })
	for ; k < len(breaks) && breaks[k].at <= i+boxMost; k++ {
		if breaks[k].class == cross {
			return breaks[k].at
		}
	}
	return -1
}

func sentenceEnd(body []byte, i int, breaks []clauseBreak) int {
	k := sort.Search(len(breaks), func(k int) bool { return breaks[k].at >= i })
	if k < len(breaks) {
		return breaks[k].at
	}
	return len(body)
}
