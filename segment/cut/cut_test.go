package cut

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/go-ego/gse"
	"pgregory.net/rapid"

	"jianguo/data"
	"jianguo/internal/testbed"
)

// reference is gse with the dictionary that the table was made from.
var reference = sync.OnceValue(func() *gse.Segmenter { return newReference("") })

// newReference is gse with a user dictionary loaded ahead of its own.
func newReference(userWords string) *gse.Segmenter {
	g := &gse.Segmenter{SkipLog: true, NotLoadHMM: true}
	if userWords != "" {
		if err := g.LoadDictStr(userWords); err != nil {
			panic(err)
		}
	}
	if err := g.LoadDictEmbed("zh_s"); err != nil {
		panic(err)
	}
	return g
}

func table() []byte {
	file, err := data.FS.ReadFile("tables/dict.bin.zst")
	if err != nil {
		panic(err)
	}
	return file
}

func load() *Dictionary {
	d, err := Load(table())
	if err != nil {
		panic(err)
	}
	return d
}

var shipped = sync.OnceValue(load)

// sample holds the bodies of the bundled sample corpus.
var sample = sync.OnceValue(func() (bodies []string) {
	file, err := data.FS.ReadFile("sample/corpus.jsonl")
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(file)); lines.Scan(); {
		var item struct{ Body string }
		if err := json.Unmarshal(lines.Bytes(), &item); err != nil {
			panic(err)
		}
		bodies = append(bodies, item.Body)
	}
	return bodies
})

// Every word, frequency and part of speech of gse's dictionary is in the table, and nothing else.
func TestTableHoldsTheDictionary(t *testing.T) {
	g, d := reference(), shipped()
	for i := range g.Dict.Tokens {
		x := &g.Dict.Tokens[i]
		p := int32(0)
		for _, char := range gse.SplitWords([]byte(x.Text())) {
			if p = d.child(p, d.code(string(char))); p == 0 {
				t.Fatalf("%q is missing", x.Text())
			}
		}
		if f := d.freqs[d.nodes[p].freq]; f != x.Freq() {
			t.Fatalf("%q: frequency %v, want %v", x.Text(), f, x.Freq())
		}
		if tag := d.Tag(p); tag != x.Pos() {
			t.Fatalf("%q: part of speech %q, want %q", x.Text(), tag, x.Pos())
		}
	}
	words := 0
	for _, n := range d.nodes {
		if n.freq != 0 {
			words++
		}
	}
	if words != g.Dict.NumTokens() {
		t.Fatalf("%d words, want %d", words, g.Dict.NumTokens())
	}
	if d.total != g.Dict.TotalFreq() {
		t.Fatalf("total frequency %v, want %v", d.total, g.Dict.TotalFreq())
	}
}

// drawText draws texts that can be cut in many ways: words of gse's dictionary and parts of them, run
// together, with Latin words and numbers between.
func drawText(words []gse.Token) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 40).Draw(t, "words") {
			// Scattered, since rapid prefers small numbers and the dictionary begins with rare words.
			k := rapid.Uint64().Draw(t, "word") * 0x9e3779b97f4a7c15 % uint64(len(words))
			w := []rune(words[k].Text())
			from := rapid.IntRange(0, len(w)-1).Draw(t, "from")
			b.WriteString(string(w[from:]))
			if rapid.IntRange(0, 9).Draw(t, "latin") == 0 {
				b.WriteString(rapid.SampledFrom([]string{"a", "abc", "3", "2023", "4s", "и", "é"}).Draw(t, "run"))
			}
		}
		return lettersAndDigits(b.String())
	})
}

// lettersAndDigits drops what no normal form has, and the separators.
func lettersAndDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// stretches cuts text, over gse's dictionary, at every point that no word crosses.
func stretches(g *gse.Segmenter, text string) (out []string) {
	chars := gse.SplitWords([]byte(text))
	found := make([]*gse.Token, g.Dict.MaxTokenLen())
	start, at, reach := 0, 0, 0 // in bytes
	for i, c := range chars {
		if at == reach && at > start {
			out = append(out, text[start:at])
			start = at
		}
		reach = max(reach, at+len(c))
		if n := g.Dict.LookupTokens(chars[i:min(len(chars), i+len(found))], found); n > 0 {
			reach = max(reach, at+len(found[n-1].Text()))
		}
		at += len(c)
	}
	return append(out, text[start:])
}

