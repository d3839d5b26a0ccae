package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/simhash"
	"jianguo/sketch"
)

// The labels with a column in the tables, by what a service should do with the later
// text. Other labels are counted by name.
const (
	Same      = "same"      // the same article: a duplicate
	Partial   = "partial"   // much text shared, a substantial rest: at most a suspect
	Update    = "update"    // the same event, new facts: at most a suspect
	Template  = "template"  // the same form, other facts: to be let through
	Different = "different" // nothing in common: to be let through
)

// The labels that only answer the second question: what does a reader of the earlier
// text learn from the later one?
const (
	Contained = "contained" // nothing: the earlier text has more of the same matter
	Extends   = "extends"   // all of the earlier text, and something new
	Overlap   = "overlap"   // each has its own
	Roundup   = "roundup"   // other matters, the earlier text among them
)

// adds reports whether the later text of a pair with this label adds something.
func adds(label string) bool {
	return label == Extends || label == Overlap || label == Roundup || label == Partial || label == Update
}

// Pair is one labelled pair.
type Pair struct {
	A          string `json:"a"`
	B          string `json:"b"`
	Label      string `json:"label"`
	Confidence string `json:"confidence,omitempty"`
	Note       string `json:"note,omitempty"`
}

// ReadPairs reads tab-separated lines `id_a id_b label [confidence [reason]]`; a header
// is skipped. Where the header names a fifth column `new`, a share of the later text, the
// reason is the sixth.
func ReadPairs(r io.Reader) ([]Pair, error) {
	var pairs []Pair
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	note := 4
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if n == 1 && strings.HasPrefix(line, "id_a\t") {
			if strings.Contains(line, "\tnew\t") {
				note = 5
			}
			continue
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) < 3 || f[0] == "" || f[1] == "" || f[2] == "" {
			return nil, fmt.Errorf("line %d: want id_a, id_b, label and maybe confidence and reason, separated by tabs", n)
		}
		f = append(f, "", "", "")
		pairs = append(pairs, Pair{A: f[0], B: f[1], Label: f[2], Confidence: f[3], Note: f[note]})
	}
	return pairs, lines.Err()
}

// ReadPairsJSON reads JSON lines {"a", "b", "label"}, as tools write them.
func ReadPairsJSON(r io.Reader) ([]Pair, error) {
	var pairs []Pair
	lines := json.NewDecoder(r)
	for {
		var p Pair
		err := lines.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pairs, nil
		}
		if err == nil && (p.A == "" || p.B == "" || p.Label == "") {
			err = errors.New("want a, b and label")
		}
		if err != nil {
			return nil, fmt.Errorf("pair %d: %w", len(pairs)+1, err)
		}
		pairs = append(pairs, p)
	}
}

// Judged is a pair and its verdict.
type Judged struct {
	Pair
	Earlier     string        `json:"earlier"`
	Later       string        `json:"later"`
	Runes       int           `json:"characters"` // of the shorter normal form
	Verdict     index.Verdict `json:"verdict"`
	Rule        index.Rule    `json:"rule"`
	Met         []index.Rule  `json:"met"` // how the search met the earlier text; empty: it did not
	Series      bool          `json:"series,omitempty"`
	Reason      string        `json:"reason,omitempty"`
	Facts       *index.Facts  `json:"facts,omitempty"`
	Distance    int           `json:"distance"` // bits
	S           float32       `json:"margin"`   // from the later text's margins
	Jaccard     float64       `json:"jaccard"`  // of 5-character shingles, exact
	Containment float64       `json:"containment"`
	Score       float32       `json:"score"` // of the judge on both texts: the same article
	Story       float32       `json:"story"` // the same for: one story, not two of a series

	Identical bool `json:"identical,omitempty"` // the same normal form

	heads      [2]string
	onTexts    sketch.Kind // the judgement on both texts, whether or not they met
	candidates []bool      // by MinHash setting
}

