package segment

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A class is the effect of a folded rune on the normal form.
type class uint8

const (
	drop      class = iota // invisible: as if it were not there
	space                  // separates words of scripts that use spaces
	clause                 // ends a clause
	sentence               // ends a sentence
	paragraph              // ends a line
	stop                   // ends a sentence that states something
	cross                  // closes a box of a page, such as an advertisement; between digits, it ends a clause
	joiner                 // stays between two digits (3.5, 12:30), else ends a clause
	comma                  // groups thousands between digits, else ends a clause
	percent                // stays behind a digit, else ends a clause
	digit                  // 0-9
	word                   // letter of a script that separates words by spaces: Latin, Cyrillic, Hangul
	ideograph              // letter of a script without spaces: Han, kana
	unsettled              // an ideograph that depends on the word around it (see variants)
)

// A fold is the result of folding one rune: another rune, or a string (more) whose runes are folded in turn.
type fold struct {
	r     rune
	class class
	more  string
}

// folds holds the fold of every rune of the basic plane. Folds of other runes, rare Han and emoji, are computed.
type folds struct {
	plane    [1 << 16]uint32 // rune | class<<24; several<<28 | index into more
	more     []string
	variants *variants
	// lookalikes are characters that are written for an ideograph and that NFKC does not change.
	lookalikes map[rune]rune
}

const several = 0xf << 24

// read reads data/tables/lookalikes.txt, whose format is described there, and fills the plane.
func (f *folds) read(file []byte) error {
	f.lookalikes = map[rune]rune{}
	err := eachPair(file, func(from, to []rune) error {
		if len(from) != 1 || len(to) != 1 {
			return fmt.Errorf("want one character on both sides of a tab")
		}
		f.lookalikes[from[0]] = to[0]
		return nil
	})
	for r := range rune(1 << 16) {
		x := f.compute(r)
		if f.plane[r] = uint32(x.class)<<24 | uint32(x.r); x.more != "" {
			f.plane[r] = several | uint32(len(f.more))
			f.more = append(f.more, x.more)
		}
	}
	return err
}

func (f *folds) of(r rune) fold {
	if uint32(r) >= 1<<16 {
		return f.compute(r)
	}
	x := f.plane[r]
	if x&several == several {
		return fold{more: f.more[x&0xffffff]}
	}
	return fold{r: rune(x & 0xffffff), class: class(x >> 24)}
}

// kind is the class of what a rune becomes; digit where it becomes several runes.
func (f *folds) kind(r rune) class {
	if uint32(r) < 1<<16 && f.plane[r]&several != several { // most runes
		return class(f.plane[r] >> 24)
	}
	if x := f.of(r); x.more == "" {
		return x.class
	}
	return digit
}

// spaced reports whether a space belongs between two normal forms: both scripts that meet there use spaces.
func (f *folds) spaced(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	last, _ := utf8.DecodeLastRune(a)
	first, _ := utf8.DecodeRune(b)
	return f.of(last).class < ideograph && f.of(first).class < ideograph
}

// splits reports whether i lies inside a Latin word or a number of a normal form.
func (f *folds) splits(form []byte, i int) bool {
	if i == 0 || i == len(form) || separator(form[i-1]) || separator(form[i]) {
		return false
	}
	return f.spaced(form[:i], form[i:])
}

// compute folds one rune by the Unicode tables: compatibility forms (NFKC), case, diacritics of Latin, Greek
// and Cyrillic letters, digits of any script, traditional characters.
func (f *folds) compute(r rune) fold {
	if r == utf8.RuneError {
		return fold{class: drop}
	}
	s := string(r)
	if n, ok := enclosed(r); ok {
		s = n
	} else if unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) {
		s = strings.Map(dropMark, norm.NFKD.String(s))
	} else if norm.NFKC.PropertiesString(s).Decomposition() != nil {
		s = norm.NFKC.String(s)
	}
	if utf8.RuneCountInString(s) > 1 {
		return fold{more: s}
	}
	if s == "" {
		return fold{class: drop}
	}
	r, _ = utf8.DecodeRuneInString(s)
	if to, ok := f.lookalikes[r]; ok {
		r = to
	}
	r = unicode.ToLower(r)
	r = f.variants.fold(r)
	if unicode.Is(unicode.Nd, r) && r > '9' {
		r = '0' + decimal(r)
	}
	if f.variants.unsettledRune(r) {
		return fold{r: r, class: unsettled}
	}
	return fold{r: r, class: classify(r)}
}

func dropMark(r rune) rune {
	if unicode.Is(unicode.Mn, r) {
		return -1
	}
	return r
}

// alike are punctuation and signs that NFKC does not change, or turns into letters.
var alike = map[rune]string{
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '〜': "-", '～': "-", '~': "-", '−': "-",
	'∶': ":", '∕': "/",
	'™': " ", '℠': " ", 'ℹ': " ",
}

// circled are runs of numbers and letters in circles and squares that NFKC does not change, and the value of
// the first rune of each run.
var circled = []struct {
	first, last rune
	value       rune
}{
	{'⓿', '⓿', 0}, {'❶', '❿', 1}, {'➀', '➉', 1}, {'➊', '➓', 1}, {'⓫', '⓴', 11}, {'⓵', '⓾', 1},
	{'🅐', '🅩', 'a'}, {'🅰', '🆉', 'a'},
}

// enclosed is the text of a rune of alike or circled.
func enclosed(r rune) (string, bool) {
	if s, ok := alike[r]; ok {
		return s, true
	}
	for _, c := range circled {
		switch n := r - c.first + c.value; {
		case r < c.first || r > c.last:
		case c.value == 'a':
			return string(n), true
		default:
			return strconv.Itoa(int(n)), true
		}
	}
	return "", false
}

// decimal is the value of a digit of any script: Unicode lists them in runs of ten from 0.
func decimal(r rune) rune {
	zero := r
	for unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	return (r - zero) % 10
}

func classify(r rune) class {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return paragraph
	case '\t':
		return space
	case '。', '｡':
		return stop
	case '!', '?', '…':
		return sentence
	case '.', ':', '/', '-', '\u2044':
		return joiner
	case ',':
		return comma
	case '×':
		return cross
	case '%', '‰':
		return percent
	case '*', '_', '^', '`', '·', '•', '・', '‧', '∙', '⋅':
		return space // in names of people, and between characters that are set apart
	case '丨': // written only as a line between words
		return clause
	case '°':
		return drop
	case 'ー':
		return ideograph
	}
	switch {
	case r >= '0' && r <= '9':
		return digit
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return drop
	case unicode.IsLetter(r), unicode.IsNumber(r):
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo) {
			return ideograph
		}
		return word
	case unicode.IsSpace(r):
		return space
	case unicode.Is(unicode.M, r):
		// A mark that writes a vowel of its script belongs to the word; a mark for any script is decoration.
		if unicode.Is(unicode.Inherited, r) {
			return drop
		}
		return word
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return drop
	case unicode.In(r, unicode.P, unicode.Sm, unicode.Sc):
		return clause
	}
	// Emoji, ornaments, unassigned: they stand between the characters of a word as often as between words.
	return space
}
