package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/jsonl"
	"jianguo/internal/must"
)

// What a reader who knows the earlier text learns from the later one.
const (
	Nothing   = 0 // the same facts, in the same or in other words
	Trifle    = 1 // few editors would publish it: neither verdict is wrong
	Something = 2 // a fact that a reader would want, or another matter
)

// Label is what a person says about an earlier text A and a later text B.
type Label struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Kind string `json:"kind"` // how they stand to each other: same, extends, template …
	Adds int    `json:"adds"` // Nothing, Trifle or Something
	Conf string `json:"conf,omitempty"`
	Note string `json:"note,omitempty"`
}

// other reports whether B is about another subject or matter, or denies A.
func (l *Label) other() bool {
	return l.Adds == Something && (l.Kind == "template" || l.Kind == "different" || l.Kind == "denial")
}

// wrong reports whether a verdict contradicts the label.
func (l *Label) wrong(v index.Verdict) bool {
	return l.Adds == Nothing && v != index.Duplicate || l.Adds == Something && v == index.Duplicate ||
		l.other() && v == index.Suspect
}

// labelHeader is the first line of a file of labels.
const labelHeader = "id_a\tid_b\tkind\tadds\tconf\tnote"

// ReadLabels reads a file of tab-separated lines under the header `id_a id_b kind adds conf note`.
func ReadLabels(stdin io.Reader, name string) (labels []Label, err error) {
	err = jsonl.Read(stdin, name, func(n int, line []byte) error {
		if n == 1 {
			if string(line) != labelHeader {
				return fmt.Errorf("want the header %q", labelHeader)
			}
			return nil
		}
		f := append(strings.Split(string(line), "\t"), "", "")
		adds := -1
		if len(f) >= 6 {
			adds = slices.Index([]string{"0", "1", "2"}, f[3])
		}
		if adds < 0 || f[0] == "" || f[1] == "" || f[2] == "" {
			return errors.New("want id_a, id_b, kind, adds (0, 1 or 2), conf and note, separated by tabs")
		}
		labels = append(labels, Label{A: f[0], B: f[1], Kind: f[2], Adds: adds, Conf: f[4], Note: f[5]})
		return nil
	})
	return labels, err
}

// Half is "a" or "b", by a hash of two ids: rules are written on one half of the labels and
// measured on the other.
func Half(a, b string) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, a+"\t"+b)
	return [2]string{"a", "b"}[h.Sum32()%2]
}

// TextPair is a pair of texts, labelled by others: Source is the earlier one.
type TextPair struct {
	Source, Target string
	Label          json.RawMessage // text or a number
}

// ReadTextPair reads one line of a file of pairs.
func ReadTextPair(line []byte) (p TextPair, err error) {
	err = json.Unmarshal(line, &p)
	if err == nil && (p.Source == "" || p.Target == "" || p.label() == "") {
		err = errors.New("want source, target and label")
	}
	return p, err
}

func (p *TextPair) label() string { return string(bytes.Trim(p.Label, `"`)) }

// positive reports whether the label says that both texts tell the same.
func (p *TextPair) positive() bool { return p.label() == "1" || p.label() == "agreed" }

// Judged is a labelled pair, our verdict on the later text, and what the textbook rules measure.
type Judged struct {
	Label
	Verdict  index.Verdict `json:"verdict"`
	Met      bool          `json:"met"` // the search found the earlier text
	Event    index.Event   `json:"event"`
	Distance int           `json:"distance"` // bits between the fingerprints; 64 if one text has no features
	Jaccard  float64       `json:"jaccard"`  // of 5-character shingles, exact
	MinHash  bool          `json:"minhash"`  // candidates of each other
	Same     bool          `json:"same"`     // the same normal form

	heads [2]string
}

// Labels judges labelled pairs of items of the corpus. An unknown id is an error.
func (b *Bench) Labels(ctx context.Context, labels []Label) ([]Judged, error) {
	return must.Try(func() []Judged {
		out := make([]Judged, 0, len(labels))
		for n, l := range labels {
			earlier, at := b.item(l.A)
			later, arrived := b.item(l.B)
			if at.Before(arrived) {
				at = arrived
			}
			out = append(out, b.judge(ctx, l, earlier, later, at))
			b.cfg.Progress("judging pairs", int64(n+1), int64(len(labels)))
		}
		return out
	})
}

// item returns an item of the corpus and when it arrived. It panics on errors (must).
func (b *Bench) item(id string) (*ingest.Item, time.Time) {
	i, ok := b.position[id]
	if !ok {
		must.Do(fmt.Errorf("eval: item %q is labelled, but not in the documents", id))
	}
	return b.items[i], b.arrived[i]
}

// Pairs feeds the sources of pairs and judges each target against its source. The texts have
// no headlines.
func Pairs(ctx context.Context, cfg Config, pairs []TextPair) (out []Judged, _ Setting, err error) {
	ids := map[string]string{}
	var items []*ingest.Item
	for _, p := range pairs {
		if ids[p.Source] == "" {
			ids[p.Source] = fmt.Sprintf("source %d", len(items)+1)
			items = append(items, &ingest.Item{ID: ids[p.Source], Body: p.Source})
		}
	}
	b, err := Feed(ctx, cfg, items)
	if err != nil {
		return nil, Setting{}, err
	}
	out = make([]Judged, 0, len(pairs))
	err = must.Catch(func() {
		for n, p := range pairs {
			later := &ingest.Item{ID: fmt.Sprintf("target %d", n+1), Body: p.Target}
			l := Label{A: ids[p.Source], B: later.ID, Kind: p.label(), Adds: Something}
			if p.positive() {
				l.Adds = Nothing
			}
			out = append(out, b.judge(ctx, l, items[b.position[l.A]], later, time.Now()))
			b.cfg.Progress("judging pairs", int64(n+1), int64(len(pairs)))
		}
	})
	return out, b.Setting(), errors.Join(err, b.Close())
}

// judge judges a later item against one earlier item of the corpus.
func (b *Bench) judge(ctx context.Context, l Label, earlier, later *ingest.Item, at time.Time) Judged {
	seg := b.cfg.Segmenter
	first, a := ingest.Prepare(seg, earlier), ingest.Prepare(seg, later)
	var e index.Event
	var met bool
	must.Dof(must.Catch(func() { e, met = b.check(ctx, a, at, earlier.ID) }), "eval: %q and %q", l.A, l.B)
	j := Judged{Label: l, Verdict: e.Verdict, Met: met, Event: e, heads: [2]string{head(earlier), head(later)},
		Distance: distance(first, a), Same: a.Exact == first.Exact && !a.Blank}
	texts := [2]string{content(first), content(a)}
	shingles := [2]Set{Shingles(texts[0], 5), Shingles(texts[1], 5)}
	j.Jaccard, _ = shingles[0].With(shingles[1])
	j.MinHash = shingles[0].Sign().Meets(shingles[1].Sign())
	return j
}

// head returns the beginning of an item, for a report.
func head(it *ingest.Item) string {
	r := []rune(oneLine(cmp.Or(it.Title, it.Body)))
	return string(r[:min(len(r), 60)])
}
