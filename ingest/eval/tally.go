package eval

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"jianguo/index"
)

// Tally counts verdicts on pairs of one group.
type Tally struct {
	Group     string `json:"group"`
	Pairs     int    `json:"pairs"`
	Duplicate int    `json:"duplicate"`
	Suspect   int    `json:"suspect"`
	Unique    int    `json:"unique"`
	Series    int    `json:"series"`  // of the unique: another member of a series
	Unmet     int    `json:"not_met"` // of the unique: the search did not find the earlier text
}

func (t *Tally) add(v index.Verdict, series, met bool) {
	t.Pairs++
	switch v {
	case index.Duplicate:
		t.Duplicate++
	case index.Suspect:
		t.Suspect++
	default:
		t.Unique++
		if series {
			t.Series++
		}
		if !met {
			t.Unmet++
		}
	}
}

// tally counts pairs by group. Groups come in the given order, then by name.
func tally(judged []Judged, group func(*Judged) string, order ...string) []Tally {
	counts := map[string]*Tally{}
	for i := range judged {
		j := &judged[i]
		name := group(j)
		if counts[name] == nil {
			counts[name] = &Tally{Group: name}
		}
		counts[name].add(j.Verdict, j.Series, len(j.Met) > 0)
	}
	var out []Tally
	for _, name := range order {
		if t := counts[name]; t != nil {
			out = append(out, *t)
			delete(counts, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, *counts[name])
	}
	return out
}

// tallyBy is tally by label and a second criterion, whose values come in the given order.
func tallyBy(judged []Judged, second func(*Judged) string, seconds ...string) []Tally {
	var order []string
	for _, label := range labelOrder {
		for _, s := range seconds {
			order = append(order, label+" "+s)
		}
	}
	return tally(judged, func(j *Judged) string { return j.Label + " " + second(j) }, order...)
}

// labelOrder is the order of labels in tables.
var labelOrder = []string{Same, Contained, Extends, Overlap, Partial, Update, Roundup, Template, Different}

// Rates are the shares that detection is measured by. Those without pairs behind them
// are 0, with a count of 0.
type Rates struct {
	Name string `json:"name"`
	// Counts of pairs behind the rates: labelled same, template or different, and
	// partial or update.
	Same     int `json:"same"`
	Others   int `json:"template_different"`
	Relative int `json:"partial_update"`

	SameDuplicate     float64 `json:"same_duplicate"` // the recall
	SameCaught        float64 `json:"same_duplicate_or_suspect"`
	OthersDuplicate   float64 `json:"template_different_duplicate"`
	OthersSuspect     float64 `json:"template_different_suspect"`
	RelativeDuplicate float64 `json:"partial_update_duplicate"`
	RelativeCaught    float64 `json:"partial_update_suspect_or_duplicate"`
	Precision         float64 `json:"precision"` // of the duplicates, how many are labelled same
}

func rates(name string, judged []Judged, verdict func(*Judged) index.Verdict) Rates {
	var same, others, relative Tally
	for i := range judged {
		v := verdict(&judged[i])
		switch judged[i].Label {
		case Same:
			same.add(v, false, true)
		case Template, Different:
			others.add(v, false, true)
		case Partial, Update, Extends, Overlap, Roundup:
			relative.add(v, false, true)
		}
	}
	return Rates{Name: name, Same: same.Pairs, Others: others.Pairs, Relative: relative.Pairs,
		SameDuplicate: share(same.Duplicate, same.Pairs), SameCaught: share(same.Duplicate+same.Suspect, same.Pairs),
		OthersDuplicate: share(others.Duplicate, others.Pairs), OthersSuspect: share(others.Suspect, others.Pairs),
		RelativeDuplicate: share(relative.Duplicate, relative.Pairs), RelativeCaught: share(relative.Duplicate+relative.Suspect, relative.Pairs),
		Precision: share(same.Duplicate, same.Duplicate+others.Duplicate+relative.Duplicate)}
}

// folds splits the pairs by a seed and measures each part, to show the spread. Pairs
// that share an item stay together, and labels are dealt out as evenly as that allows.
func folds(judged []Judged, k int, seed uint64) []Rates {
	if k < 2 {
		return nil
	}
	groups := components(judged)
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	slices.SortStableFunc(groups, func(a, b []Judged) int { return cmp.Compare(a[0].Label, b[0].Label) })
	parts := make([][]Judged, k)
	for n, g := range groups {
		parts[n%k] = append(parts[n%k], g...)
	}
	var out []Rates
	for n, p := range parts {
		out = append(out, rates(fmt.Sprintf("fold %d", n+1), p, ours))
	}
	return out
}

// components groups the pairs that are linked by common items (union-find).
func components(judged []Judged) (out [][]Judged) {
	root := map[string]string{}
	find := func(id string) string {
		for root[id] != "" && root[id] != id {
			id = root[id]
		}
		return id
	}
	for i := range judged {
		root[find(judged[i].A)] = find(judged[i].B)
	}
	number := map[string]int{}
	for i := range judged {
		r := find(judged[i].A)
		n, ok := number[r]
		if !ok {
			n = len(out)
			number[r] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], judged[i])
	}
	return out
}

