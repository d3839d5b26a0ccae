//go:build quality

package sketch_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
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

// pair is a labelled or weakly labelled pair.
type pair struct {
	set, label, confidence string
	again                  string // the label of a second reading
	novelty                string // the label by what the later text adds; the label where it was not read for that
	given                  bool   // one of the corpus's own labels
	weak                   bool   // labelled by rule
	weight                 float64
	text, estimate         sketch.Comparison
	textClues, sketchClues sketch.Evidence
	timeless               sketch.Evidence // textClues, as if no times were known
}

func (p *pair) news() bool { return p.set == "news" || p.set == "news-more" }

func (p *pair) comparison(exact bool) *sketch.Comparison {
	if exact {
		return &p.text
	}
	return &p.estimate
}

func (p *pair) evidence(exact bool) *sketch.Evidence {
	if exact {
		return &p.textClues
	}
	return &p.sketchClues
}

// sets are the sets of labelled pairs.
var sets = []string{"news", "news-more", "edge", "short", "short-more", "techdocs", "broadcast"}

// weakMax bounds how many pairs of a kind are labelled by rule.
const weakMax = 1000

// documents is one file of the corpus.
type documents struct {
	name string
	docs []doc
	at   map[string]int
}

// doc is a document of the corpus in its normal form.
type doc struct {
	id        string
	in        sketch.Input
	published time.Time
}

// collector makes the pairs.
type collector struct {
	t     *testing.T
	dir   string
	pairs []pair
	known map[[2]*doc]int // labelled pairs
}

// collect reads the corpus and makes the pairs. A pair counts one, and two if
// the corpus itself labels it: where readers differ, that one drew the line.
// Reference pages and broadcasts, where templates differ by a word, count
// little: they would teach that no likeness is enough.
func collect(t *testing.T, dir string) []pair {
	seg, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{t: t, dir: dir, known: map[[2]*doc]int{}}
	news := read(t, seg, dir, "news-dev")
	c.labelled(news, filepath.Join(dir, "news-dev-labels.tsv"), "news", 2)
	c.labelled(news, "testdata/labels-news.tsv", "news-more", 1)
	c.labelled(news, "testdata/labels-edge.tsv", "edge", 1)
	c.novelty(news, "testdata/labels-novelty.tsv")
	c.novelty(news, filepath.Join(dir, "news-dev-novelty.tsv")) // the corpus's own reading counts where both are there
	c.ruled(news)
	c.edited(news)
	short := read(t, seg, dir, "short-dev")
	c.labelled(short, filepath.Join(dir, "short-dev-labels.tsv"), "short", 2)
	c.labelled(short, "testdata/labels-short.tsv", "short-more", 1)
	c.novelty(short, "testdata/labels-novelty.tsv")
	c.apart(short, 20*24*time.Hour, "readhub", 2, .05)
	reference := read(t, seg, dir, "techdocs")
	c.labelled(reference, "testdata/labels-techdocs.tsv", "techdocs", .09)
	c.apart(reference, 0, "", 1, .02)
	broadcast := read(t, seg, dir, "broadcast")
	c.labelled(broadcast, "testdata/labels-broadcast.tsv", "broadcast", .15)
	c.apart(broadcast, 7*24*time.Hour, "", 2, .1)
	return c.pairs
}

func (c *collector) add(later, earlier *doc, p pair) {
	x, y := sketch.Make(later.in), sketch.Make(earlier.in)
	p.text, p.estimate = sketch.Align(later.in, earlier.in).Comparison, sketch.Compare(&x, &y)
	p.textClues, p.sketchClues = p.text.Evidence(), p.estimate.Evidence()
	p.timeless = p.textClues
	p.timeless[sketch.Apart] = 0
	c.pairs = append(c.pairs, p)
}

// labelled adds the pairs of a file of labels. The second reading of a pair is
// noted, and does not count.
func (c *collector) labelled(d *documents, path, set string, weight float64) {
	lines(c.t, path, func(n int, line string) {
		f := strings.Split(line, "\t")
		if n == 0 || len(f) < 4 {
			return
		}
		a, okA := d.at[f[0]]
		b, okB := d.at[f[1]]
		if !okA || !okB {
			c.t.Fatalf("%s: no document %s or %s", path, f[0], f[1])
		}
		later, earlier := &d.docs[max(a, b)], &d.docs[min(a, b)]
		if i, ok := c.known[[2]*doc{later, earlier}]; ok {
			c.pairs[i].again = f[2]
			return
		}
		c.known[[2]*doc{later, earlier}] = len(c.pairs)
		p := pair{set: set, label: f[2], novelty: f[2], confidence: f[3], given: !strings.HasPrefix(path, "testdata"), weight: weight}
		c.add(later, earlier, p)
	})
}

