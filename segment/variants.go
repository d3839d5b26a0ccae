package segment

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// variants turn traditional characters into simplified ones. Most do so one by
// one, as they are folded; the few that depend on the word they are in (乾 is
// 干 in 饼乾 and stays in 乾隆) are settled when the text is complete.
type variants struct {
	single map[rune]rune
	// phrases holds, by the character in question, the words in which it
	// becomes something else than single says.
	phrases map[rune][]phrase
}

// A phrase is a word around a character, in the form the text has while the
// characters in question are unsettled.
type phrase struct {
	before, after []byte
	to            rune
}

// readVariants reads data/tables/variants.txt; the format is described there.
func readVariants(file []byte) (*variants, error) {
	v := &variants{single: map[rune]rune{}, phrases: map[rune][]phrase{}}
	type exception struct{ from, to []rune }
	var exceptions []exception
	n := 0
	for line := range strings.Lines(string(file)) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		a, b, _ := strings.Cut(line, "\t")
		from, to := []rune(a), []rune(b)
		if len(from) == 0 || len(from) != len(to) {
			return nil, fmt.Errorf("line %d: %q: want as many characters on both sides of a tab", n, line)
		}
		if len(from) == 1 {
			v.single[from[0]] = to[0]
			continue
		}
		exceptions = append(exceptions, exception{from, to})
	}
	for _, x := range exceptions {
		for i, r := range x.from {
			if v.alone(r) != x.to[i] {
				if utf8.RuneLen(r) != 3 || utf8.RuneLen(x.to[i]) != 3 || utf8.RuneLen(v.alone(r)) != 3 {
					return nil, fmt.Errorf("phrase %q: %c and what it becomes must be three bytes", string(x.from), r)
				}
				v.phrases[r] = nil
			}
		}
	}
	for _, x := range exceptions {
		for i, r := range x.from {
			if _, ok := v.phrases[r]; ok {
				v.phrases[r] = append(v.phrases[r], phrase{v.unsettled(x.from[:i]), v.unsettled(x.from[i+1:]), x.to[i]})
			}
		}
	}
	return v, nil
}

// alone is what r becomes outside any phrase.
func (v *variants) alone(r rune) rune {
	if to, ok := v.single[r]; ok {
		return to
	}
	return r
}

// fold is what r becomes when it is folded: itself while it is in question.
func (v *variants) fold(r rune) rune {
	if v.inQuestion(r) {
		return r
	}
	return v.alone(r)
}

func (v *variants) inQuestion(r rune) bool {
	_, ok := v.phrases[r]
	return ok
}

func (v *variants) unsettled(s []rune) []byte {
	var b []byte
	for _, r := range s {
		b = utf8.AppendRune(b, v.fold(r))
	}
	return b
}

// settle replaces the characters in question, which begin at the offsets at in
// text, by what they become there. The longest phrase counts.
func (v *variants) settle(text []byte, at []int32, became []rune) []rune {
	became = became[:0]
	for _, p := range at {
		r, _ := utf8.DecodeRune(text[p:])
		to, longest := v.alone(r), 0
		for _, ph := range v.phrases[r] {
			if n := len(ph.before) + len(ph.after); n > longest && follows(text[:p], ph.before) && precedes(text[p+3:], ph.after) {
				to, longest = ph.to, n
			}
		}
		became = append(became, to)
	}
	for i, p := range at {
		utf8.EncodeRune(text[p:], became[i])
	}
	return became
}

// precedes reports whether text begins with s, separators aside.
func precedes(text, s []byte) bool {
	for len(s) > 0 {
		if bytes.HasPrefix(text, s) {
			return true
		}
		if len(text) == 0 {
			return false
		}
		if text[0] == '\n' || text[0] == ' ' {
			text = text[1:]
			continue
		}
		if text[0] != s[0] {
			return false
		}
		text, s = text[1:], s[1:]
	}
	return true
}

// follows reports whether text ends in s, separators aside.
func follows(text, s []byte) bool {
	for len(s) > 0 {
		if len(text) == 0 {
			return false
		}
		last := text[len(text)-1]
		if last == '\n' || last == ' ' {
			text = text[:len(text)-1]
			continue
		}
		if last != s[len(s)-1] {
			return false
		}
		text, s = text[:len(text)-1], s[:len(s)-1]
	}
	return true
}