// LabelReport sums up labelled pairs.
type LabelReport struct {
	Labels     []Tally  `json:"labels"`
	Novelty    []Tally  `json:"novelty"` // by what the later text adds
	Confidence []Tally  `json:"confidence"`
	Lengths    []Tally  `json:"lengths"` // label and characters of the shorter text
	MetBy      []Tally  `json:"met_by"`  // label and the rule that found the earlier text
	Rules      []Rates  `json:"rules"`
	Folds      []Rates  `json:"folds,omitempty"`
	Clusters   Clusters `json:"clusters"`
	Wrong      []Judged `json:"wrong"`
	Pairs      []Judged `json:"pairs"`
}

// Labels sums up judged pairs, with k folds; none below 2.
func (b *Bench) Labels(judged []Judged, rules []Rule, k int, seed uint64) *LabelReport {
	r := &LabelReport{Pairs: judged, Wrong: Worst(judged), Folds: folds(judged, k, seed), Clusters: b.clusters(judged),
		Labels:     tally(judged, func(j *Judged) string { return j.Label }, labelOrder...),
		Novelty:    novelty(judged),
		Confidence: tallyBy(judged, func(j *Judged) string { return cmp.Or(j.Confidence, "-") }, "high", "low"),
		Lengths:    tallyBy(judged, func(j *Judged) string { return lengthBucket(j.Runes) }, lengthNames...),
		MetBy:      tallyBy(judged, metBy, "exact", "hamming", "margin", "sketch", "passage", "not met")}
	for _, rule := range rules {
		r.Rules = append(r.Rules, rates(rule.Name, judged, rule.verdict))
	}
	return r
}

// The groups of the novelty table.
const (
	addsNothing   = "same, contained: adds nothing"
	addsSomething = "extends, overlap, partial, update, roundup: adds something"
	otherText     = "template, different"
)

// novelty sums up by what a reader of the earlier text learns from the later one.
func novelty(judged []Judged) []Tally {
	return tally(judged, func(j *Judged) string {
		switch {
		case j.Label == Same || j.Label == Contained:
			return addsNothing
		case adds(j.Label):
			return addsSomething
		}
		return otherText
	}, addsNothing, addsSomething, otherText)
}

func metBy(j *Judged) string {
	if len(j.Met) == 0 {
		return "not met"
	}
	return j.Met[0].String()
}

// The length buckets, by characters of normal form.
var (
	lengthEnds  = []int{150, 400, 800}
	lengthNames = []string{"< 150", "150–400", "400–800", "≥ 800"}
)

func lengthBucket(runes int) string {
	i := 0
	for i < len(lengthEnds) && runes >= lengthEnds[i] {
		i++
	}
	return lengthNames[i]
}
