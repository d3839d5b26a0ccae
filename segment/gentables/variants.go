package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"jianguo/internal/must"
)

const variantsHead = `# Traditional characters and what they are in simplified text, one a line: from, tab, to.
# A line of several characters is an exception: in that phrase (written as it stands in the
# source, traditional) a character becomes something else than by itself. Both sides have
# the same number of characters.
#
# Made by segment/gentables from the OpenCC data (TSCharacters, TSCharactersExt, TSPhrases and
# the Taiwan and Hong Kong variants they leave out), https://github.com/BYVoid/OpenCC, Apache
# License 2.0, and from the words of gse's dictionary that a conversion by characters would spoil.
`

// zhu are the words in which 著 stands for itself; elsewhere it is the
// traditional form of 着.
const zhu = "显著 著名 著作 著称 名著 原著 巨著 专著 编著 卓著 昭著 土著"

// same are characters, and words, that simplified text too writes in two ways,
// and that conversion to traditional characters and back mixes up.
var same = map[string]string{
	"钜": "巨", "薰": "熏", "伕": "夫", "揹": "背", "暱": "昵", "谘": "咨", "想像": "想象", "座標": "坐標", "座标": "坐标",
	"藉著": "借着", "藉着": "借着",
}

// variants writes the table of traditional characters and phrases.
func variants(dir, out string) {
	chars := readPairs(dir, "TSCharactersExt.txt", "TSCharacters.txt")
	regional := readPairs(dir, "TWVariantsRev.txt", "HKVariantsRev.txt")
	for from, to := range same {
		if utf8.RuneCountInString(from) == 1 {
			chars[from] = to
		}
	}
	// What a character becomes must be final: a text converted once stays.
	for from, to := range chars {
		chars[from] = convert(to, chars)
	}
	phrases := readPairs(dir, "TSPhrases.txt")
	for from, to := range regional {
		// 么 is an everyday simplified character; 台 and 只 are simplified too.
		if _, ok := chars[from]; !ok && from != "么" && from != "台" && from != "只" && from != "顎" {
			if to = convert(to, chars); to != from {
				chars[from] = to
			}
		}
	}
	for from, to := range phrases {
		for _, r := range to {
			if v, ok := same[string(r)]; ok {
				to = strings.ReplaceAll(to, string(r), v)
			}
		}
		phrases[from] = to
	}
	for from, to := range same {
		if utf8.RuneCountInString(from) > 1 {
			phrases[from] = convert(to, chars)
		}
	}
	for _, w := range strings.Fields(zhu) {
		phrases[w] = w
	}
	protect(chars, phrases)
	write(out, chars, phrases)
}

func write(out string, chars, phrases map[string]string) {
	var b bytes.Buffer
	b.WriteString(variantsHead)
	for _, from := range slices.Sorted(maps.Keys(chars)) {
		if from != chars[from] && utf8.RuneCountInString(from) == 1 {
			fmt.Fprintf(&b, "%s\t%s\n", from, chars[from])
		}
	}
	for _, from := range slices.Sorted(maps.Keys(phrases)) {
		to := phrases[from]
		if convert(from, chars) != to && inPlace(from, to, chars) {
			fmt.Fprintf(&b, "%s\t%s\n", from, to)
		}
	}
	must.Do(os.WriteFile(out, b.Bytes(), 0o644))
}

// protect adds the words of gse's dictionary that conversion would turn into
// no word.
func protect(chars, phrases map[string]string) {
	words := words()
	for i := range words.Tokens {
		w := words.Tokens[i].Text()
		to := convert(w, chars)
		if to == w || strings.ContainsAny(w, "著钜薰伕揹暱谘") || utf8.RuneCountInString(w) < 2 {
			continue
		}
		if _, _, ok := words.Find([]byte(to)); !ok {
			if _, ok := phrases[w]; !ok {
				phrases[w] = w
			}
		}
	}
}

// inPlace reports whether an exception changes characters of three bytes into
// such, one for one, and none so common that looking at it would cost.
func inPlace(from, to string, chars map[string]string) bool {
	a, b := []rune(from), []rune(to)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if convert(string(a[i]), chars) == string(b[i]) {
			continue
		}
		if a[i] == '么' || utf8.RuneLen(a[i]) != 3 || utf8.RuneLen(b[i]) != 3 || len(convert(string(a[i]), chars)) != 3 {
			return false
		}
	}
	return true
}

func convert(s string, chars map[string]string) string {
	var b strings.Builder
	for _, r := range s {
		if to, ok := chars[string(r)]; ok {
			b.WriteString(to)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// readPairs reads OpenCC dictionaries; of several conversions the first counts.
func readPairs(dir string, names ...string) map[string]string {
	m := map[string]string{}
	for _, name := range names {
		for line := range strings.Lines(string(must.Get(os.ReadFile(filepath.Join(dir, name))))) {
			line = strings.TrimRight(line, "\r\n")
			from, to, ok := strings.Cut(line, "\t")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			to, _, _ = strings.Cut(to, " ")
			m[from] = to
		}
	}
	return m
}
