package segment

import (
	"math"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/go-ego/gse"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jianguo/data"
)

// reference is gse with the dictionary the table was made from.
var reference = sync.OnceValue(func() *gse.Segmenter {
	g := &gse.Segmenter{SkipLog: true, NotLoadHMM: true}
	if err := g.LoadDictEmbed("zh_s"); err != nil {
		panic(err)
	}
	return g
})

var shipped = sync.OnceValue(func() *Segmenter {
	s, err := New(Config{Data: data.FS})
	if err != nil {
		panic(err)
	}
	return s
})

// Every word, frequency and part of speech of gse's dictionary is in the
// table, and nothing else.
func TestTrieHoldsTheDictionary(t *testing.T) {
	g, d := reference(), shipped().dict
	for i := range g.Dict.Tokens {
		x := &g.Dict.Tokens[i]
		p := int32(0)
		for _, a := range gse.SplitWords([]byte(x.Text())) {
			code := d.trie.atoms[string(a)]
			if r, size := utf8.DecodeRune(a); size == len(a) {
				code = d.trie.runeCode(r)
			}
			if p = d.trie.child(p, code); p == 0 {
				t.Fatalf("%q is missing", x.Text())
			}
		}
		if f := d.trie.freqs[d.trie.nodes[p].freq]; f != x.Freq() {
			t.Fatalf("%q: frequency %v, want %v", x.Text(), f, x.Freq())
		}
		if pos := d.trie.poses[d.trie.pos[p]]; pos != x.Pos() {
			t.Fatalf("%q: part of speech %q, want %q", x.Text(), pos, x.Pos())
		}
	}
	words := 0
	for _, n := range d.trie.nodes {
		if n.freq != 0 {
			words++
		}
	}
	if words != g.Dict.NumTokens() {
		t.Fatalf("%d words, want %d", words, g.Dict.NumTokens())
	}
	if d.trie.total != g.Dict.TotalFreq() {
		t.Fatalf("total frequency %v, want %v", d.trie.total, g.Dict.TotalFreq())
	}
}

// hanText draws texts that have many ways to be cut: words of the dictionary
// and parts of them, run together, with Latin words and numbers between.
func hanText() *rapid.Generator[string] {
	tokens := reference().Dict.Tokens
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 40).Draw(t, "words") {
			// Scattered, since rapid prefers small numbers and the dictionary
			// begins with an odd lot.
			k := rapid.Uint64().Draw(t, "word") * 0x9e3779b97f4a7c15 % uint64(len(tokens))
			w := []rune(tokens[k].Text())
			from := rapid.IntRange(0, len(w)-1).Draw(t, "from")
			b.WriteString(strings.ToLower(string(w[from:])))
			if rapid.IntRange(0, 9).Draw(t, "latin") == 0 {
				b.WriteString(rapid.SampledFrom([]string{"a", "abc", "3", "2023", "4s", "и", "é"}).Draw(t, "run"))
			}
		}
		s, _ := strings.CutSuffix(keepWords(b.String()), " ")
		return s
	})
}

// keepWords drops what no normal form has.
func keepWords(s string) string {
	return strings.Map(func(r rune) rune {
		switch shipped().folds.of(r).class {
		case digit, word, ideograph, unsettled:
			return r
		}
		return -1
	}, s)
}

// The walker cuts as gse does: every stretch between points that no word
// crosses comes out exactly as gse cuts it, and the whole text on a path as
// short as gse's.
func TestWalkerCutsLikeGSE(t *testing.T) {
	g, d := reference(), shipped().dict
	var w walker
	rapid.Check(t, func(t *rapid.T) {
		text := hanText().Draw(t, "text")
		if text == "" {
			return
		}
		words := w.cut(d, []byte(text))
		end := int32(0)
		for _, x := range words {
			if x.start != end {
				t.Fatalf("%q: word at %d, want %d", text, x.start, end)
			}
			end = x.end
		}
		if int(end) != len(text) {
			t.Fatalf("%q: words end at %d of %d", text, end, len(text))
		}
		for _, s := range stretches(d, text) {
			var want []string
			for _, x := range g.Segment([]byte(s)) {
				want = append(want, s[x.Start():x.End()])
			}
			var got []string
			for _, x := range (&walker{}).cut(d, []byte(s)) {
				got = append(got, s[x.start:x.end])
			}
			if strings.Join(got, "/") != strings.Join(want, "/") {
				t.Fatalf("%q is cut %q, gse cuts %q", s, got, want)
			}
		}
		var ours, theirs float64
		for _, x := range words {
			ours += length(d, x)
		}
		for _, x := range g.Segment([]byte(text)) {
			theirs += distance(g, x.Token())
		}
		if math.Abs(ours-theirs) > 1e-3 {
			t.Fatalf("%q: path of length %v, gse's is %v", text, ours, theirs)
		}
	})
}

func TestWalkerCutsAnArticleLikeGSE(t *testing.T) {
	text := keepWords(bulletin)
	var want, got []string
	for _, x := range reference().Segment([]byte(text)) {
		want = append(want, text[x.Start():x.End()])
	}
	for _, x := range (&walker{}).cut(shipped().dict, []byte(text)) {
		got = append(got, text[x.start:x.end])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func length(d *dictionary, x token) float64 {
	if x.node == 0 {
		return unknown
	}
	return float64(d.trie.distances[d.trie.nodes[x.node].freq])
}

func distance(g *gse.Segmenter, x *gse.Token) float64 {
	if x.Pos() == "x" && x.Freq() == 1 {
		return unknown
	}
	return float64(float32(math.Log2(g.Dict.TotalFreq())) - float32(math.Log2(x.Freq())))
}

// stretches cuts text, by brute force over gse's dictionary, wherever no word
// reaches across.
func stretches(d *dictionary, text string) []string {
	var out []string
	atoms := gse.SplitWords([]byte(text))
	start, at, reach := 0, 0, 0
	for i := range atoms {
		if i == reach && i > 0 {
			out = append(out, text[start:at])
			start = at
		}
		word := ""
		for k, a := range atoms[i:min(len(atoms), i+reference().Dict.MaxTokenLen())] {
			word += string(a)
			if _, _, ok := reference().Dict.Find([]byte(word)); !ok {
				break
			}
			if v, _, err := reference().Dict.Value([]byte(word)); err == nil && v >= 0 || k == 0 {
				reach = max(reach, i+k+1)
			}
		}
		at += len(atoms[i])
	}
	return append(out, text[start:])
}
