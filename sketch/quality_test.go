//go:build quality

// The quality test fits the judge's weights to labelled pairs and shows what
// they are worth on pairs that they were not fitted to:
//
//	JIANGUO_CORPUS=… go test -tags quality -run TestQuality -v ./sketch
//
// -update writes weights.go. Beside the labelled pairs stand weak ones, each
// worth a small part of one: pairs of bulletins published far apart (broadcast,
// short-dev), reference pages with different headlines (techdocs), and
// rule-made labels (news-dev-pairs).
package sketch_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"go/format"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jianguo/data"
	"jianguo/segment"
	"jianguo/sketch"
)

var update = flag.Bool("update", false, "write weights.go")

const (
	folds   = 10
	repeats = 5
	ridge   = 1.5 // weight of the squared weights, in pairs
	weakMax = 1000
)

var labels = []string{"same", "partial", "update", "template", "different"}

// pair is a labelled or weakly labelled pair, as evidence both ways.
type pair struct {
	set, label     string
	weight         float64
	text, estimate sketch.Evidence
	byText, bySk   sketch.Judgement
}

func TestQuality(t *testing.T) {
	dir := os.Getenv("JIANGUO_CORPUS")
	if dir == "" {
		t.Fatal("JIANGUO_CORPUS must name the folder of the real corpus")
	}
	pairs := collect(t, dir)
	var out strings.Builder
	out.WriteString("package sketch\n")
	for _, m := range models {
		fitted := report(t, m, pairs)
		fmt.Fprintf(&out, "\n// %s: %s.\nvar %s = Weights{Bias: %.2f, Of: Evidence{\n", m.name, m.doc, m.name, fitted[0])
		for i, c := range m.clues {
			fmt.Fprintf(&out, "%v: %.2f,\n", c, fitted[i+1])
		}
		out.WriteString("}}\n")
	}
	verdicts(t, pairs)
	if *update {
		source, err := format.Source([]byte(out.String()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("weights.go", source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// model is one logistic score.
type model struct {
	name, doc string
	exact     bool
	clues     []sketch.Clue
	positive  map[string]bool
}

var (
	estimated = clues(0, sketch.Resembles+1)
	measured  = append(clues(0, sketch.Resembles), clues(sketch.Resembles+1, sketch.Clues)...)
	copies    = map[string]bool{"same": true}
	stories   = map[string]bool{"same": true, "partial": true, "update": true}
	models    = []model{
		{"copyWeights", "is it the same article, measured on texts", true, measured, copies},
		{"storyWeights", "is it the same story, measured on texts", true, measured, stories},
		{"copySketchWeights", "is it the same article, estimated from sketches", false, estimated, copies},
		{"storySketchWeights", "is it the same story, estimated from sketches", false, estimated, stories},
	}
)

func clues(from, to sketch.Clue) (c []sketch.Clue) {
	for i := from; i < to; i++ {
		c = append(c, i)
	}
	return c
}

// rows are what a model sees of the pairs.
func (m *model) rows(pairs []pair) (x [][]float64, y, weight []float64) {
	for _, p := range pairs {
		e := &p.estimate
		if m.exact {
			e = &p.text
		}
		row := make([]float64, len(m.clues))
		for i, c := range m.clues {
			row[i] = e[c]
		}
		is := 0.
		if m.positive[p.label] {
			is = 1
		}
		x, y, weight = append(x, row), append(y, is), append(weight, p.weight)
	}
	return x, y, weight
}

// report prints the cross-validated table of a model, each fold of the first
// round and the mean of all rounds, and returns the weights fitted to all.
func report(t *testing.T, m model, pairs []pair) []float64 {
	x, y, weight := m.rows(pairs)
	mean := make([]float64, len(pairs))
	t.Logf("%s: %s", m.name, m.doc)
	for round := range repeats {
		order := rand.New(rand.NewPCG(uint64(round), 1)).Perm(len(pairs))
		for fold := range folds {
			var tx [][]float64
			var ty, tw []float64
			for n, i := range order {
				if n%folds != fold {
					tx, ty, tw = append(tx, x[i]), append(ty, y[i]), append(tw, weight[i])
				}
			}
			w := fit(tx, ty, tw)
			score := map[int]float64{}
			for n, i := range order {
				if n%folds == fold {
					score[i] = predict(w, x[i])
					mean[i] += score[i] / repeats
				}
			}
			if round == 0 {
				t.Logf("  fold %2d  %s", fold+1, counts(pairs, .6, score))
			}
		}
	}
	all := map[int]float64{}
	for i, p := range mean {
		all[i] = p
	}
	for _, threshold := range []float64{.4, .5, .55, .6, .65, .7, .75} {
		t.Logf("  ≥ %.2f   %s", threshold, counts(pairs, threshold, all))
	}
	return fit(x, y, weight)
}

// counts says how many of each label score at least the threshold.
func counts(pairs []pair, threshold float64, score map[int]float64) string {
	var b strings.Builder
	for _, set := range []string{"news-dev", "short-dev"} {
		fmt.Fprintf(&b, "%s", set)
		for _, l := range labels {
			n, all := 0, 0
			for i, s := range score {
				if pairs[i].set == set && pairs[i].label == l {
					all++
					if s >= threshold {
						n++
					}
				}
			}
			fmt.Fprintf(&b, " %s %d/%d", l, n, all)
		}
		b.WriteString("  ")
	}
	return b.String()
}

// verdicts prints what the shipped judge says of the labelled pairs, and fails
// where it says much less than it did.
func verdicts(t *testing.T, pairs []pair) {
	for _, exact := range []bool{true, false} {
		for _, set := range []string{"news-dev", "short-dev"} {
			for _, l := range labels {
				var kinds [4]int
				n := 0
				for _, p := range pairs {
					if p.set == set && p.label == l {
						j := p.bySk
						if exact {
							j = p.byText
						}
						kinds[j.Kind]++
						n++
					}
				}
				t.Logf("shipped, texts %-5v %-9s %-9s duplicate %d suspect %d series %d unrelated %d", exact, set, l,
					kinds[sketch.Duplicate], kinds[sketch.Suspect], kinds[sketch.Series], kinds[sketch.Unrelated])
				share := float64(kinds[sketch.Duplicate]) / float64(n)
				if exact && set == "news-dev" && (l == "same" && share < .85 || l == "template" && share > .02) {
					t.Errorf("%s: %.0f %% of %s are duplicates", set, 100*share, l)
				}
			}
		}
	}
}

// fit is logistic regression with a ridge on standardised columns, by Newton's
// method; the first weight is the bias, the others are for the columns as given.
func fit(x [][]float64, y, weight []float64) []float64 {
	d := len(x[0])
	mean, dev := make([]float64, d), make([]float64, d)
	for j := range d {
		for i := range x {
			mean[j] += x[i][j] / float64(len(x))
		}
		for i := range x {
			dev[j] += (x[i][j] - mean[j]) * (x[i][j] - mean[j]) / float64(len(x))
		}
		dev[j] = math.Sqrt(dev[j]) + 1e-9
	}
	w := make([]float64, d+1)
	for range 40 {
		system := make([][]float64, d+1)
		for a := range system {
			system[a] = make([]float64, d+2)
		}
		z := make([]float64, d+1)
		z[0] = 1
		for i := range x {
			s := w[0]
			for j := range d {
				z[j+1] = (x[i][j] - mean[j]) / dev[j]
				s += w[j+1] * z[j+1]
			}
			p := 1 / (1 + math.Exp(-s))
			for a := range z {
				for b := range z {
					system[a][b] += weight[i] * p * (1 - p) * z[a] * z[b]
				}
				system[a][d+1] += weight[i] * (y[i] - p) * z[a]
			}
		}
		for a := 1; a <= d; a++ {
			system[a][a] += ridge
			system[a][d+1] -= ridge * w[a]
		}
		system[0][0] += 1e-9
		most := 0.
		for a, step := range solve(system) {
			step = max(-3, min(3, step))
			w[a] += step
			most = max(most, math.Abs(step))
		}
		if most < 1e-7 {
			break
		}
	}
	out := append([]float64{w[0]}, w[1:]...)
	for j := range d {
		out[j+1] = w[j+1] / dev[j]
		out[0] -= w[j+1] * mean[j] / dev[j]
	}
	return out
}

// solve is Gauss-Jordan elimination of an augmented matrix.
func solve(m [][]float64) []float64 {
	n := len(m)
	for a := range n {
		p := a
		for r := a + 1; r < n; r++ {
			if math.Abs(m[r][a]) > math.Abs(m[p][a]) {
				p = r
			}
		}
		m[a], m[p] = m[p], m[a]
		for r := range n {
			if r == a {
				continue
			}
			f := m[r][a] / m[a][a]
			for c := a; c <= n; c++ {
				m[r][c] -= f * m[a][c]
			}
		}
	}
	x := make([]float64, n)
	for a := range n {
		x[a] = m[a][n] / m[a][a]
	}
	return x
}

func predict(w, x []float64) float64 {
	s := w[0]
	for j, v := range x {
		s += w[j+1] * v
	}
	return 1 / (1 + math.Exp(-s))
}

// doc is a document of the corpus in its normal form.
type doc struct {
	id        string
	in        sketch.Input
	published time.Time
}

// collect reads the corpus and makes the pairs.
func collect(t *testing.T, dir string) []pair {
	seg, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		t.Fatal(err)
	}
	var pairs []pair
	add := func(a, b *doc, set, label string, weight float64) {
		x, y := sketch.Make(a.in), sketch.Make(b.in)
		text, estimate := sketch.CompareTexts(a.in, b.in), sketch.Compare(&x, &y)
		th := sketch.DefaultThresholds()
		pairs = append(pairs, pair{set, label, weight, text.Evidence(), estimate.Evidence(),
			sketch.Judge(text, -1, th), sketch.Judge(estimate, -1, th)})
	}
	for _, set := range []string{"news-dev", "short-dev"} {
		docs := read(t, seg, dir, set)
		at := map[string]int{}
		for i := range docs {
			at[docs[i].id] = i
		}
		labelled := map[[2]int]bool{}
		lines(t, filepath.Join(dir, set+"-labels.tsv"), func(n int, line string) {
			f := strings.Split(line, "\t")
			if n == 0 || len(f) < 4 {
				return
			}
			later, earlier := max(at[f[0]], at[f[1]]), min(at[f[0]], at[f[1]])
			labelled[[2]int{later, earlier}] = true
			weight := 1.
			if f[3] == "low" {
				weight = .5
			}
			add(&docs[later], &docs[earlier], set, f[2], weight)
		})
		if set == "short-dev" {
			for _, p := range apart(docs, 20*24*time.Hour, "readhub", 2) {
				if !labelled[p] {
					add(&docs[p[0]], &docs[p[1]], "weak", "template", .05)
				}
			}
			continue
		}
		ruled := map[string]int{}
		weak := map[string]struct {
			label  string
			weight float64
		}{"near_dup": {"same", .02}, "template_not_copy": {"template", .05}}
		lines(t, filepath.Join(dir, set+"-pairs.jsonl.gz"), func(_ int, line string) {
			var r struct{ A, B, Label string }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			later, earlier := max(at[r.A], at[r.B]), min(at[r.A], at[r.B])
			w, ok := weak[r.Label]
			// One in a few, spread over the file.
			if ok && !labelled[[2]int{later, earlier}] && (later+earlier)%3 == 0 && ruled[r.Label] < weakMax {
				ruled[r.Label]++
				add(&docs[later], &docs[earlier], "weak", w.label, w.weight)
			}
		})
	}
	broadcast := read(t, seg, dir, "broadcast")
	for _, p := range apart(broadcast, 7*24*time.Hour, "", 2) {
		add(&broadcast[p[0]], &broadcast[p[1]], "weak", "template", .1)
	}
	reference := read(t, seg, dir, "techdocs")
	for _, p := range apart(reference, 0, "", 1) {
		add(&reference[p[0]], &reference[p[1]], "weak", "template", .01)
	}
	return pairs
}

// apart returns up to weakMax pairs that meet by their keys, resemble each
// other, and were published at least so far apart, or, for documents without a
// date, have different headlines.
func apart(docs []doc, least time.Duration, prefix string, each int) [][2]int {
	var found [][2]int
	posted := map[uint64][]int{}
	sketches := make([]sketch.Sketch, len(docs))
	for i := range docs {
		if !strings.HasPrefix(docs[i].id, prefix) {
			continue
		}
		sketches[i] = sketch.Make(docs[i].in)
		met := map[int]bool{}
		n := 0
		for _, k := range append(sketches[i].Keys(), sketches[i].PassageKeys()...) {
			bucket := posted[k]
			for _, j := range bucket[max(0, len(bucket)-24):] {
				if met[j] || n == each {
					continue
				}
				met[j] = true
				if least > 0 && docs[i].published.Sub(docs[j].published).Abs() < least || least == 0 && docs[i].in.Title == docs[j].in.Title {
					continue
				}
				if c := sketch.Compare(&sketches[i], &sketches[j]); c.Resemblance >= .12 && c.Resemblance <= .93 {
					found = append(found, [2]int{i, j})
					n++
				}
			}
			posted[k] = append(posted[k], i)
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(len(found), weakMax)]
}

// read analyses one file of the corpus.
func read(t *testing.T, seg *segment.Segmenter, dir, set string) []doc {
	var docs []doc
	var text segment.Text
	lines(t, filepath.Join(dir, set+".jsonl.gz"), func(_ int, line string) {
		var r struct {
			ID, Title, Body string
			Published       any
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		seg.Analyze(&text, r.Title, r.Body)
		d := doc{id: r.ID, in: sketch.Input{Title: strings.Clone(text.Title), Body: strings.Clone(text.Body)}, published: when(r.Published)}
		for _, n := range text.Names {
			d.in.Names = append(d.in.Names, strings.Clone(n))
		}
		docs = append(docs, d)
	})
	return docs
}

// when reads a date, a date-time, or milliseconds since 1970.
func when(v any) time.Time {
	s := fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		return time.UnixMilli(int64(f))
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(n)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at
		}
	}
	return time.Time{}
}

func lines(t *testing.T, path string, each func(n int, line string)) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		scanner = bufio.NewScanner(z)
	}
	scanner.Buffer(make([]byte, 1<<20), 1<<26)
	for n := 0; scanner.Scan(); n++ {
		each(n, scanner.Text())
	}
	if err := scanner.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