// novelty adds what the later text adds to labelled pairs.
func (c *collector) novelty(d *documents, path string) {
	lines(c.t, path, func(n int, line string) {
		f := strings.Split(line, "\t")
		if n == 0 || len(f) < 3 {
			return
		}
		a, okA := d.at[f[0]]
		b, okB := d.at[f[1]]
		if !okA || !okB {
			return
		}
		if i, ok := c.known[[2]*doc{&d.docs[max(a, b)], &d.docs[min(a, b)]}]; ok {
			c.pairs[i].novelty = f[2]
		}
	})
}

// ruled adds pairs of news that were labelled by rule, one in a few, spread
// over the file.
func (c *collector) ruled(d *documents) {
	rules := map[string]struct {
		label  string
		weight float64
	}{"near_dup": {"same", .02}, "template_not_copy": {"template", .05}}
	count := map[string]int{}
	lines(c.t, filepath.Join(c.dir, d.name+"-pairs.jsonl.gz"), func(_ int, line string) {
		var r struct{ A, B, Label string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			c.t.Fatal(err)
		}
		a, b := d.at[r.A], d.at[r.B]
		later, earlier := &d.docs[max(a, b)], &d.docs[min(a, b)]
		_, labelled := c.known[[2]*doc{later, earlier}]
		if w, ok := rules[r.Label]; ok && !labelled && (a+b)%3 == 0 && count[r.Label] < weakMax {
			count[r.Label]++
			c.add(later, earlier, pair{set: "weak", label: w.label, novelty: w.label, weak: true, weight: w.weight})
		}
	})
}

// apart adds up to weakMax pairs that meet by their keys, resemble each other,
// and were published at least so far apart, or, for documents without a date,
// have different headlines: templates, mostly.
func (c *collector) apart(d *documents, least time.Duration, prefix string, each int, weight float64) {
	var found [][2]*doc
	posted := map[uint64][]int{}
	sketches := make([]sketch.Sketch, len(d.docs))
	for i := range d.docs {
		later := &d.docs[i]
		if !strings.HasPrefix(later.id, prefix) {
			continue
		}
		sketches[i] = sketch.Make(later.in)
		met := map[int]bool{}
		n := 0
		for _, k := range append(sketches[i].Keys(), sketches[i].PassageKeys()...) {
			bucket := posted[k]
			for _, j := range bucket[max(0, len(bucket)-24):] {
				earlier := &d.docs[j]
				if met[j] || n == each {
					continue
				}
				met[j] = true
				if least > 0 && later.published.Sub(earlier.published).Abs() < least || least == 0 && later.in.Title == earlier.in.Title {
					continue
				}
				_, labelled := c.known[[2]*doc{later, earlier}]
				if r := sketch.Compare(&sketches[i], &sketches[j]); r.Resemblance >= .12 && r.Resemblance <= .93 && !labelled {
					found = append(found, [2]*doc{later, earlier})
					n++
				}
			}
			posted[k] = append(posted[k], i)
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	for _, p := range found[:min(len(found), weakMax)] {
		c.add(p[0], p[1], pair{set: "weak", label: "template", novelty: "template", weak: true, weight: weight})
	}
}

// read analyses one file of the corpus.
func read(t *testing.T, seg *segment.Segmenter, dir, name string) *documents {
	out := &documents{name: name, at: map[string]int{}}
	var text segment.Text
	lines(t, filepath.Join(dir, name+".jsonl.gz"), func(_ int, line string) {
		var r struct {
			ID, Title, Body string
			Published       any
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		seg.Analyze(&text, r.Title, r.Body)
		at := when(r.Published)
		d := doc{id: r.ID, in: sketch.Input{Title: strings.Clone(text.Title), Body: strings.Clone(text.Body), Published: sketch.Day(at)}, published: at}
		for _, n := range text.Names {
			d.in.Names = append(d.in.Names, strings.Clone(n))
		}
		out.at[d.id] = len(out.docs)
		out.docs = append(out.docs, d)
	})
	return out
}

// when reads a date, a date-time, or seconds or milliseconds since 1970.
func when(v any) time.Time {
	s := fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		if f < 1e11 {
			return time.Unix(int64(f), 0)
		}
		return time.UnixMilli(int64(f))
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(n)
	}
	for _, layout := range []string{time.RFC3339, time.RubyDate, "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
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
