package quantity

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"jianguo/data"
)

// unit is a line of data/tables/units.tsv.
type unit struct {
	name   string // of the base unit
	factor float64
	kind   string
	single bool // takes a single Chinese digit
}

// units are those of the table, by spelling; longest is the length of the longest spelling, in characters.
var units, longest = func() (map[string]unit, int) {
	file, err := data.FS.ReadFile("tables/units.tsv")
	if err != nil {
		panic(err) // it is embedded
	}
	table, err := parseUnits(string(file))
	if err != nil {
		panic(err)
	}
	most := 0
	for spelling := range table {
		most = max(most, utf8.RuneCountInString(spelling))
	}
	return table, most
}()

func parseUnits(file string) (map[string]unit, error) {
	table := map[string]unit{}
	for line := range strings.Lines(file) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("units: %q: want spelling, base unit, factor and kind", line)
		}
		factor, err := strconv.ParseFloat(f[2], 64)
		if err != nil || factor <= 0 {
			return nil, fmt.Errorf("units: %q: want a factor above 0", line)
		}
		if _, twice := table[f[0]]; twice {
			return nil, fmt.Errorf("units: %q stands twice", f[0])
		}
		kind, single := strings.CutSuffix(f[3], "*")
		table[f[0]] = unit{f[1], factor, kind, single}
	}
	return table, nil
}

// unit is the unit at an offset and its length in bytes, 0 for none: the longest one that ends where a word ends.
// What it is counted by belongs to it: 米每秒, 米/秒, 元每股.
func (f *finder) unit(i int) (u unit, size int) {
	u, size = f.plainUnit(i)
	if size == 0 {
		return u, 0
	}
	rest := f.text[i+size:]
	for _, per := range []string{"每", "/", "\n"} {
		if !strings.HasPrefix(rest, per) {
			continue
		}
		by, more := f.plainUnit(i + size + len(per))
		behind := rest[min(len(per)+more, len(rest)):]
		// A slash is a clause break in the normal form: what is counted by is then a clause alone.
		if more > 0 && (per != "\n" || rates[by.name] && by.factor != 1 && (behind == "" || behind[0] == '\n')) {
			return unit{name: u.name + "/" + by.name, factor: u.factor / by.factor, kind: u.kind}, size + len(per) +
				more
		}
	}
	return u, size
}

// rates are the base units of what a speed is counted by.
var rates = map[string]bool{"秒": true}

func (f *finder) plainUnit(i int) (u unit, size int) {
	if i < len(f.text) && f.text[i] == '%' {
		return units["%"], 1
	}
	end := i
	for range longest {
		r, n := utf8.DecodeRuneInString(f.text[end:])
		if n == 0 || r == '\n' || r == ' ' {
			break
		}
		end += n
		if known, ok := units[f.text[i:end]]; ok && f.ends(end) {
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

// Version names the table of units.
func Version() string {
	file, err := data.FS.ReadFile("tables/units.tsv")
	if err != nil {
		panic(err) // it is embedded
	}
	return fmt.Sprintf("%08x", uint32(xxh3.Hash(file)))
}