func wordsOf(text string, tokens []Token) []string {
	words := make([]string, len(tokens))
	for i, x := range tokens {
		words[i] = text[x.Start:x.End]
	}
	return words
}

// byGSE are the words of gse.
func byGSE(g *gse.Segmenter, text string) (words []string) {
	for _, x := range g.Segment([]byte(text)) {
		words = append(words, text[x.Start():x.End()])
	}
	return words
}

// compareWithGSE compares Cut with gse word for word: each stretch between points that no word crosses comes
// out as gse cuts it. It returns the words, and whether gse gives the same for the text as a whole.
func compareWithGSE(g *gse.Segmenter, d *Dictionary, c *Cutter, text string) (words []string, whole bool, err error) {
	words = wordsOf(text, c.Cut(d, []byte(text)))
	rest := words
	for _, s := range stretches(g, text) {
		want := byGSE(g, s)
		got := rest[:min(len(rest), len(want))]
		if strings.Join(got, "/") != strings.Join(want, "/") {
			return nil, false, fmt.Errorf("%q is cut %q, gse cuts %q", s, got, want)
		}
		rest = rest[len(want):]
	}
	if len(rest) > 0 {
		return nil, false, fmt.Errorf("%q: words %q after the end", text, rest)
	}
	return words, strings.Join(words, "/") == strings.Join(byGSE(g, text), "/"), nil
}

// length is the length of a path through gse's dictionary.
func length(g *gse.Segmenter, words []string) (sum float64) {
	for _, w := range words {
		if freq, _, ok := g.Dict.Find([]byte(w)); ok && freq > 0 {
			sum += float64(float32(math.Log2(g.Dict.TotalFreq())) - float32(math.Log2(freq)))
		} else {
			sum += unknown
		}
	}
	return sum
}

// checkTexts compares random texts of some words.
func checkTexts(t *testing.T, g *gse.Segmenter, d *Dictionary, words []gse.Token) {
	texts := drawText(words)
	var c Cutter
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		if text == "" {
			return
		}
		words, _, err := compareWithGSE(g, d, &c, text)
		if err != nil {
			t.Fatal(err)
		}
		if ours, theirs := length(g, words), length(g, byGSE(g, text)); math.Abs(ours-theirs) > 1e-3 {
			t.Fatalf("%q: path of length %v, gse's is %v", text, ours, theirs)
		}
	})
}

func TestCutsLikeGSE(t *testing.T) { checkTexts(t, reference(), shipped(), reference().Dict.Tokens) }

func TestCutsTheSampleLikeGSE(t *testing.T) {
	g, d := reference(), shipped()
	var c Cutter
	for _, body := range sample() {
		text := lettersAndDigits(body)
		if text == "" {
			continue
		}
		if _, _, err := compareWithGSE(g, d, &c, text); err != nil {
			t.Error(err)
		}
	}
}

// userWords makes a dictionary of n words: known words with another frequency, two known words as one, words
// with characters that gse's dictionary does not have, Latin words and codes.
func userWords(r *rand.Rand, n int) string {
	known := reference().Dict.Tokens
	pick := func() string {
		return strings.ReplaceAll(lettersAndDigits(known[r.IntN(len(known))].Text()), " ", "")
	}
	var b strings.Builder
	for range n {
		word := pick()
		switch r.IntN(5) {
		case 0:
			word += pick()
		case 1:
			word = string(rune(0x3400+r.IntN(2000))) + word
		case 2:
			word += []string{"ai", "5g", "é", "4s店", "и"}[r.IntN(5)]
		}
		if word != "" {
			fmt.Fprintf(&b, "%s %d %s\n", word, 2+r.IntN(1<<r.IntN(20)), []string{"n", "nz", "v", "own"}[r.IntN(4)])
		}
	}
	return b.String()
}

