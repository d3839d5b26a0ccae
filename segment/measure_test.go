//go:build quality

package segment

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"unicode"

	"jianguo/simhash"
)

type article struct{ ID, Title, Body string }

// corpus is the folder of real text, which is not part of the repository.
func corpus(t *testing.T) string {
	dir := os.Getenv("JIANGUO_CORPUS")
	if dir == "" {
		t.Fatal("JIANGUO_CORPUS names no folder: this test measures on real text")
	}
	return dir
}

func articles(t *testing.T, name string) (list []article) {
	f, err := os.Open(filepath.Join(corpus(t), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bufio.NewReader(z)); dec.More(); {
		var a article
		if err := dec.Decode(&a); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// edits are typical changes by republishers, on the original text.
var edits = []struct {
	name string
	edit func(r *rand.Rand, s string, other string) string
}{
	{"replace 5%", func(r *rand.Rand, s, other string) string { return replaceWords(r, s, other, 0.05) }},
	{"replace 10%", func(r *rand.Rand, s, other string) string { return replaceWords(r, s, other, 0.10) }},
	{"replace 20%", func(r *rand.Rand, s, other string) string { return replaceWords(r, s, other, 0.20) }},
	{"notice", func(r *rand.Rand, s, other string) string {
		return s + "。" + string([]rune(other)[:min(60, len([]rune(other)))])
	}},
	{"insert 10%", func(r *rand.Rand, s, other string) string {
		a, o := []rune(s), []rune(other)
		k := r.IntN(len(a) + 1)
		return string(a[:k]) + string(o[:min(len(o), len(a)/10)]) + string(a[k:])
	}},
	{"cut 25%", func(r *rand.Rand, s, other string) string { a := []rune(s); return string(a[:len(a)*3/4]) }},
	{"cut 40%", func(r *rand.Rand, s, other string) string { a := []rune(s); return string(a[:len(a)*6/10]) }},
}

// replaceWords replaces runs of two characters by such from another text.
func replaceWords(r *rand.Rand, s, other string, share float64) string {
	a, o := []rune(s), []rune(other)
	if len(o) < 3 {
		return s
	}
	for range int(float64(len(a)) * share / 2) {
		k, m := r.IntN(max(1, len(a)-2)), r.IntN(len(o)-2)
		if len(a) > k+1 {
			a[k], a[k+1] = o[m], o[m+1]
		}
	}
	return string(a)
}

// TestMeasure prints the distribution of S over labelled pairs, edits and unrelated
// texts, for the shipped weights and for the alternatives.
func TestMeasure(t *testing.T) {
	for _, set := range []string{"news-dev", "short-dev"} {
		list := articles(t, set+".jsonl.gz")
		labels := readLabels(t, set+"-labels.tsv")
		if set == "news-dev" {
			labels = append(labels, readPairs(t)...)
		}
		for _, c := range []struct {
			name    string
			weights weights
		}{
			{"shipped", shippedWeights},
			{"words only", weights{single: 1}},
			{"as many pairs as words", weights{single: 1, pairs: 1e9}},
		} {
			s := *shipped()
			s.weights = c.weights
			found := measure(t, &s, set+", "+c.name, list, labels)
			if least := map[string]float64{"news-dev": 95, "short-dev": 70}[set]; c.name == "shipped" && found < least {
				t.Errorf("%s: %.0f%% of copies found where one unrelated text in 1e5 is, want %v%%", set, found, least)
			}
		}
	}
}

// measure returns the share, in percent, of pairs labelled same with an S below that of
// the nearest of 10⁵ unrelated pairs.
func measure(t *testing.T, s *Segmenter, name string, list []article, labels [][3]string) (found float64) {
	prints := make([]simhash.Print, len(list))
	at := map[string]int{}
	var x Text
	for i, a := range list {
		at[a.ID] = i
		s.Analyze(&x, a.Title, a.Body)
		prints[i] = fingerprint(&x)
	}
	dist := map[string][]float32{}
	for _, l := range labels {
		a, b := at[l[0]], at[l[1]]
		dist[l[2]] = append(dist[l[2]], prints[max(a, b)].S(prints[min(a, b)].Fingerprint))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, e := range edits {
		for range 1000 {
			k := r.IntN(len(list))
			a := list[k]
			if len(a.Body) < 60 {
				continue
			}
			s.Analyze(&x, a.Title, e.edit(r, a.Body, list[r.IntN(len(list))].Body))
			p := fingerprint(&x)
			dist[e.name] = append(dist[e.name], p.S(prints[k].Fingerprint))
		}
	}
	// A sample of queries against all texts: the share of unrelated pairs (less than a
	// fifth of their 5-character shingles in common) below each S.
	cache := map[int]map[string]bool{}
	shingles := func(i int) map[string]bool {
		if cache[i] == nil {
			s.Analyze(&x, list[i].Title, list[i].Body)
			cache[i] = shinglesOf(string(x.content))
		}
		return cache[i]
	}
	var all []float32
	pairs := 0
	for range 1200 {
		q := r.IntN(len(list))
		for j := range list {
			if j != q {
				pairs++
				if d := prints[q].S(prints[j].Fingerprint); d < 12 && jaccard(shingles(q), shingles(j)) < 0.2 {
					all = append(all, d)
				}
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	share := func(d float32) float64 {
		return float64(sort.Search(len(all), func(i int) bool { return all[i] >= d })) / float64(pairs)
	}
	fmt.Printf("\n%s\n  unrelated among all pairs:", name)
	for _, d := range []float32{1.5, 2, 3, 4, 5, 6, 8} {
		fmt.Printf("  S<%g %.1e", d, share(d))
	}
	fmt.Println()
	for _, k := range append([]string{"same", "near_dup", "edited_reprint", "partial", "update", "template"}, editNames()...) {
		if len(dist[k]) == 0 {
			continue
		}
		fmt.Printf("  %-15s", k)
		for _, d := range []float32{1.5, 2, 3, 4, 5, 6, 8} {
			fmt.Printf("  S<%g %3.0f%%", d, 100*float64(below(dist[k], d))/float64(len(dist[k])))
		}
		for _, target := range []float64{1e-6, 1e-5} {
			d := all[min(len(all)-1, int(target*float64(pairs)))]
			fmt.Printf("  at %.0e of unrelated %3.0f%%", target, 100*float64(below(dist[k], d))/float64(len(dist[k])))
		}
		fmt.Println()
	}
	return 100 * float64(below(dist["same"], all[int(1e-5*float64(pairs))])) / float64(len(dist["same"]))
}

func below(list []float32, d float32) (n int) {
	for _, v := range list {
		if v < d {
			n++
		}
	}
	return n
}

func editNames() (names []string) {
	for _, e := range edits {
		names = append(names, e.name)
	}
	return names
}

func shinglesOf(s string) map[string]bool {
	r, m := []rune(s), map[string]bool{}
	for i := range max(0, len(r)-4) {
		m[string(r[i:i+5])] = true
	}
	return m
}

func jaccard(a, b map[string]bool) float64 {
	n := 0
	for x := range a {
		if b[x] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(a)+len(b)-n))
}

// readPairs reads the pairs labelled by rules, a fifth of them.
func readPairs(t *testing.T) (rows [][3]string) {
	f, err := os.Open(filepath.Join(corpus(t), "news-dev-pairs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for dec := json.NewDecoder(z); dec.More(); {
		var p struct{ A, B, Label string }
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if n++; n%5 == 0 {
			rows = append(rows, [3]string{p.A, p.B, p.Label})
		}
	}
	return rows
}

func readLabels(t *testing.T, name string) (rows [][3]string) {
	b, err := os.ReadFile(filepath.Join(corpus(t), name))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if f := strings.Split(line, "\t"); i > 0 {
			rows = append(rows, [3]string{f[0], f[1], f[2]})
		}
	}
	return rows
}

// TestResidue prints what the residue list takes from the corpus.
func TestResidue(t *testing.T) {
	s := shipped()
	for _, set := range []string{"news-dev", "broadcast", "short-dev", "techdocs"} {
		spans, total, gone, touched, heavy := map[string]int{}, 0, 0, 0, map[int]int{}
		var sample []string
		for _, a := range articles(t, set+".jsonl.gz") {
			var n normalizer
			n.folds = s.folds
			n.reset(nil)
			n.body(a.Body)
			body := n.end()
			found := s.residue.find(nil, body, n.breaks, s.folds)
			total += len(body)
			g := 0
			for _, x := range found {
				g += x.end - x.start
				k := string(body[x.start:x.end])
				k = strings.ReplaceAll(k, "\n", "，")
				spans[k]++
				if spans[k] == 1 {
					sample = append(sample, k)
				}
			}
			gone += g
			if g > 0 {
				touched++
				heavy[10*g/len(body)]++
			}
		}
		fmt.Printf("== %s: %d touched, %.2f%% of bytes, by tenths %v, distinct %d\n", set, touched, 100*float64(gone)/float64(total), heavy, len(spans))
		if gone*20 > total {
			t.Errorf("%s: residue is more than a twentieth of the text", set)
		}
		sort.Slice(sample, func(i, j int) bool { return spans[sample[i]] > spans[sample[j]] })
		for i, k := range sample {
			if i < 40 || i%(1+len(sample)/160) == 0 {
				fmt.Printf("%6d %s\n", spans[k], string([]rune(k)[:min(60, len([]rune(k)))]))
			}
		}
	}
}

// TestForms counts, on real articles, what changes of form alone do.
func TestForms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	han := func(what ...string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			last := 'a'
			for _, c := range s {
				if unicode.Is(unicode.Han, last) && unicode.Is(unicode.Han, c) && r.IntN(3) == 0 {
					b.WriteString(what[r.IntN(len(what))])
				}
				b.WriteRune(c)
				last = c
			}
			return b.String()
		}
	}
	for _, set := range []string{"news-dev", "broadcast", "short-dev"} {
		list := articles(t, set+".jsonl.gz")
		for _, f := range []struct {
			name   string
			change func(string) string
		}{
			{"HTML", func(s string) string {
				return "<div><p>" + strings.ReplaceAll(html.EscapeString(s), "。", "。</p>\n<p>") + "</p></div>"
			}},
			{"full width", func(s string) string {
				return strings.Map(func(c rune) rune {
					if c > ' ' && c < 0x7f {
						return c + 0xfee0
					}
					return c
				}, s)
			}},
			{"zero width", func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") }},
			{"traditional", traditional},
			{"spaces between Han", han(" ", "\u3000")},
			{"dots between Han", han(".", "·")},
			{"emoji between Han", han("🔥", "👍")},
			{"other punctuation", func(s string) string {
				return strings.NewReplacer("，", "；", "。", "！\n", "“", "「", "”", "」", "、", "，", "：", " ").Replace(s)
			}},
			{"no line breaks", func(s string) string { return strings.ReplaceAll(s, "\n", "") }},
			{"editor below", func(s string) string { return s + "\n责任编辑：王小明" }},
			{"notice below", func(s string) string {
				return s + "\n版权声明：本文版权归原作者所有，未经授权不得转载。"
			}},
			{"headline above", func(s string) string { return "原标题：" + s }},
		} {
			exact, zero, near, n := 0, 0, 0, 0
			for range 2000 {
				a := list[r.IntN(len(list))]
				x := analyze(a.Title, a.Body)
				if x.Blank {
					continue
				}
				y := analyze(a.Title, f.change(a.Body))
				n++
				p, q := fingerprint(x), fingerprint(y)
				d := simhash.Distance(p.Fingerprint, q.Fingerprint)
				if x.Exact == y.Exact {
					exact++
				}
				if d == 0 {
					zero++
				}
				if d <= 3 {
					near++
				}
			}
			// Punctuation is part of how residue is recognised; nothing else may
			// matter but to texts shorter than their residue.
			if least := map[bool]int{true: 90, false: 98}[strings.Contains(f.name, "dots") || strings.Contains(f.name, "punctuation")]; near*100 < least*n {
				t.Errorf("%s, %s: only %d of %d within distance 3", set, f.name, near, n)
			}
			fmt.Printf("%-10s %-20s exact %6.2f%%  distance 0 %6.2f%%  distance <= 3 %6.2f%%\n", set, f.name,
				100*float64(exact)/float64(n), 100*float64(zero)/float64(n), 100*float64(near)/float64(n))
		}
	}
}
