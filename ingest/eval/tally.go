package eval

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"jianguo/index"
)

// Tally counts verdicts on pairs of one sort.
type Tally struct {
	Group     string `json:"group"`
	Pairs     int    `json:"pairs"`
	Duplicate int    `json:"duplicate"`
	Suspect   int    `json:"suspect"`
	Unique    int    `json:"unique"`
	Series    int    `json:"series"`  // of the unique: recognised as another of a series
	Unmet     int    `json:"not_met"` // of the unique: the search did not find the earlier text
}

func (t *Tally) add(j *Judged) {
	t.Pairs++
	switch j.Verdict {
	case index.Duplicate:
		t.Duplicate++
	case index.Suspect:
		t.Suspect++
	default:
		t.Unique++
		if j.Series {
			t.Series++
		}
		if len(j.Met) == 0 {
			t.Unmet++
		}
	}
}

// tally groups pairs and counts each group, in the order of first keys given,
// then by name.
func tally(judged []Judged, group func(*Judged) string, order ...string) []Tally {
	groups := map[string]*Tally{}
	for i := range judged {
		name := group(&judged[i])
		if groups[name] == nil {
			groups[name] = &Tally{Group: name}
		}
		groups[name].add(&judged[i])
	}
	var out []Tally
	for _, t := range groups {
		out = append(out, *t)
	}
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(out, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(rank(a.Group), rank(b.Group)), cmp.Compare(a.Group, b.Group))
	})
	return out
}

// Rates are the shares that detection is measured by. Those without pairs
// behind them are 0, with a count of 0.
type Rates struct {
	Name string `json:"name"`
	// Counts of pairs behind the rates: labelled same, template or different,
	// and partial or update.
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
	r := Rates{Name: name}
	var same, others, relative [4]int // by verdict
	for i := range judged {
		v := verdict(&judged[i])
		switch judged[i].Label {
		case Same:
			same[v]++
			r.Same++
		case Template, Different:
			others[v]++
			r.Others++
		case Partial, Update:
			relative[v]++
			r.Relative++
		}
	}
	d, s := index.Duplicate, index.Suspect
	r.SameDuplicate, r.SameCaught = share(same[d], r.Same), share(same[d]+same[s], r.Same)
	r.OthersDuplicate, r.OthersSuspect = share(others[d], r.Others), share(others[s], r.Others)
	r.RelativeDuplicate, r.RelativeCaught = share(relative[d], r.Relative), share(relative[d]+relative[s], r.Relative)
	r.Precision = share(same[d], same[d]+others[d]+relative[d])
	return r
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func ours(j *Judged) index.Verdict { return j.Verdict }

// folds splits the pairs by a seed and measures each part, so that the spread
// is seen and not only the mean. Pairs that share an item stay together, and
// labels are dealt out evenly as far as that allows.
func folds(judged []Judged, k int, seed uint64) []Rates {
	if k < 2 {
		return nil
	}
	groups := components(judged)
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	slices.SortStableFunc(groups, func(a, b []int) int { return cmp.Compare(judged[a[0]].Label, judged[b[0]].Label) })
	parts := make([][]Judged, k)
	for n, g := range groups {
		for _, i := range g {
			parts[n%k] = append(parts[n%k], judged[i])
		}
	}
	var out []Rates
	for n, p := range parts {
		out = append(out, rates(foldName(n), p, ours))
	}
	return out
}

// components groups the pairs that are linked by common items.
func components(judged []Judged) [][]int {
	root := map[string]string{}
	var find func(id string) string
	find = func(id string) string {
		if up, ok := root[id]; ok && up != id {
			root[id] = find(up)
			return root[id]
		}
		root[id] = id
		return id
	}
	for i := range judged {
		root[find(judged[i].A)] = find(judged[i].B)
	}
	at := map[string]int{}
	var out [][]int
	for i := range judged {
		r := find(judged[i].A)
		n, ok := at[r]
		if !ok {
			n = len(out)
			at[r] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], i)
	}
	return out
}

// LabelReport is what became of labelled pairs.
type LabelReport struct {
	Labels     []Tally  `json:"labels"`
	Confidence []Tally  `json:"confidence"`
	Lengths    []Tally  `json:"lengths"` // label and characters of the shorter text
	MetBy      []Tally  `json:"met_by"`  // label and the rule that found the earlier text
	Rules      []Rates  `json:"rules"`
	Folds      []Rates  `json:"folds,omitempty"`
	Wrong      []Judged `json:"wrong"`
	Pairs      []Judged `json:"pairs"`
}

// Labels sums up judged pairs; k folds, none below 2.
func Labels(judged []Judged, rules []Rule, k int, seed uint64) *LabelReport {
	order := []string{Same, Partial, Update, Template, Different}
	r := &LabelReport{Pairs: judged, Wrong: Worst(judged), Folds: folds(judged, k, seed),
		Labels:     tally(judged, func(j *Judged) string { return j.Label }, order...),
		Confidence: tally(judged, func(j *Judged) string { return j.Label + " " + cmp.Or(j.Confidence, "-") }, pairOrder(order, "high", "low")...),
		Lengths:    tally(judged, func(j *Judged) string { return j.Label + " " + lengthBucket(j.Runes) }, pairOrder(order, lengthNames...)...),
		MetBy:      tally(judged, metBy, pairOrder(order, "exact", "hamming", "margin", "sketch", "passage", "not met")...)}
	for _, rule := range rules {
		r.Rules = append(r.Rules, rates(rule.Name, judged, rule.verdict))
	}
	return r
}

func metBy(j *Judged) string {
	if len(j.Met) == 0 {
		return j.Label + " not met"
	}
	return j.Label + " " + j.Met[0].String()
}

func pairOrder(first []string, second ...string) []string {
	var out []string
	for _, a := range first {
		for _, b := range second {
			out = append(out, a+" "+b)
		}
	}
	return out
}

// The length buckets, by characters of normal form.
var (
	lengthEnds  = []int{150, 400, 800}
	lengthNames = []string{"< 150", "150–400", "400–800", "≥ 800"}
)

func lengthBucket(runes int) string {
	for i, end := range lengthEnds {
		if runes < end {
			return lengthNames[i]
		}
	}
	return lengthNames[len(lengthEnds)]
}
