package eval

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"jianguo/index"
	"jianguo/ingest"
)

// Link is an item that the feed linked to an earlier one.
type Link struct {
	ID      string        `json:"id"`
	Of      string        `json:"of"`
	Verdict index.Verdict `json:"verdict"`
	Why     string        `json:"why"`
	Heads   [2]string     `json:"heads"` // of the earlier and the later text
	Jaccard float64       `json:"jaccard"`
	// Containment is the share of the smaller text's shingles that are in the larger one.
	Containment float64 `json:"containment"`
}

// CorpusReport sums up what became of a corpus, fed in order.
type CorpusReport struct {
	Items    int `json:"items"`
	Rejected int `json:"rejected"`
	Suspect  int `json:"suspect"`
	Series   int `json:"series"` // another member of a series
	// Rules counts the rejected and the suspects by how the earlier text was found.
	Rules map[string]int `json:"rules"`
	// Unrelated are rejections of texts that have next to nothing in common with the earlier
	// one: there must be none.
	Unrelated []Link `json:"unrelated_rejected"`
	Samples   []Link `json:"samples,omitempty"` // for reading
}

// Corpus sums up the feed. Of each verdict, and of members of series, `samples` links are drawn for reading.
func (b *Bench) Corpus(samples int, seed uint64) *CorpusReport {
	r := &CorpusReport{Items: len(b.items), Rules: map[string]int{}}
	var links []Link
	for i := range b.events {
		e := &b.events[i]
		switch e.Verdict {
		case index.Duplicate:
			r.Rejected++
		case index.Suspect:
			r.Suspect++
		default:
			if e.Series == 0 {
				continue
			}
			r.Series++
		}
		if e.Verdict != index.Unique {
			r.Rules[e.Verdict.String()+" by "+e.Rule.String()]++
		}
		link := b.link(e)
		if e.Verdict == index.Duplicate && link.Jaccard < .1 && link.Containment < .2 {
			r.Unrelated = append(r.Unrelated, link)
		}
		links = append(links, link)
		b.cfg.Progress("comparing", int64(i+1), int64(len(b.events)))
	}
	drawn := map[index.Verdict]int{}
	for _, i := range rand.New(rand.NewPCG(seed, seed)).Perm(len(links)) {
		if v := links[i].Verdict; drawn[v] < samples {
			drawn[v]++
			r.Samples = append(r.Samples, links[i])
		}
	}
	slices.SortStableFunc(r.Samples, func(x, y Link) int { return int(y.Verdict) - int(x.Verdict) })
	return r
}

// link compares the text of an event with the earlier one.
func (b *Bench) link(e *index.Event) Link {
	l := Link{ID: e.ID, Of: e.Of, Verdict: e.Verdict, Why: e.Why}
	var sets [2]Set
	for side, id := range [2]string{e.Of, e.ID} {
		it := b.items[b.position[id]] // both were fed
		sets[side], l.Heads[side] = Shingles(content(ingest.Prepare(b.cfg.Segmenter, it)), 5), head(it)
	}
	l.Jaccard, l.Containment = sets[0].With(sets[1])
	return l
}

// Print writes the counts, unrelated texts that were rejected, and the samples.
func (r *CorpusReport) Print(w io.Writer) {
	fmt.Fprintln(w, "\nThe whole corpus, fed in order")
	t := newTable(w, "items", "share")
	row := func(name string, n int) { t.row(name, strconv.Itoa(n), percent(n, r.Items)) }
	row("rejected", r.Rejected)
	row("suspect", r.Suspect)
	row("series", r.Series)
	row("unrelated rejected", len(r.Unrelated))
	for _, name := range slices.Sorted(maps.Keys(r.Rules)) {
		row("  "+name, r.Rules[name])
	}
	_ = t.Flush()
	for _, list := range []struct {
		name  string
		links []Link
	}{{"Unrelated, and rejected", r.Unrelated}, {"For reading", r.Samples}} {
		if len(list.links) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", list.name)
		for _, l := range list.links {
			fmt.Fprintf(w, "  %s: %s | %s, Jaccard %.2f, containment %.2f\n",
				l.Verdict, l.Of, l.ID, l.Jaccard, l.Containment)
			fmt.Fprintf(w, "    earlier  %s\n    later    %s\n    says     %s\n", l.Heads[0], l.Heads[1], l.Why)
		}
	}
}
