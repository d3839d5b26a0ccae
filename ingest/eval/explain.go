package eval

import (
	"cmp"
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
	fmt.Fprintf(w, "\nresemblance %.3f, by sketches %.3f\n\n", x.Resemblance, x.Estimate.Resemblance)
	for i, step := range x.Trace {
		decided := ""
		if step.Decided {
			decided = fmt.Sprintf("  -> %s (%s)", x.Kind, cmp.Or(x.Facts, new(index.Facts)).Reason)
		}
		fmt.Fprintf(w, "%d  %-24s %s%s\n", i+1, step.Question, step.Found, decided)
	}
	if a := x.Facts; a != nil && a.New != nil {
		fmt.Fprintf(w, "\nnew       %s\nconflicts %v (query, earlier)\n", strings.Join(a.New.Quotes, "; "), a.Conflict)
	}
	fmt.Fprintf(w, "\nrecipe %s, policy %s\n", x.Recipe, x.Policy)
}
