package eval

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"jianguo/index"
)

// Clusters compares the clusters, or the stories, of the feed with those of the labels, over the labelled items.
type Clusters struct {
	Items    int `json:"items"`
	Labelled int `json:"labelled"` // clusters: items that pairs link
	Found    int `json:"found"`
	// Rand is the adjusted Rand index (Hubert & Arabie 1985): 1 for the same clusters, 0 for
	// clusters by chance. Two items that no label links count as different.
	Rand float64 `json:"adjusted_rand_index"`
}

// clusters compares the clusters of the labelled items.
func (b *Bench) clusters(judged []Judged) *Clusters {
	return b.partition(judged, func(j *Judged) bool { return j.Adds == Nothing },
		func(e *index.Event) uint32 { return e.Cluster })
}

// stories compares their stories. By the labels, one matter is what repeats another text, whatever it adds.
func (b *Bench) stories(judged []Judged) *Clusters {
	kinds := []string{"same", "contained", "extends", "overlap", "update"}
	return b.partition(judged, func(j *Judged) bool { return slices.Contains(kinds, j.Kind) },
		func(e *index.Event) uint32 { return e.Story })
}

func (b *Bench) partition(judged []Judged, linked func(*Judged) bool, of func(*index.Event) uint32) *Clusters {
	root, found := map[string]string{}, map[string]string{}
	// find returns the item that stands for all items linked to one (union-find).
	find := func(id string) string {
		for root[id] != id {
			id = root[id]
		}
		return id
	}
	for i := range judged {
		for _, id := range [2]string{judged[i].A, judged[i].B} {
			if root[id] == "" {
				root[id] = id
			}
			found[id] = strconv.Itoa(int(of(&b.events[b.position[id]])))
		}
		if linked(&judged[i]) {
			root[find(judged[i].A)] = find(judged[i].B)
		}
	}
	labelled := map[string]string{}
	for id := range root {
		labelled[id] = find(id)
	}
	return &Clusters{Items: len(labelled), Labelled: len(sizes(labelled)), Found: len(sizes(found)),
		Rand: adjustedRand(labelled, found)}
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
	together, inA, inB := pairsOf(sizes(both)), pairsOf(sizes(a)), pairsOf(sizes(b))
	all := float64(len(a)) * float64(len(a)-1) / 2
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

func (c *Clusters) print(w io.Writer, name string) {
	fmt.Fprintf(w, "\n%s of the %d labelled items: adjusted Rand index %.3f; %d by labels, %d found\n", name, c.Items,
		c.Rand, c.Labelled, c.Found)
}
