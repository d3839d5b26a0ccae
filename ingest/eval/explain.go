package eval

import (
	"fmt"
	"io"
	"strings"

	"jianguo/index"
	"jianguo/ingest"
)

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// PrintExplanation prints how a later text is judged against an earlier one.
func PrintExplanation(w io.Writer, x *ingest.Explanation) {
	fmt.Fprintf(w, "%s", x.Verdict)
	if x.Series {
		fmt.Fprint(w, ", another of a series")
	}
	if x.Rule != index.NoRule {
		fmt.Fprintf(w, " (met by %s)", x.Rule)
	}
	fmt.Fprintf(w, "\n  %s\n", x.Why)
	fmt.Fprintln(w, "\ntexts")
	for _, s := range []struct {
		name string
		side *ingest.Side
	}{{"query  ", &x.Query}, {"earlier", &x.Earlier}} {
		fmt.Fprintf(w, "  %s  %s  %d tokens  %s  %s\n", s.name, s.side.Fingerprint, s.side.Tokens, s.side.ID,
			oneLine(s.side.Title))
	}
	fmt.Fprintln(w, "\nproposals that would have met the earlier text")
	for _, m := range x.Proposals {
		fmt.Fprintf(w, "  %-8s %-4s %s\n", m.Rule, map[bool]string{true: "yes", false: "no"}[m.Met], m.Detail)
	}
	printBits(w, x)
	printTerms(w, x)
	fmt.Fprintf(w, "\nresemblance %.3f, by sketches %.3f\n\n", x.Resemblance, x.Estimate.Resemblance)
	for i, step := range x.Trace {
		decided := ""
		if step.Decided {
			decided = fmt.Sprintf("  -> %s (%s)", x.Kind, x.Reason())
		}
		fmt.Fprintf(w, "%d  %-24s %s%s\n", i+1, step.Question, step.Found, decided)
	}
	if a := x.Facts; a != nil && a.New != nil {
		fmt.Fprintf(w, "\nnew       %s\nconflicts %v (query, earlier)\n", strings.Join(a.New.Quotes, "; "), a.Conflict)
	}
	fmt.Fprintf(w, "\nrecipe %s, policy %s\n", x.Recipe, x.Policy)
}

// flippedShown limits the flipped bits that are printed, largest margin first.
const flippedShown = 12

func printBits(w io.Writer, x *ingest.Explanation) {
	fmt.Fprintf(w, "\nfingerprints differ in %d bits; S is %.2f from the query, %.2f the other way\n", x.Distance, x.S,
		x.SReverse)
	if len(x.Flipped) == 0 {
		return
	}
	fmt.Fprintln(w, "  bit   margin in query   in earlier")
	for _, b := range x.Flipped[:min(len(x.Flipped), flippedShown)] {
		fmt.Fprintf(w, "  %3d   %15.3f   %10.3f\n", b.Bit, b.Query, b.Earlier)
	}
	if n := len(x.Flipped) - flippedShown; n > 0 {
		fmt.Fprintf(w, "  and %d more with smaller margins\n", n)
	}
}

func printTerms(w io.Writer, x *ingest.Explanation) {
	fmt.Fprintf(w, "\nterms: %.0f %% of the query's weight is shared, %.0f %% of the earlier's\n", 100*x.QueryShare,
		100*x.EarlierShare)
	var shared, query, earlier []string
	for _, t := range x.Terms {
		switch {
		case t.Earlier == 0:
			query = append(query, fmt.Sprintf("%s %.1f", t.Text, t.Query))
		case t.Query == 0:
			earlier = append(earlier, fmt.Sprintf("%s %.1f", t.Text, t.Earlier))
		default:
			shared = append(shared, fmt.Sprintf("%s %.1f/%.1f", t.Text, t.Query, t.Earlier))
		}
	}
	for _, l := range []struct {
		name  string
		terms []string
	}{{"shared", shared}, {"only in the query", query}, {"only in the earlier", earlier}} {
		if len(l.terms) > 0 {
			fmt.Fprintf(w, "  %s: %s\n", l.name, strings.Join(l.terms, ", "))
		}
	}
}
