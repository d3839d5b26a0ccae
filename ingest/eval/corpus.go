package eval

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
)

// Link is an item that a rule links to an earlier one, with their exact resemblance.
type Link struct {
	ID          string        `json:"id"`
	Of          string        `json:"of"`
	Verdict     index.Verdict `json:"verdict"`
	By          string        `json:"by,omitempty"` // how the earlier one was found, or the rule
	Reason      string        `json:"reason,omitempty"`
	Jaccard     float64       `json:"jaccard"`      // of 5-character shingles
	WordJaccard float64       `json:"word_jaccard"` // of 3-word shingles
	Containment float64       `json:"containment"`  // of the smaller text's 5-character shingles in the larger
	Facts       *index.Facts  `json:"facts,omitempty"`
	Heads       [2]string     `json:"heads"` // of the earlier and the later, for people
}

// unlike reports that both resemblances are low.
func (l *Link) unlike() bool { return max(l.Jaccard, l.WordJaccard) < .2 }

// Unrelated reports that the texts have nothing in common: they do not resemble each
// other, and neither contains a large part of the other.
func (l *Link) Unrelated() bool { return l.unlike() && l.Containment < .3 }

// FeedReport sums up a rule on a whole corpus, fed in order.
type FeedReport struct {
	Rule      string `json:"rule"`
	Items     int    `json:"items"`
	Duplicate int    `json:"duplicate"`
	Suspect   int    `json:"suspect"`
	Series    int    `json:"series"` // of the unique
	Unique    int    `json:"unique"`
	// Resemblances counts the rejections by exact Jaccard of 5-character shingles, in
	// the bands of resemblanceNames.
	Resemblances []int `json:"rejected_by_resemblance"`
	// Unlike are the rejections with both resemblances below .2. Unrelated are those of
	// them without any part in common; there must be none.
	Unlike    []Link `json:"rejected_below_.2"`
	Unrelated []Link `json:"strangers_rejected"`
	// UnlikeSuspects counts the suspects with both resemblances below .2.
	UnlikeSuspects int            `json:"suspects_below_.2"`
	Reasons        map[string]int `json:"reasons,omitempty"` // verdict and reason
	Samples        []Link         `json:"samples,omitempty"` // for reading
}

var (
	resemblanceEnds  = []float64{.2, .5, .7, .85}
	resemblanceNames = []string{"J < .2", ".2–.5", ".5–.7", ".7–.85", "≥ .85"}
)

// Corpus reports each rule on the whole corpus; ours is the result of the feed. Of each
// verdict, `samples` are drawn for reading by seed.
func (b *Bench) Corpus(rules []Rule, samples int, seed uint64) ([]FeedReport, error) {
	var out []FeedReport
	for _, rule := range rules {
		if rule.pairsOnly {
			continue
		}
		var links []Link
		if rule.feed == nil {
			links = b.links()
		} else {
			for i, of := range rule.feed(b) {
				if of >= 0 {
					links = append(links, Link{ID: b.items[i].ID, Of: b.items[of].ID, Verdict: index.Duplicate, By: rule.Name})
				}
			}
		}
		if err := b.compare(rule.Name, links); err != nil {
			return nil, err
		}
		out = append(out, b.sum(rule.Name, links, samples, seed))
	}
	return out, nil
}

// links are the items that our feed linked to an earlier one.
func (b *Bench) links() []Link {
	var out []Link
	for i := range b.events {
		e := &b.events[i]
		if e.Of == "" {
			continue
		}
		l := Link{ID: e.ID, Of: e.Of, Verdict: e.Verdict, By: e.Rule.String(), Facts: e.Facts}
		if e.Facts != nil {
			l.Reason = e.Facts.Reason
		}
		out = append(out, l)
	}
	return out
}

// compare computes the exact resemblance of each link.
func (b *Bench) compare(what string, links []Link) error {
	done := 0
	const batch = 1024
	for part := range slices.Chunk(links, batch) {
		err := b.parallel(len(part), func(i int) error {
			l := &part[i]
			var sets, words [2]Set
			for side, id := range [2]string{l.Of, l.ID} {
				it, _, err := b.item(id)
				if err != nil {
					return err
				}
				t := new(segment.Text)
				a := ingest.Prepare(b.cfg.Segmenter, t, it)
				sets[side], words[side], l.Heads[side] = Shingles(content(a), 5), WordShingles(t.Words, 3), head(it)
			}
			l.Jaccard, l.Containment = sets[0].With(sets[1])
			l.WordJaccard, _ = words[0].With(words[1])
			return nil
		})
		if err != nil {
			return err
		}
		done += len(part)
		b.cfg.Progress("comparing "+what, int64(done), int64(len(links)))
	}
	return nil
}

