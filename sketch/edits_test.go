//go:build quality

package sketch_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"encoding/json"
)

// edits are articles and pairs of nearly equal ones with what an editor might have done to them. No label is
// in doubt, but each pair counts little: people call an addition one sooner where it says something.
var edits = []struct {
	name, label string
	weight      float64
	apply       func(e *editor, later, earlier *doc) (*doc, *doc)
}{
	{"a fifth is foreign", "extends", .12, func(e *editor, _, d *doc) (*doc, *doc) { return e.insert(d, .2), d }},
	{"copy, a fifth foreign", "extends", .12, func(e *editor, l, d *doc) (*doc, *doc) { return e.insert(l, .2), d }},
	{"a fifth is new", "extends", .02, func(e *editor, _, d *doc) (*doc, *doc) { return d, e.cut(d, .2) }},
	{"copy, a fifth new", "extends", .04, func(e *editor, l, d *doc) (*doc, *doc) { return l, e.cut(d, .2) }},
	{"a fifth was cut", "contained", .03, func(e *editor, _, d *doc) (*doc, *doc) { return e.cut(d, .2), d }},
	{"half was cut", "contained", .03, func(e *editor, _, d *doc) (*doc, *doc) { return e.cut(d, .5), d }},
}

// editedMost bounds how many pairs are edited.
const editedMost = 220

// edited adds edited pairs of news.
func (c *collector) edited(d *documents) {
	e := editor{rng: rand.New(rand.NewPCG(7, 7)), docs: d.docs}
	var near [][2]*doc
	lines(c.t, filepath.Join(c.dir, d.name+"-pairs.jsonl.gz"), func(n int, line string) {
		var r struct{ A, B, Label string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			c.t.Fatal(err)
		}
		a, b := d.at[r.A], d.at[r.B]
		later, earlier := &d.docs[max(a, b)], &d.docs[min(a, b)]
		if _, labelled := c.known[[2]*doc{later, earlier}]; !labelled && r.Label == "near_dup" && (a+b)%3 == 1 && e.fits(later) && e.fits(earlier) {
			near = append(near, [2]*doc{later, earlier})
		}
	})
	e.rng.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
	for _, p := range near[:min(len(near), editedMost)] {
		for _, x := range edits {
			later, earlier := x.apply(&e, p[0], p[1])
			c.add(later, earlier, pair{set: x.name, label: "partial", novelty: x.label, weak: true, weight: x.weight})
		}
	}
}

type editor struct {
	rng  *rand.Rand
	docs []doc
}

func (*editor) fits(d *doc) bool {
	n := utf8.RuneCountInString(d.in.Body)
	return n > 150 && n < 1500
}

// sentenceRunes is the least length of what passes for a sentence.
const sentenceRunes = 28

// sentences are clauses, several where they are short.
func sentences(body string) (out []string) {
	last := ""
	for clause := range strings.SplitSeq(body, "\n") {
		last = strings.TrimPrefix(last+"\n"+clause, "\n")
		if utf8.RuneCountInString(last) >= sentenceRunes {
			out, last = append(out, last), ""
		}
	}
	if last != "" {
		out = append(out, last)
	}
	return out
}

// with is an article with another body.
func with(d *doc, sentences []string, names ...string) *doc {
	out := *d
	out.in.Body = strings.Join(sentences, "\n")
	out.in.Names = slices.DeleteFunc(append(names, d.in.Names...), func(n string) bool { return !strings.Contains(out.in.Body, n) })
	return &out
}

// insert puts sentences of other articles into one, in one place or in several, until they are a share of it.
func (e *editor) insert(d *doc, share float64) *doc {
	own := sentences(d.in.Body)
	want := int(share / (1 - share) * float64(utf8.RuneCountInString(d.in.Body)))
	block := e.rng.IntN(2) == 0
	at := e.rng.IntN(len(own) + 1)
	var names []string
	for want > 0 {
		o := &e.docs[e.rng.IntN(len(e.docs))]
		s := sentences(o.in.Body)
		if len(s) < 4 {
			continue
		}
		names = append(names, o.in.Names...)
		for k := 1 + e.rng.IntN(len(s)-3); k < len(s)-1 && want > 0; k++ {
			if !block {
				at = e.rng.IntN(len(own) + 1)
			}
			own = slices.Insert(own, at, s[k])
			at++
			want -= utf8.RuneCountInString(s[k])
			if !block && e.rng.IntN(2) == 0 {
				break
			}
		}
	}
	return with(d, own, names...)
}

// cut takes sentences that follow each other out of an article, but not the first one.
func (e *editor) cut(d *doc, share float64) *doc {
	s := sentences(d.in.Body)
	want := share * float64(utf8.RuneCountInString(d.in.Body))
	from := 1 + e.rng.IntN(max(1, len(s)-1))
	to := from
	for n := 0.; n < want && len(s) > 1; {
		if to < len(s) {
			n += float64(utf8.RuneCountInString(s[to]))
			to++
		} else if from > 1 {
			from--
			n += float64(utf8.RuneCountInString(s[from]))
		} else {
			break
		}
	}
	return with(d, slices.Concat(s[:min(from, len(s))], s[min(to, len(s)):]))
}