// Pairs judges labelled pairs on the bench. Pairs of unknown ids are an error.
func (b *Bench) Pairs(ctx context.Context, pairs []Pair) ([]Judged, error) {
	out := make([]Judged, 0, len(pairs))
	for n, p := range pairs {
		j, err := b.pair(ctx, p)
		if err != nil {
			return nil, err
		}
		out = append(out, j)
		b.cfg.Progress("judging pairs", int64(n+1), int64(len(pairs)))
	}
	return out, nil
}

func (b *Bench) pair(ctx context.Context, p Pair) (Judged, error) {
	first, i, err := b.item(p.A)
	if err != nil {
		return Judged{}, err
	}
	second, k, err := b.item(p.B)
	if err != nil {
		return Judged{}, err
	}
	if i > k {
		first, second, k = second, first, i
	}
	later := b.prepare(second)
	m, err := b.judge(ctx, later, first.ID, b.arrived[k])
	if err != nil {
		return Judged{}, err
	}
	earlier := b.prepare(first)
	j := Judged{Pair: p, Earlier: first.ID, Later: second.ID, Verdict: m.Verdict, Rule: m.Rule, Met: m.Met, Series: m.Series, Facts: m.Facts}
	if m.Facts != nil {
		j.Reason = m.Facts.Reason
	}
	j.Runes = min(utf8.RuneCountInString(later.Text.Body), utf8.RuneCountInString(earlier.Text.Body))
	j.Distance, j.S = distance(earlier, later), later.Print.S(earlier.Print.Fingerprint)
	j.Jaccard, j.Containment = Shingles(content(later), 5).With(Shingles(content(earlier), 5))
	texts := sketch.Judge(sketch.Align(later.Text, earlier.Text).Comparison, b.policy.Thresholds)
	j.Score, j.Story, j.onTexts = texts.Score, texts.Story, texts.Kind
	j.Identical = later.Exact == earlier.Exact && !later.Blank
	j.heads = [2]string{head(first), head(second)}
	signatures := [2]*Signature{Sign(content(earlier)), Sign(content(later))}
	for _, m := range minHashes {
		j.candidates = append(j.candidates, m.Meet(signatures[0], signatures[1]))
	}
	return j, nil
}

// distance returns the Hamming distance of two articles, or 64 if one has no features:
// such a text resembles no other.
func distance(a, b *index.Article) int {
	if a.Print.Empty() || b.Print.Empty() {
		return 64
	}
	return simhash.Distance(a.Print.Fingerprint, b.Print.Fingerprint)
}

// head returns the beginning of an item, for a report.
func head(it *ingest.Item) string {
	s := it.Title
	if s == "" {
		s = it.Body
	}
	r := []rune(strings.Join(strings.Fields(s), " "))
	return string(r[:min(len(r), 60)])
}

// Wrong reports whether the verdict contradicts the label: the same article was let
// through, or another one was rejected or, for a template, queued.
func (j *Judged) Wrong() bool {
	switch j.Label {
	case Same, Contained:
		return j.Verdict != index.Duplicate
	case Partial, Update, Extends, Overlap, Roundup:
		return j.Verdict != index.Suspect
	case Template, Different:
		return j.Verdict != index.Unique
	}
	return false
}

// gravity orders wrong verdicts, the gravest first: a lost article, a copy that was let
// through, useless work for editors, a related text that was not found.
func (j *Judged) gravity() int {
	switch {
	case !j.Wrong():
		return 0
	case j.Verdict == index.Duplicate:
		return 4
	case j.Label == Same && j.Verdict == index.Unique:
		return 3
	case j.Label == Same || j.Label == Contained:
		return 2
	}
	return 1
}

// Worst returns the wrongly judged pairs, the gravest first.
func Worst(judged []Judged) []Judged {
	wrong := slices.DeleteFunc(slices.Clone(judged), func(j Judged) bool { return !j.Wrong() })
	slices.SortStableFunc(wrong, func(a, b Judged) int { return b.gravity() - a.gravity() })
	return wrong
}
