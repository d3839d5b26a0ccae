package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/companion"
	"jianguo/internal/datadir"
	"jianguo/internal/offline"
	"jianguo/internal/settings"
)

type explainCmd struct {
	companion.Flags

	A        string `arg:"" help:"An item: an id of --data, a file (JSON or plain text), or - for standard input."`
	B        string `arg:"" help:"A second item. It is the query, unless both are ids: then the query is the one that arrived later."`
	Data     string `help:"A data directory that no service is using, to look ids up in." placeholder:"DIR"`
	Terms    int    `help:"How many terms to show." default:"16"`
	JSON     bool   `help:"Print one JSON document."`
	Language string `help:"Language of the reason: ${enum}." enum:"zh,en" default:"zh"`

	Rule       string `help:"Which rules judge: ${enum}; hamming is the textbook." enum:"jianguo,hamming" default:"jianguo"`
	Distance   int    `help:"Largest Hamming distance of a certain proposal, 0 to 3." default:"3"`
	Strictness string `help:"What is rejected as a copy: ${enum}." enum:"copies,rewrites,stories" default:"rewrites"`
	settings.Segment
}

// Run explains how two texts are judged.
func (c *explainCmd) Run(co *companion.Streams) error {
	if c.A == "-" && c.B == "-" {
		return errors.New("standard input can be one of the two, not both")
	}
	earlier, later, err := c.items(co)
	if err != nil {
		return err
	}
	s, err := c.Segmenter()
	if err != nil {
		return err
	}
	policy := index.DefaultPolicy().At(c.Strictness)
	policy.Rules, policy.Distance = c.Rule, c.Distance
	x := ingest.Explain(s, policy, c.Language, later, earlier, c.Terms)
	if c.JSON {
		out := json.NewEncoder(co.Out)
		out.SetIndent("", " ")
		return out.Encode(x)
	}
	printExplanation(co, x)
	return nil
}

