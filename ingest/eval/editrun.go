package eval

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"jianguo/index"
	"jianguo/ingest"
)

// EditResult sums up one kind of edit at one strength, on texts of one length.
type EditResult struct {
	Edit     string  `json:"edit"`
	Form     bool    `json:"form_only"`
	Strength float64 `json:"strength"`
	Unit     string  `json:"unit,omitempty"`
	Length   string  `json:"length"`
	Tally
	Hamming    int `json:"hamming_3"`   // of the pairs: within three bits
	MinHash    int `json:"minhash_0.5"` // of the pairs: candidates of MinHash LSH
	ZeroBits   int `json:"distance_0"`  // of the pairs: the same fingerprint
	MedianBits int `json:"median_distance"`

	bits []int
}

// Edits edits up to perLength articles of each length in every way, and judges each
// edited version against its article. Articles are drawn by seed. An edit that leaves an
// article as it is does not count for it.
func (b *Bench) Edits(ctx context.Context, variants map[rune]rune, perLength int, seed uint64) ([]EditResult, error) {
	if len(b.items) == 0 {
		return nil, fmt.Errorf("eval: no documents to edit")
	}
	drawn := b.draw(perLength, seed)
	e := newEditor(&b.cfg, b.items, seed, variants)
	var out []EditResult
	total := 0
	edits := Edits()
	for _, d := range edits {
		total += len(d.Strengths)
	}
	for _, d := range edits {
		for _, strength := range d.Strengths {
			results, err := b.edit(ctx, e, d, strength, drawn)
			if err != nil {
				return nil, err
			}
			out = append(out, results...)
			total--
			b.cfg.Progress("editing", int64(len(edits)-min(total, len(edits))), int64(len(edits)))
		}
	}
	return out, nil
}

// original is an article drawn for editing.
type original struct {
	item    *ingest.Item
	article *index.Article
	bucket  string
	sign    *Signature
}

// shortest is the least number of characters of an article that is edited.
const shortest = 20

func (b *Bench) draw(perLength int, seed uint64) []original {
	rng := rand.New(rand.NewPCG(seed, 3))
	count := map[string]int{}
	var out []original
	for tries, i := range rng.Perm(len(b.items)) {
		if len(out) == perLength*len(lengthNames) || tries > 50*perLength*len(lengthNames) {
			break
		}
		if b.events[i].Verdict == index.Duplicate {
			continue
		}
		a := b.prepare(b.items[i])
		n := utf8.RuneCountInString(a.Text.Body)
		bucket := lengthBucket(n)
		if n < shortest || count[bucket] == perLength {
			continue
		}
		count[bucket]++
		out = append(out, original{b.items[i], a, bucket, Sign(content(a))})
	}
	return out
}

func (b *Bench) edit(ctx context.Context, e *editor, d Edit, strength float64, drawn []original) ([]EditResult, error) {
	byLength := map[string]*EditResult{}
	at := b.arrived[len(b.arrived)-1].Add(time.Second)
	for i := range drawn {
		o := &drawn[i]
		it := *o.item
		it.ID = "edited " + it.ID
		d.apply(e, &it, strength)
		if it.Body == o.item.Body && it.Title == o.item.Title {
			continue
		}
		a := b.prepare(&it)
		m, err := b.judge(ctx, a, o.item.ID, at)
		if err != nil {
			return nil, err
		}
		r := byLength[o.bucket]
		if r == nil {
			r = &EditResult{Edit: d.Name, Form: d.Form, Strength: strength, Unit: d.Unit, Length: o.bucket}
			byLength[o.bucket] = r
		}
		r.Tally.add(m.Verdict, m.Series, len(m.Met) > 0)
		bits := distance(a, o.article)
		r.bits = append(r.bits, bits)
		if bits <= 3 {
			r.Hamming++
		}
		if bits == 0 {
			r.ZeroBits++
		}
		if minHashes[0].Meet(Sign(content(a)), o.sign) {
			r.MinHash++
		}
	}
	var out []EditResult
	for _, name := range lengthNames {
		if r := byLength[name]; r != nil {
			slices.Sort(r.bits)
			r.MedianBits = r.bits[len(r.bits)/2]
			out = append(out, *r)
		}
	}
	return out, nil
}

// PrintEdits writes one line for each edit and strength, with the share of duplicates by
// length.
func PrintEdits(w io.Writer, results []EditResult) {
	fmt.Fprintln(w, "\nEdited articles, judged against the original; by length: share that is a duplicate")
	var t table
	t.row("", append([]string{"texts", "duplicate", "suspect", "not met", "hamming ≤ 3", "minhash 0.5", "same bits", "median bits"}, lengthNames...)...)
	for from := 0; from < len(results); {
		to := from
		for to < len(results) && results[to].Edit == results[from].Edit && results[to].Strength == results[from].Strength {
			to++
		}
		t.row(editName(&results[from]), editRow(results[from:to])...)
		from = to
	}
	t.print(w)
}

func editRow(rows []EditResult) []string {
	var sum EditResult
	var lengths []string
	bits := 0
	for _, name := range lengthNames {
		i := slices.IndexFunc(rows, func(r EditResult) bool { return r.Length == name })
		if i < 0 {
			lengths = append(lengths, "–")
			continue
		}
		r := &rows[i]
		lengths = append(lengths, percent(share(r.Duplicate, r.Pairs), r.Pairs))
		sum.Pairs += r.Pairs
		sum.Duplicate += r.Duplicate
		sum.Suspect += r.Suspect
		sum.Unmet += r.Unmet
		sum.Hamming += r.Hamming
		sum.MinHash += r.MinHash
		sum.ZeroBits += r.ZeroBits
		bits += r.MedianBits * r.Pairs
	}
	of := func(n int) string { return percent(share(n, sum.Pairs), sum.Pairs) }
	return append([]string{strconv.Itoa(sum.Pairs), of(sum.Duplicate), of(sum.Suspect), of(sum.Unmet), of(sum.Hamming), of(sum.MinHash),
		of(sum.ZeroBits), strconv.Itoa(bits / max(1, sum.Pairs))}, lengths...)
}

// editName is the kind and strength of an edit.
func editName(r *EditResult) string {
	switch {
	case r.Strength == 1 && r.Unit == "":
		return r.Edit
	case r.Unit == "sentences" || r.Strength > 1:
		return fmt.Sprintf("%s %g %s", r.Edit, r.Strength, r.Unit)
	}
	return fmt.Sprintf("%s %g %% %s", r.Edit, 100*r.Strength, r.Unit)
}
