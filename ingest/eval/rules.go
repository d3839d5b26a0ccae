package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jianguo/index"
	"jianguo/simhash"
	"jianguo/sketch"
)

// Rule is a way to judge that is compared with that of the service.
type Rule struct {
	Name string
	// verdict judges a pair.
	verdict func(j *Judged) index.Verdict
	// feed returns, for each item of the corpus, the earlier item that it is a copy
	// of, or -1; nil for ours, which Feed has applied.
	feed func(b *Bench) []int
	// pairsOnly leaves the rule out of reports on a whole corpus.
	pairsOnly bool
}

// Rules returns the rules with these names: jianguo, hamming (once for each distance)
// and minhash (at the thresholds .5 and .7).
func Rules(names []string, distances []int) ([]Rule, error) {
	var rules []Rule
	for _, name := range names {
		switch name {
		case "jianguo":
			rules = append(rules, Rule{Name: "jianguo", verdict: ours}, Rule{Name: "its judge, had all met", verdict: judgement, pairsOnly: true})
		case "hamming":
			for _, d := range distances {
				rules = append(rules, Rule{
					Name:    fmt.Sprintf("hamming ≤ %d", d),
					verdict: func(j *Judged) index.Verdict { return rejected(j.Identical || j.Distance <= d) },
					feed:    func(b *Bench) []int { return b.scan(d) },
				})
			}
		case "minhash":
			for i, m := range minHashes {
				rules = append(rules, Rule{
					Name:    m.name(),
					verdict: func(j *Judged) index.Verdict { return rejected(j.Identical || j.candidates[i]) },
					feed:    func(b *Bench) []int { return b.lsh(m) },
				})
			}
		default:
			return nil, fmt.Errorf("rule %q: want jianguo, hamming or minhash", name)
		}
	}
	return rules, nil
}

func ours(j *Judged) index.Verdict { return j.Verdict }

// judgement is our judgement on both texts, without the search: the best that a better
// search could reach.
func judgement(j *Judged) index.Verdict {
	if !j.Identical && j.onTexts == sketch.Suspect {
		return index.Suspect
	}
	return rejected(j.Identical || j.onTexts == sketch.Duplicate)
}

func rejected(yes bool) index.Verdict {
	if yes {
		return index.Duplicate
	}
	return index.Unique
}

// Distances reads "3", "0..10" or "3,6,10": bits, 0 to 64.
func Distances(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		low, high, spread := strings.Cut(part, "..")
		from, err := strconv.Atoi(strings.TrimSpace(low))
		to := from
		if err == nil && spread {
			to, err = strconv.Atoi(strings.TrimSpace(high))
		}
		if err != nil || from < 0 || to > 64 || to < from {
			return nil, fmt.Errorf("distance %q: want bits from 0 to 64, as 3 or 0..10 or 3,6", part)
		}
		for d := from; d <= to; d++ {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// scan is the textbook rule at any distance, without an index: the original is the
// nearest accepted item within the distance, the oldest of several.
func (b *Bench) scan(distance int) []int {
	of := make([]int, len(b.items))
	var accepted []int
	first := map[[16]byte]int{} // by normal form
	for i := range b.features {
		of[i] = -1
		f := &b.features[i]
		if !f.blank {
			if k, ok := first[f.exact]; ok {
				if of[i] = k; of[k] >= 0 {
					of[i] = of[k]
				}
				continue
			}
			first[f.exact] = i
		}
		if f.print.Empty() {
			continue
		}
		best := distance + 1
		for _, k := range accepted {
			if d := simhash.Distance(f.print.Fingerprint, b.features[k].print.Fingerprint); d < best {
				best, of[i] = d, k
			}
		}
		if of[i] < 0 {
			accepted = append(accepted, i)
		}
	}
	return of
}

// lsh rejects the candidates of accepted items without a check of the texts, as a query
// of the usual libraries does.
func (b *Bench) lsh(m MinHash) []int {
	of := make([]int, len(b.items))
	tables := make([]map[uint64]int, m.Bands)
	for n := range tables {
		tables[n] = map[uint64]int{}
	}
	const batch = 1024
	for from := 0; from < len(b.items); from += batch {
		signatures := make([]*Signature, min(batch, len(b.items)-from))
		_ = b.parallel(len(signatures), func(k int) error {
			signatures[k] = Sign(content(b.prepare(b.items[from+k])))
			return nil
		})
		for k, s := range signatures {
			i := from + k
			if of[i] = -1; b.features[i].blank {
				continue
			}
			for n, table := range tables {
				if earlier, ok := table[m.band(s, n)]; ok && (of[i] < 0 || earlier < of[i]) {
					of[i] = earlier
				}
			}
			for n := 0; n < m.Bands && of[i] < 0; n++ {
				tables[n][m.band(s, n)] = i
			}
		}
		b.cfg.Progress(m.name(), int64(from+len(signatures)), int64(len(b.items)))
	}
	return of
}