func (b *Bench) sum(rule string, links []Link, samples int, seed uint64) FeedReport {
	r := FeedReport{Rule: rule, Items: len(b.items), Resemblances: make([]int, len(resemblanceNames)), Reasons: map[string]int{}}
	for i := range links {
		l := &links[i]
		if l.Reason != "" {
			r.Reasons[l.Verdict.String()+" "+l.Reason]++
		}
		switch l.Verdict {
		case index.Duplicate:
			r.Duplicate++
			band := 0
			for band < len(resemblanceEnds) && l.Jaccard >= resemblanceEnds[band] {
				band++
			}
			r.Resemblances[band]++
			if l.unlike() {
				r.Unlike = append(r.Unlike, *l)
			}
			if l.Unrelated() {
				r.Unrelated = append(r.Unrelated, *l)
			}
		case index.Suspect:
			r.Suspect++
			if l.unlike() {
				r.UnlikeSuspects++
			}
		default:
			r.Series++
		}
	}
	r.Unique = r.Items - r.Duplicate - r.Suspect
	r.Samples = drawLinks(links, samples, seed)
	return r
}

// drawLinks draws up to n links of each verdict.
func drawLinks(links []Link, n int, seed uint64) []Link {
	rng := rand.New(rand.NewPCG(seed, 1))
	drawn := map[index.Verdict]int{}
	var out []Link
	for _, i := range rng.Perm(len(links)) {
		if v := links[i].Verdict; drawn[v] < n {
			drawn[v]++
			out = append(out, links[i])
		}
	}
	slices.SortStableFunc(out, func(x, y Link) int { return cmp.Compare(y.Verdict, x.Verdict) })
	return out
}

// PrintCorpus writes the tables, the reasons, the rejected unrelated texts, and the samples.
func PrintCorpus(w io.Writer, reports []FeedReport) {
	fmt.Fprintln(w, "\nThe whole corpus, fed in order")
	var t table
	t.row("", "duplicate", "suspect", "of thousand", "series", "suspects J < .2", "rejected J < .2", "unrelated rejected")
	for _, r := range reports {
		t.row(r.Rule, counted(r.Duplicate, r.Items), counted(r.Suspect, r.Items), strconv.FormatFloat(1000*share(r.Suspect, r.Items), 'f', 1, 64),
			strconv.Itoa(r.Series), fmt.Sprintf("%d (%.2f %%)", r.UnlikeSuspects, 100*share(r.UnlikeSuspects, r.Items)), strconv.Itoa(len(r.Unlike)),
			strconv.Itoa(len(r.Unrelated)))
	}
	t.print(w)
	fmt.Fprintln(w, "\nThe rejected, by exact Jaccard J of 5-character shingles with what they were rejected for")
	t = table{}
	t.row("", resemblanceNames...)
	for _, r := range reports {
		var cells []string
		for _, n := range r.Resemblances {
			cells = append(cells, counted(n, r.Duplicate))
		}
		t.row(r.Rule, cells...)
	}
	t.print(w)
	for i := range reports {
		reports[i].printLinks(w)
	}
}

func (r *FeedReport) printLinks(w io.Writer) {
	if len(r.Reasons) > 0 {
		var parts []string
		for reason, n := range r.Reasons {
			parts = append(parts, fmt.Sprintf("%s %d", reason, n))
		}
		slices.Sort(parts)
		fmt.Fprintf(w, "\n%s, by reason: %s\n", r.Rule, strings.Join(parts, ", "))
	}
	for _, list := range []struct {
		name  string
		links []Link
	}{{"unrelated rejected", r.Unrelated}, {"for reading", r.Samples}} {
		if len(list.links) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s, %s\n", r.Rule, list.name)
		for i := range list.links[:min(len(list.links), 50)] {
			list.links[i].print(w)
		}
	}
}

func (l *Link) print(w io.Writer) {
	verdict := l.Verdict.String()
	if l.Verdict == index.Unique {
		verdict = "series"
	}
	fmt.Fprintf(w, "  %s by %s %s: %s | %s\n    J %.3f, words %.3f, containment %.3f", verdict, l.By, l.Reason, l.Of, l.ID, l.Jaccard, l.WordJaccard, l.Containment)
	if f := l.Facts; f != nil && f.Numbers > 0 {
		fmt.Fprint(w, figures(f))
	}
	fmt.Fprintf(w, "\n    %s\n    %s\n", l.Heads[0], l.Heads[1])
}