// items reads both items, the earlier one first.
func (c *explainCmd) items(co *companion.Streams) (earlier, later *ingest.Item, err error) {
	if c.Data == "" {
		if earlier, err = readItem(co, c.A); err == nil {
			later, err = readItem(co, c.B)
		}
		return earlier, later, err
	}
	if _, err := os.Stat(c.Data); err != nil {
		return nil, nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := datadir.Acquire(c.Data, datadir.Holder{Command: "explain"})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	s, err := c.Segmenter()
	if err != nil {
		return nil, nil, err
	}
	x, err := offline.OpenIndex(co, c.Data, s, index.Config{Relaxed: true, Progress: co.Progress.Stages("explain: loading")})
	if err != nil {
		return nil, nil, err
	}
	earlier, first, err := lookUp(co, x, c.A)
	later, second, err2 := lookUp(co, x, c.B)
	if err := errors.Join(err, err2, x.Close()); err != nil {
		return nil, nil, err
	}
	if first != nil && second != nil && second.Before(first) {
		earlier, later = later, earlier
	}
	return earlier, later, nil
}

// lookUp finds an item by its id, or reads it as a file. The stored item is nil for a
// file.
func lookUp(co *companion.Streams, x *index.Index, name string) (*ingest.Item, *index.Item, error) {
	if name == "-" {
		it, err := readItem(co, name)
		return it, nil, err
	}
	stored, err := x.Item(co.Ctx, name)
	if errors.Is(err, index.ErrNotFound) {
		if _, statErr := os.Stat(name); statErr == nil {
			it, err := readItem(co, name)
			return it, nil, err
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if stored.Body == nil {
		return nil, nil, fmt.Errorf("the text of %q was not kept: there is nothing to compare", name)
	}
	return &ingest.Item{ID: stored.ID, Title: stored.Title, Body: *stored.Body, Source: stored.Source, Published: stored.Published}, stored, nil
}

func readItem(co *companion.Streams, name string) (it *ingest.Item, err error) {
	if it, err = offline.Document(co, name); err != nil {
		return nil, err
	}
	if it.ID == "" {
		it.ID = name
	}
	return it, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func printExplanation(co *companion.Streams, x *ingest.Explanation) {
	w := co.Out
	fmt.Fprintf(w, "%s", x.Verdict)
	if x.Series {
		fmt.Fprint(w, ", another of a series")
	}
	if x.Rule != index.NoRule {
		fmt.Fprintf(w, " (met by %s)", x.Rule)
	}
	fmt.Fprintf(w, "\n  %s\n  %s\n", x.Why, x.Decided)
	fmt.Fprintln(w, "\ntexts")
	for _, s := range []struct {
		name string
		side *ingest.Side
	}{{"query  ", &x.Query}, {"earlier", &x.Earlier}} {
		fmt.Fprintf(w, "  %s  %s  %d tokens  %s  %s\n", s.name, s.side.Fingerprint, s.side.Tokens, s.side.ID, oneLine(s.side.Title))
	}
	fmt.Fprintln(w, "\nproposals that would have met the earlier text")
	for _, m := range x.Proposals {
		fmt.Fprintf(w, "  %-8s %-4s %s\n", m.Rule, map[bool]string{true: "yes", false: "no"}[m.Met], m.Detail)
	}
	printBits(co, x)
	printTerms(co, x)
	fmt.Fprintln(w, "\njudgement         on texts  on sketches")
	row := func(name string, a, b float32) { fmt.Fprintf(w, "  %-17s %6.3f  %6.3f\n", name, a, b) }
	m, e := &x.Measured, &x.Estimated
	row("resemblance", m.Resemblance, e.Resemblance)
	row("query contained", m.QueryContained, e.QueryContained)
	row("earlier contained", m.EarlierContained, e.EarlierContained)
	row("score", m.Score, e.Score)
	row("story", m.Story, e.Story)
	fmt.Fprintf(w, "  %-17s %s (%s), %s (%s)\n", "kind", m.Kind, m.Reason, e.Kind, e.Reason)
	fmt.Fprintln(w, "\nclues on texts      score   story")
	for _, c := range m.Clues {
		fmt.Fprintf(w, "  %-15s %+7.2f %+7.2f  %s\n", c.Clue, c.Score, c.Story, c.Words)
	}
	if a := x.Facts; a != nil && a.Coverage != nil {
		fmt.Fprintf(w, "\naligned\n  covered  %.0f %% of the query, %.0f %% of the earlier\n", 100*a.Coverage.Later, 100*a.Coverage.Earlier)
		fmt.Fprintf(w, "  new      %.0f %% of the query, %d figures: %s %s\n", 100*a.New.Share, a.New.Facts, strings.Join(a.New.Examples, "; "), a.New.Text)
		fmt.Fprintf(w, "  agree    %s\n  conflict %s (query / earlier)\n", strings.Join(a.Agree, "; "), strings.Join(a.Conflict, "; "))
	}
	fmt.Fprintf(w, "\nrecipe %s, policy %s\n", x.Recipe, x.Policy)
}

// flippedShown limits the flipped bits that are printed, largest margin first.
const flippedShown = 12

func printBits(co *companion.Streams, x *ingest.Explanation) {
	fmt.Fprintf(co.Out, "\nfingerprints differ in %d bits; S is %.2f from the query, %.2f the other way\n", x.Distance, x.S, x.SReverse)
	if len(x.Flipped) == 0 {
		return
	}
	fmt.Fprintln(co.Out, "  bit   margin in query   in earlier")
	for _, b := range x.Flipped[:min(len(x.Flipped), flippedShown)] {
		fmt.Fprintf(co.Out, "  %3d   %15.3f   %10.3f\n", b.Bit, b.Query, b.Earlier)
	}
	if n := len(x.Flipped) - flippedShown; n > 0 {
		fmt.Fprintf(co.Out, "  and %d more with smaller margins\n", n)
	}
}

func printTerms(co *companion.Streams, x *ingest.Explanation) {
	fmt.Fprintf(co.Out, "\nterms: %.0f %% of the query's weight is shared, %.0f %% of the earlier's\n", 100*x.QueryShare, 100*x.EarlierShare)
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
			fmt.Fprintf(co.Out, "  %s: %s\n", l.name, strings.Join(l.terms, ", "))
		}
	}
}
