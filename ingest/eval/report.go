package eval

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"jianguo/index"
)

// Row counts the verdicts on pairs of one group.
type Row struct {
	Group    string `json:"group"`
	Pairs    int    `json:"pairs"`
	Rejected int    `json:"rejected"`
	Suspect  int    `json:"suspect"`
	Series   int    `json:"series"`  // of the others: another member of a series
	Unmet    int    `json:"not_met"` // of the others: the search did not find the earlier text
}

// Caught is the number of pairs that were rejected or held for editors.
func (r *Row) Caught() int { return r.Rejected + r.Suspect }

func (r *Row) add(j *Judged) {
	r.Pairs++
	switch {
	case j.Verdict == index.Duplicate:
		r.Rejected++
	case j.Verdict == index.Suspect:
		r.Suspect++
	case j.Event.Series != 0:
		r.Series++
	case !j.Met:
		r.Unmet++
	}
}

// count counts pairs by group; groups come by number.
func count(judged []Judged, group func(j *Judged) (name string, number int)) []Row {
	var out []Row
	numbers := map[string]int{}
	for i := range judged {
		name, number := group(&judged[i])
		k := slices.IndexFunc(out, func(r Row) bool { return r.Group == name })
		if k < 0 {
			k, numbers[name] = len(out), number
			out = append(out, Row{Group: name})
		}
		out[k].add(&judged[i])
	}
	slices.SortFunc(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(numbers[a.Group], numbers[b.Group]), cmp.Compare(a.Group, b.Group))
	})
	return out
}

// The groups that verdicts are measured by. Pairs of texts are positive or negative.
const (
	addsNothing   = "adds nothing"
	addsTrifle    = "a trifle"
	addsSomething = "adds something"
	otherMatter   = "another subject or matter"
	positive      = "positive"
	negative      = "negative"
)

func byAdds(j *Judged) (string, int) {
	if j.other() {
		return otherMatter, 3
	}
	return [3]string{addsNothing, addsTrifle, addsSomething}[j.Adds], j.Adds
}

func bySign(j *Judged) (string, int) {
	if j.Adds == Nothing {
		return positive, 0
	}
	return negative, 1
}

func byKind(j *Judged) (string, int) { return fmt.Sprintf("%s, adds %d", j.Kind, j.Adds), j.Adds }

func byLabel(j *Judged) (string, int) { return "label " + j.Kind, j.Adds }

