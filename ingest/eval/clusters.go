package eval

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"jianguo/index"
)

// Clusters compares the clusters of the feed with those of the labels, over the labelled items.
type Clusters struct {
	Items    int `json:"items"`
	Labelled int `json:"labelled"` // clusters: items linked by `same` and `contained`
	Found    int `json:"found"`
	// Rand is the adjusted Rand index (Hubert & Arabie 1985): 1 for the same clusters, 0 for
	// clusters by chance. Two items that no label links count as different.
	Rand float64 `json:"adjusted_rand_index"`
}

// clusters compares the clusters of the labelled items.
func (b *Bench) clusters(judged []Judged) Clusters {
	var copies []Judged
	labelled, found := map[string]string{}, map[string]string{}
	for _, j := range judged {
		if j.Label == Same || j.Label == Contained {
			copies = append(copies, j)
		}
		for _, id := range [2]string{j.A, j.B} {
			labelled[id] = id
			found[id] = strconv.Itoa(int(b.events[b.position[id]].Cluster))
		}
	}
	for _, group := range components(copies) {
		for _, j := range group {
			labelled[j.A], labelled[j.B] = group[0].A, group[0].A
		}
	}
	return Clusters{Items: len(labelled), Labelled: len(sizes(labelled)), Found: len(sizes(found)), Rand: adjustedRand(labelled, found)}
}

// sizes counts the items of each cluster.
func sizes[K comparable](of map[string]K) map[K]int {
	out := map[K]int{}
	for _, cluster := range of {
		out[cluster]++
	}
	return out
}

// adjustedRand is the adjusted Rand index of two partitions of the same items.
func adjustedRand(a, b map[string]string) float64 {
	both := make(map[string][2]string, len(a))
	for id := range a {
		both[id] = [2]string{a[id], b[id]}
	}
	together, inA, inB, all := pairsOf(sizes(both)), pairsOf(sizes(a)), pairsOf(sizes(b)), float64(len(a))*float64(len(a)-1)/2
	if all == 0 {
		return 1
	}
	chance := inA * inB / all
	if most := (inA + inB) / 2; most != chance {
		return (together - chance) / (most - chance)
	}
	return 1
}

// pairsOf is the number of pairs of items that share a cluster.
func pairsOf[K comparable](sizes map[K]int) (n float64) {
	for _, size := range sizes {
		n += float64(size) * float64(size-1) / 2
	}
	return n
}

// Level is what one position of the dial makes of the labelled pairs, and of a sample of the
// corpus as in SweepRow.
type Level struct {
	Strictness string  `json:"strictness"`
	Labels     []Tally `json:"labels"`
	Novelty    []Tally `json:"novelty"`
	Sampled    int     `json:"sampled"`
	Duplicate  float64 `json:"duplicate"`
	Suspect    float64 `json:"suspect"`
}

// Levels judges the labelled pairs at each position of the dial.
func (b *Bench) Levels(ctx context.Context, judged []Judged, sampled int, seed uint64) (out []Level, err error) {
	pairs, items, err := b.repeat(ctx, judged, sampled, seed)
	if err != nil {
		return nil, err
	}
	for n, strictness := range index.Strictnesses {
		again, counts, err := b.rejudge(ctx, b.policy.At(strictness), pairs, items)
		if err != nil {
			return nil, err
		}
		out = append(out, Level{Strictness: strictness, Novelty: novelty(again), Labels: tally(again, func(j *Judged) string { return j.Label }, labelOrder...),
			Sampled: len(items), Duplicate: share(counts[index.Duplicate], len(items)), Suspect: share(counts[index.Suspect], len(items))})
		b.cfg.Progress("turning the dial", int64(n+1), int64(len(index.Strictnesses)))
	}
	return out, nil
}

func (c *Clusters) print(w io.Writer) {
	fmt.Fprintf(w, "\nClusters of the %d labelled items: adjusted Rand index %.3f; %d by labels, %d found\n", c.Items, c.Rand, c.Labelled, c.Found)
}

// PrintLevels writes what is rejected at each position of the dial.
func PrintLevels(w io.Writer, levels []Level) {
	fmt.Fprintln(w, "\nRejected by strictness, in brackets with suspects")
	var t table
	heads := []string{"pairs"}
	for _, l := range levels {
		heads = append(heads, l.Strictness)
	}
	t.row("", heads...)
	rows := func(of func(l *Level) []Tally) {
		for i, first := range of(&levels[0]) {
			cells := []string{strconv.Itoa(first.Pairs)}
			for k := range levels {
				x := of(&levels[k])[i]
				cells = append(cells, fmt.Sprintf("%s (%s)", percent(share(x.Duplicate, x.Pairs), x.Pairs), percent(share(x.Duplicate+x.Suspect, x.Pairs), x.Pairs)))
			}
			t.row(first.Group, cells...)
		}
	}
	rows(func(l *Level) []Tally { return l.Labels })
	rows(func(l *Level) []Tally { return l.Novelty })
	cells := []string{strconv.Itoa(levels[0].Sampled)}
	for _, l := range levels {
		cells = append(cells, fmt.Sprintf("%s (%s)", percent(l.Duplicate, l.Sampled), percent(l.Duplicate+l.Suspect, l.Sampled)))
	}
	t.row("articles of the corpus", cells...)
	t.print(w)
}
