package quantity

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"jianguo/data"
)

// unit is a line of data/tables/units.tsv.
type unit struct {
	name   string // of the base unit
	factor float64
	kind   string
	single bool // takes a single Chinese digit
}

// word is a line of data/tables/numerals.tsv.
type word struct {
	spelling string
	value    int
}

// role is the words that stand at one place of the grammar.
type role []word

// units are those of the table, by spelling; longest is the length of the longest spelling, in characters.
var units, longest = func() (table map[string]unit, most int) {
	table = map[string]unit{}
	for _, f := range lines(data.Units) {
		factor, err := strconv.ParseFloat(f[2], 64)
		if _, twice := table[f[0]]; twice || err != nil || factor <= 0 {
			panic(fmt.Sprintf("units: %q: want each spelling once, with a factor above 0", f))
		}
		kind, single := strings.CutSuffix(f[3], "*")
		table[f[0]] = unit{f[1], factor, kind, single}
		most = max(most, utf8.RuneCountInString(f[0]))
	}
	return table, most
}()

var roles = func() map[string]role {
	table := map[string]role{}
	for _, f := range lines(data.Numerals) {
		w := word{spelling: f[0]}
		w.value, _ = strconv.Atoi(f[2])
		table[f[1]] = append(table[f[1]], w)
	}
	return table
}()

// The roles of words of several characters.
var (
	parts, ordinals, mores, ranges = roles["part"], roles["ordinal"], roles["more"], roles["range"]
	ratios, pers, halves           = roles["ratio"], roles["per"], roles["half"]
	earlies, lates                 = roles["early"], roles["late"]
	years, months, days            = roles["year"], roles["month"], roles["day"]
	hours, minutes, seconds        = roles["hour"], roles["minute"], roles["second"]
)

// lines are the fields of a table, four of each line.
func lines(table string) (out [][]string) {
	for line := range strings.Lines(table) {
		if line[0] != '#' {
			out = append(out, append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "")[:4])
		}
	}
	return out
}

// at reads the longest word of a role at an offset. end is behind it; the offset, where there is none.
func (r role) at(text string, i int) (w word, end int) {
	for _, x := range r {
		if len(x.spelling) > len(w.spelling) && strings.HasPrefix(text[i:], x.spelling) {
			w = x
		}
	}
	return w, i + len(w.spelling)
}

// before is the length of the word of a role that ends at an offset, 0 for none.
func (r role) before(text string, i int) int {
	for _, x := range r {
		if strings.HasSuffix(text[:i], x.spelling) {
			return len(x.spelling)
		}
	}
	return 0
}

// numerals are the Chinese digits and powers of ten, by character from firstNumeral on: one more than a digit, or ten
// more than the exponent of a power; 0 for others.
var numerals = func() (table [0x8000]uint8) {
	for name, shift := range map[string]func(value int) int{"digit": func(v int) int { return v + 1 },
		"power": func(v int) int { return 9 + len(strconv.Itoa(v)) }} {
		for _, w := range roles[name] {
			r, _ := utf8.DecodeRuneInString(w.spelling)
			table[r-firstNumeral] = uint8(shift(w.value))
		}
	}
	return table
}()

const firstNumeral = 0x3000

// unit is the unit at an offset and its length in bytes, 0 for none: the longest one that ends where a word ends.
// What it is counted by belongs to it: 米每秒, 米/秒, 元每股.
func (f *finder) unit(i int) (u unit, size int) {
	u, size = f.plainUnit(i)
	end := i + size
	if _, at := pers.at(f.text, end); size > 0 && at > end {
		if by, more := f.plainUnit(at); more > 0 {
			return unit{name: u.name + "/" + by.name, factor: u.factor / by.factor, kind: u.kind}, at + more - i
		}
	}
	return u, size
}

func (f *finder) plainUnit(i int) (u unit, size int) {
	if i < len(f.text) && f.text[i] == '%' {
		return units["%"], 1
	}
	start := i
	if i < len(f.text) && f.text[i] == ' ' && isDigit(f.text[i-1]) { // 3 km
		start++
	}
	end := start
	for range longest {
		r, n := utf8.DecodeRuneInString(f.text[end:])
		if n == 0 || r == '\n' || r == ' ' {
			break
		}
		end += n
		if known, ok := units[f.text[start:end]]; ok && f.ends(end) {
			u, size = known, end-i
		}
	}
	return u, size
}

// ends reports whether a word ends at an offset.
func (f *finder) ends(i int) bool {
	if i == len(f.text) || f.text[i] == '\n' || f.text[i] == ' ' {
		return true
	}
	if isLatin(f.text[i-1]) || isDigit(f.text[i-1]) {
		return !isLatin(f.text[i]) && !isDigit(f.text[i])
	}
	return f.begin(i) || isDigit(f.text[i])
}