// A user's dictionary has the effect that it has where gse loads it first.
func TestUserWordsLikeGSE(t *testing.T) {
	for seed := range testbed.Count(1, 2, 10) {
		list := userWords(rand.New(rand.NewPCG(uint64(seed), 1)), 3000)
		g, d := newReference(list), load()
		if _, err := d.AddWords(list, func(s string) string { return s }); err != nil {
			t.Fatal(err)
		}
		if d.total != g.Dict.TotalFreq() {
			t.Fatalf("total frequency %v, want %v", d.total, g.Dict.TotalFreq())
		}
		checkTexts(t, g, d, g.Dict.Tokens[:2000]) // the first are the user's
	}
}

// empty is a dictionary without words.
func empty() *Dictionary {
	d, err := parse(append([]byte(magic), append([]byte{0, 0, 0, 1, 0, 1}, make([]byte, 9)...)...))
	if err != nil {
		panic(err)
	}
	return d
}

// Any dictionary at all: few characters, many words and frequencies that make ties.
func TestSmallDictionariesLikeGSE(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("甲乙丙丁戊a1é𠮷")), 1, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		var list strings.Builder
		for range rapid.IntRange(1, 30).Draw(t, "words") {
			fmt.Fprintf(&list, "%s %d n\n", word.Draw(t, "word"), 2<<rapid.IntRange(0, 5).Draw(t, "frequency"))
		}
		g, d := &gse.Segmenter{SkipLog: true, NotLoadHMM: true}, empty()
		if err := g.LoadDictStr(list.String()); err != nil {
			t.Fatal(err)
		}
		if _, err := d.AddWords(list.String(), func(s string) string { return s }); err != nil {
			t.Fatal(err)
		}
		text := rapid.StringOfN(rapid.SampledFrom([]rune("甲乙丙丁戊己a1é𠮷")), 1, 40, -1).Draw(t, "text")
		if _, _, err := compareWithGSE(g, d, &Cutter{}, text); err != nil {
			t.Fatal(err)
		}
	})
}

// No word crosses a space or a figure with punctuation in it, and both leave the words around them as they are.
func TestSpacesAndFigures(t *testing.T) {
	d := shipped()
	piece := drawText(reference().Dict.Tokens)
	rapid.Check(t, func(t *rapid.T) {
		text, want := "", []string(nil)
		for range rapid.IntRange(1, 4).Draw(t, "pieces") {
			between := rapid.SampledFrom([]string{"", " ", "3.5%", "12:30", "7‰"}).Draw(t, "between")
			p := "中" + piece.Draw(t, "piece") + "国" // so that no run of letters meets the figure
			if text != "" && between == "" {
				between = " "
			}
			text += between + p
			if between = strings.TrimSpace(between); between != "" {
				want = append(want, between)
			}
			want = append(want, wordsOf(p, (&Cutter{}).Cut(d, []byte(p)))...)
		}
		text = strings.TrimSpace(text)
		if got := wordsOf(text, (&Cutter{}).Cut(d, []byte(text))); strings.Join(got, "/") != strings.Join(want, "/") {
			t.Fatalf("%q is cut %q, want %q", text, got, want)
		}
	})
}

// The dictionary file is read safely, whatever is in it.
func FuzzParse(f *testing.F) {
	f.Add(table()[:100])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parse(append([]byte(magic), b...))
		if err != nil {
			return
		}
		d.child(0, 1)
	})
}

// The articles of the sample, one at a time: gse's Segment and Cut.
func BenchmarkCut(b *testing.B) {
	var texts [][]byte
	for _, body := range sample() {
		texts = append(texts, []byte(lettersAndDigits(body)))
	}
	g, d := reference(), shipped()
	b.Run("gse", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			g.Segment(texts[i%len(texts)])
		}
	})
	b.Run("cut", func(b *testing.B) {
		var c Cutter
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			c.Cut(d, texts[i%len(texts)])
		}
	})
}

// The time until a dictionary is ready, and the memory that it then takes.
func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct {
		name string
		load func() any
	}{
		{"gse", func() any { return newReference("") }},
		{"cut", func() any { return load() }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var before, after runtime.MemStats
			var last any
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				last = c.load()
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
			runtime.KeepAlive(last)
		})
	}
}
