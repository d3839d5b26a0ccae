package segment

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// variants turn traditional characters into simplified ones. Most do so one by one, as they are folded; the few
// that depend on the word around them (乾 is 干 in 饼乾 and stays in 乾隆) are settled when the text is complete.
type variants struct {
	single map[rune]rune // of every rune that variants change, unsettled ones too
	// phrases are, by unsettled character, the words in which it does not become what single has.
	phrases map[rune][]phrase
}

// A phrase is a word around an unsettled character, in the form the text has before characters are settled.
type phrase struct {
	before, after []byte
	to            rune
}

// eachPair reads a table of lines "from", tab, "to"; empty lines and those that begin with # do not count.
func eachPair(file []byte, add func(from, to []rune) error) error {
	n := 0
	for line := range strings.Lines(string(file)) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		from, to, _ := strings.Cut(line, "\t")
		if err := add([]rune(from), []rune(to)); err != nil {
			return fmt.Errorf("line %d: %q: %w", n, line, err)
		}
	}
	return nil
}

// read reads data/tables/variants.txt; the format is described there.
func (v *variants) read(file []byte) error {
	v.single, v.phrases = map[rune]rune{}, map[rune][]phrase{}
	type exception struct{ from, to []rune }
	var exceptions []exception
	err := eachPair(file, func(from, to []rune) error {
		if len(from) == 0 || len(from) != len(to) {
			return fmt.Errorf("want as many characters on both sides of a tab")
		}
		if len(from) == 1 {
			v.single[from[0]] = to[0]
		} else {
			exceptions = append(exceptions, exception{from, to})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, x := range exceptions {
		for i, r := range x.from {
			if v.alone(r) != x.to[i] {
				if utf8.RuneLen(r) != 3 || utf8.RuneLen(x.to[i]) != 3 || utf8.RuneLen(v.alone(r)) != 3 {
					return fmt.Errorf("phrase %q: %c and what it becomes must be three bytes", string(x.from), r)
				}
				v.single[r], v.phrases[r] = v.alone(r), nil
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
	return nil
}

// alone is the simplified form of r outside any phrase.
func (v *variants) alone(r rune) rune {
	if to, ok := v.single[r]; ok {
		return to
	}
	return r
}

// fold is the simplified form of r, or r itself if it depends on the word.
func (v *variants) fold(r rune) rune {
	if v.unsettledRune(r) {
		return r
	}
	return v.alone(r)
}

func (v *variants) unsettledRune(r rune) bool {
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

// settle replaces the unsettled characters of text, which begin at these offsets. The longest phrase counts.
func (v *variants) settle(text []byte, at []int32) {
	became := make([]rune, len(at))
	for i, p := range at {
		r, _ := utf8.DecodeRune(text[p:])
		to, longest := v.alone(r), 0
		for _, ph := range v.phrases[r] {
			n := len(ph.before) + len(ph.after)
			if n > longest && meets(text[:p], ph.before, -1) && meets(text[p+3:], ph.after, 1) {
				to, longest = ph.to, n
			}
		}
		became[i] = to
	}
	for i, p := range at {
		utf8.EncodeRune(text[p:], became[i])
	}
}

// meets reports whether s stands at the beginning (step 1) or the end (step -1) of text, separators aside.
func meets(text, s []byte, step int) bool {
	i, k := 0, 0
	if step < 0 {
		i, k = len(text)-1, len(s)-1
	}
	for k >= 0 && k < len(s) {
		switch {
		case i < 0 || i >= len(text):
			return false
		case separator(text[i]):
			i += step
		case text[i] != s[k]:
			return false
		default:
			i, k = i+step, k+step
		}
	}
	return true
}