// RuleRow is what a rule does to the groups. Precision and recall are those of finding pairs
// that add nothing among these and the ones that add something.
type RuleRow struct {
	Rule      string  `json:"rule"`
	Rejected  []int   `json:"rejected"` // by group
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

// Report sums up judged pairs.
type Report struct {
	Title  string    `json:"title"`
	Groups []Row     `json:"groups"`
	Kinds  []Row     `json:"kinds"`
	Rules  []RuleRow `json:"rules"`
	// Clusters and Stories are those of the feed against those of the labels; nil for pairs of texts.
	Clusters *Clusters `json:"clusters,omitempty"`
	Stories  *Clusters `json:"stories,omitempty"`
	Pairs    []Judged  `json:"pairs"`
}

// Sum sums up labelled pairs of items of the corpus.
func (b *Bench) Sum(title string, judged []Judged) *Report {
	r := sum(title, judged, byAdds, byKind)
	r.Clusters, r.Stories = b.clusters(judged), b.stories(judged)
	return r
}

// SumPairs sums up pairs of texts.
func SumPairs(title string, judged []Judged) *Report {
	return sum(title, judged, bySign, byLabel)
}

func sum(title string, judged []Judged, group, kind func(*Judged) (string, int)) *Report {
	r := &Report{Title: title, Groups: count(judged, group), Kinds: count(judged, kind), Pairs: judged}
	for _, rule := range rules {
		row := RuleRow{Rule: rule.name, Rejected: make([]int, len(r.Groups))}
		right, wrong, all := 0, 0, 0
		for i := range judged {
			j := &judged[i]
			if j.Adds == Nothing {
				all++
			}
			if !rule.rejects(j) {
				continue
			}
			switch j.Adds {
			case Nothing:
				right++
			case Something:
				wrong++
			}
			name, _ := group(j)
			row.Rejected[slices.IndexFunc(r.Groups, func(g Row) bool { return g.Group == name })]++
		}
		row.Precision, row.Recall = share(right, right+wrong), share(right, all)
		row.F1 = share(2*right, right+wrong+all)
		r.Rules = append(r.Rules, row)
	}
	return r
}

// wrongFirst returns the wrongly judged pairs, the gravest first: another matter that is lost,
// something new that is lost, a copy that is published, a copy that an editor has to reject.
func (r *Report) wrongFirst() []Judged {
	gravity := func(j Judged) int {
		switch {
		case j.Verdict == index.Duplicate && j.other():
			return 0
		case j.Verdict == index.Duplicate:
			return 1
		case j.Verdict == index.Unique:
			return 2
		case j.Adds == Nothing:
			return 3
		}
		return 4
	}
	wrong := slices.DeleteFunc(slices.Clone(r.Pairs), func(j Judged) bool { return !j.wrong(j.Verdict) })
	slices.SortStableFunc(wrong, func(a, b Judged) int { return gravity(a) - gravity(b) })
	return wrong
}

// Print writes the tables; of the pairs judged wrong, at most the given number, or all if it
// is negative.
func (r *Report) Print(w io.Writer, wrong int) {
	fmt.Fprintf(w, "\n%s: verdicts on the later text, with 95 %% intervals (Wilson)\n", r.Title)
	printRows(w, r.Groups)
	fmt.Fprintln(w, "\nBy label")
	printRows(w, r.Kinds)
	r.printRules(w)
	if r.Clusters != nil {
		r.Clusters.print(w, "Clusters")
		r.Stories.print(w, "Stories")
	}
	list := r.wrongFirst()
	if wrong == 0 || len(list) == 0 {
		return
	}
	shown := list
	if wrong > 0 {
		shown = list[:min(wrong, len(list))]
	}
	fmt.Fprintf(w, "\nJudged wrong: %d pairs, of which %d are shown, the gravest first\n", len(list), len(shown))
	for i := range shown {
		shown[i].print(w)
	}
}

func printRows(w io.Writer, rows []Row) {
	t := newTable(w, "pairs", "rejected", "rejected or suspect", "series", "not met")
	for i := range rows {
		r := &rows[i]
		t.row(r.Group, strconv.Itoa(r.Pairs), counted(r.Rejected, r.Pairs), counted(r.Caught(), r.Pairs),
			strconv.Itoa(r.Series), strconv.Itoa(r.Unmet))
	}
	_ = t.Flush()
}

func (r *Report) printRules(w io.Writer) {
	fmt.Fprintln(w, "\nWhat each rule rejects")
	var heads []string
	for _, g := range r.Groups {
		heads = append(heads, g.Group)
	}
	texts := r.Clusters == nil // positive or negative
	if texts {
		heads = append(heads, "precision", "recall", "F1")
	}
	t := newTable(w, heads...)
	for _, x := range r.Rules {
		var cells []string
		for i, n := range x.Rejected {
			cells = append(cells, fmt.Sprintf("%d (%s)", n, percent(n, r.Groups[i].Pairs)))
		}
		if texts {
			for _, v := range []float64{x.Precision, x.Recall, x.F1} {
				cells = append(cells, fmt.Sprintf("%.3f", v))
			}
		}
		t.row(x.Rule, cells...)
	}
	_ = t.Flush()
}

func (j *Judged) print(w io.Writer) {
	met := ""
	if !j.Met {
		met = ", which the search did not find"
	}
	fmt.Fprintf(w, "\n  %s, adds %d (%s) → %s%s  %s | %s\n",
		j.Kind, j.Adds, cmp.Or(j.Conf, "-"), j.Verdict, met, j.A, j.B)
	fmt.Fprintf(w, "    earlier   %s\n    later     %s\n", j.heads[0], j.heads[1])
	if j.Note != "" {
		fmt.Fprintf(w, "    labelled  %s\n", j.Note)
	}
	fmt.Fprintf(w, "    says      %s\n", cmp.Or(j.Event.Why, "-"))
}

func (s *Setting) Print(w io.Writer) {
	fmt.Fprintf(w, "%d items in %.1f s; recipe %s, policy %s (%s)\n", s.Items, s.Seconds, s.Recipe, s.PolicyHash,
		s.Policy.Strictness)
	if s.Dropped > 0 {
		fmt.Fprintf(w, "%d items had the id of an earlier one and were left out\n", s.Dropped)
	}
}

// counted prints a number, its share and the interval of the share.
func counted(n, of int) string {
	low, high := index.Wilson(n, of)
	return fmt.Sprintf("%d (%s) [%.1f–%.1f]", n, percent(n, of), 100*low, 100*high)
}

// percent prints a share; a dash without pairs.
func percent(n, of int) string {
	if of == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*share(n, of), 'f', 1, 64) + " %"
}

// table is text in columns.
type table struct{ *tabwriter.Writer }

func newTable(w io.Writer, heads ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row("", heads...)
	return t
}

func (t table) row(name string, cells ...string) {
	fmt.Fprintln(t, "  "+name+"\t"+strings.Join(cells, "\t"))
}
