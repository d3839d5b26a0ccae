package eval

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"jianguo/index"
)

// table is text in columns: the first aligned left, the others right.
type table struct{ rows [][]string }

func (t *table) row(name string, cells ...string) {
	t.rows = append(t.rows, append([]string{name}, cells...))
}

func (t *table) print(w io.Writer) {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range t.rows {
		var line strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				c, pad = pad, c
			}
			line.WriteString("  " + pad + c)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// percent prints a share; a dash without pairs.
func percent(v float64, of int) string {
	if of == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
}

func counted(n, of int) string { return fmt.Sprintf("%d (%s)", n, percent(share(n, of), of)) }

// Print writes the setting.
func (s *Setting) Print(w io.Writer) {
	fmt.Fprintf(w, "%d items in %.1f s; recipe %s, policy %s (rules %s, distance ≤ %d, S < %g, %d judged, %d on texts%s)\n",
		s.Items, s.Seconds, s.Recipe, s.PolicyHash, s.Policy.Rules, s.Policy.Distance, s.Policy.MaxS, s.Policy.Judged, s.Policy.Texts,
		map[bool]string{true: "", false: ", no texts kept"}[s.Texts])
	var t []string
	all := numbers(s.Policy)
	for _, name := range knobs(all) {
		t = append(t, fmt.Sprintf("%s %g", name, all[name]))
	}
	fmt.Fprintf(w, "thresholds: %s\n", strings.Join(t, ", "))
	if s.Dropped > 0 {
		fmt.Fprintf(w, "%d items had the id of an earlier one and were left out\n", s.Dropped)
	}
}

// Print writes the tables; of the pairs judged wrong, at most `wrong`.
func (r *LabelReport) Print(w io.Writer, wrong int) {
	fmt.Fprintln(w, "\nWhat became of the later text, by label")
	printTallies(w, r.Labels)
	fmt.Fprintln(w, "\nBy what the later text adds to the earlier one")
	printNovelty(w, r.Novelty)
	fmt.Fprintln(w, "\nRules side by side")
	printRates(w, r.Rules)
	r.Clusters.print(w)
	if len(r.Folds) > 0 {
		fmt.Fprintf(w, "\n%d folds of the pairs, each by itself\n", len(r.Folds))
		printRates(w, r.Folds)
	}
	fmt.Fprintln(w, "\nBy length: characters of the shorter text")
	printTallies(w, r.Lengths)
	fmt.Fprintln(w, "\nBy the labeller's confidence")
	printTallies(w, r.Confidence)
	fmt.Fprintln(w, "\nBy how the search met the earlier text")
	printTallies(w, r.MetBy)
	if wrong != 0 && len(r.Wrong) > 0 {
		n := len(r.Wrong)
		if wrong > 0 {
			n = min(n, wrong)
		}
		fmt.Fprintf(w, "\nPairs judged otherwise than labelled: %d of %d, the gravest first\n", n, len(r.Wrong))
		for i := range r.Wrong[:n] {
			r.Wrong[i].print(w)
		}
	}
}

func printTallies(w io.Writer, tallies []Tally) {
	var t table
	t.row("", "pairs", "duplicate", "suspect", "unique", "of these series", "not met")
	for _, x := range tallies {
		t.row(x.Group, strconv.Itoa(x.Pairs), counted(x.Duplicate, x.Pairs), counted(x.Suspect, x.Pairs), counted(x.Unique, x.Pairs),
			strconv.Itoa(x.Series), strconv.Itoa(x.Unmet))
	}
	t.print(w)
}

func printNovelty(w io.Writer, tallies []Tally) {
	var t table
	t.row("", "pairs", "rejected", "rejected or suspect")
	for _, x := range tallies {
		t.row(x.Group, strconv.Itoa(x.Pairs), counted(x.Duplicate, x.Pairs), counted(x.Duplicate+x.Suspect, x.Pairs))
	}
	t.print(w)
}

func printRates(w io.Writer, rates []Rates) {
	var t table
	t.row("", append(slices.Clone(rateNames), "precision", "pairs")...)
	for _, x := range rates {
		t.row(x.Name, append(x.cells(), percent(x.Precision, x.Same), fmt.Sprintf("%d/%d/%d", x.Same, x.Others, x.Relative))...)
	}
	t.print(w)
}

var rateNames = []string{"same → dup", "→ dup/sus", "temp+diff → dup", "→ sus", "part+upd → dup", "→ dup/sus"}

// cells are the rates under rateNames.
func (r *Rates) cells() []string {
	return []string{percent(r.SameDuplicate, r.Same), percent(r.SameCaught, r.Same), percent(r.OthersDuplicate, r.Others),
		percent(r.OthersSuspect, r.Others), percent(r.RelativeDuplicate, r.Relative), percent(r.RelativeCaught, r.Relative)}
}

func (j *Judged) print(w io.Writer) {
	fmt.Fprintf(w, "\n  %s (%s) → %s%s  %s | %s\n", j.Label, j.Confidence, j.Verdict, by(j), j.Earlier, j.Later)
	facts := ""
	if j.Facts != nil {
		facts = figures(j.Facts)
	}
	fmt.Fprintf(w, "    distance %d, S %.2f, J5 %.3f, containment %.3f, score %.2f, story %.2f, %d characters%s\n",
		j.Distance, j.S, j.Jaccard, j.Containment, j.Score, j.Story, j.Runes, facts)
	if j.Note != "" {
		fmt.Fprintf(w, "    labelled so because: %s\n", j.Note)
	}
	fmt.Fprintf(w, "    earlier: %s\n    later:   %s\n", j.heads[0], j.heads[1])
}

func by(j *Judged) string {
	switch {
	case len(j.Met) == 0:
		return " (not met)"
	case j.Verdict == index.Unique && j.Series:
		return " (series, met by " + metBy(j) + ")"
	case j.Reason != "":
		return " (" + j.Reason + ", met by " + metBy(j) + ")"
	}
	return " (met by " + metBy(j) + ")"
}

// figures says how many figures two texts share, and which contradict each other.
func figures(f *index.Facts) string {
	s := fmt.Sprintf(", %d of %d figures shared", f.Shared, f.Numbers)
	if len(f.Conflict) > 0 {
		s += ", against each other: " + strings.Join(f.Conflict, "; ")
	}
	return s
}
