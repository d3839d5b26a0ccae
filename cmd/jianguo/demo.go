package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"jianguo/data"
	"jianguo/index"
	"jianguo/internal/must"
)

type demoCmd struct {
	Data string `help:"Keep the data here; empty: a temporary directory, removed at the end." placeholder:"DIR"`
	Once bool   `help:"Exit after the summary; with code 1 if a verdict is not the expected one."`

	Listen     string   `help:"Address of HTTP and the console." default:"127.0.0.1:8080"`
	NATSListen string   `name:"nats-listen" help:"Address of the bus." default:"127.0.0.1:4222"`
	More       []string `arg:"" optional:"" passthrough:"" help:"Further flags of jianguo serve, after --."`
}

// expectation is one row of sample/expected.jsonl.
type expectation struct {
	ID      string        `json:"id"`
	Verdict index.Verdict `json:"verdict"` // an editor's
	Of      string        `json:"of"`
	Why     string        `json:"why"`
	// Gives is the verdict of jianguo today where it differs from the editor's.
	Gives index.Verdict `json:"gives"`
}

func (c *demoCmd) apply(f *serveFlags) { f.Listen, f.NATSListen = c.Listen, c.NATSListen }

func (c *demoCmd) Run(co *stdio) (err error) {
	dir := c.Data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "jianguo-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	more := slices.DeleteFunc(c.More, func(a string) bool { return a == "--" })
	s, err := startService(co, dir, more, c.apply)
	if err != nil {
		return err
	}
	return s.stopAfter(must.Catch(func() { c.show(co, s, dir) }))
}

// show publishes the sample, shows its verdicts, and waits for the end of the demo. It panics on errors (must).
func (c *demoCmd) show(co *stdio, s *ownService, dir string) {
	conn := must.Get((&reachFlags{Data: dir}).reach(co))
	defer conn.Close()

	lines := must.Get(fs.ReadFile(data.FS, "sample/corpus.jsonl"))
	co.in = bytes.NewReader(lines)
	events := map[string]*index.Event{}
	sum, end := publishFiles(co, conn, []string{"-"}, func(e *index.Event) { events[e.ID] = e })
	must.Do(end)
	out := bufio.NewWriter(co.out)
	wrong := showVerdicts(out, lines, events)
	fmt.Fprintf(out, "\n%d items: %d unique, %d suspect, %d duplicate, %d failed, in %.2f s\n", sum.Items,
		sum.Unique, sum.Suspect, sum.Duplicate, sum.Failed, sum.Seconds)
	var err error
	if wrong > 0 || sum.Failed > 0 {
		err = fmt.Errorf("%s not as data/sample/expected.jsonl says", plural(wrong+sum.Failed, "verdict"))
	}
	if c.Once {
		must.Do(errors.Join(out.Flush(), err))
		return
	}
	fmt.Fprintf(out, "\nopen  %s/             the stories and their copies\n      %s/openapi.yaml every request "+
		"this service answers\n      %s/metrics      for Prometheus\nbus   %s\n\nCtrl-C ends the demo.\n",
		s.address(), s.address(), s.address(), conn.ConnectedUrlRedacted())
	must.Do(out.Flush())
	select {
	case <-co.ctx.Done():
	case end := <-s.ended:
		err = fmt.Errorf("the service has ended: %w", cmp.Or(end, errors.New("by itself")))
	}
	must.Do(err)
}

// showVerdicts prints the items of the sample as a table and counts unexpected
// verdicts. It panics on errors (must).
func showVerdicts(out io.Writer, corpus []byte, events map[string]*index.Event) (wrong int) {
	expected := map[string]expectation{}
	for _, e := range decodeAll[expectation](must.Get(fs.ReadFile(data.FS, "sample/expected.jsonl"))) {
		expected[e.ID] = e
	}
	fmt.Fprintf(out, "\n%s%s%s%s\n", pad("verdict", 11), pad("item", 22), pad("title", 42), "why")
	for _, it := range decodeAll[struct{ ID, Title string }](corpus) {
		got := events[it.ID]
		if got == nil {
			continue
		}
		e, mark := expected[it.ID], ""
		switch want := e.Verdict; {
		case e.Gives != 0 && got.Verdict == e.Gives:
			mark = fmt.Sprintf("  (an editor: %s, %s)", e.Verdict, e.Why)
		case got.Verdict != want || want == index.Duplicate && e.Of != got.Of:
			wrong++
			mark = fmt.Sprintf("  ← expected %s %s: %s", e.Verdict, e.Of, e.Why)
		}
		fmt.Fprintf(out, "%s%s%s%s%s\n", pad(got.Verdict.String(), 11), pad(it.ID, 22),
			pad(strings.Join(strings.Fields(it.Title), " "), 42), got.Why, mark)
	}
	return wrong
}

// decodeAll decodes a file of the sample, one value a line. It panics on errors (must).
func decodeAll[T any](file []byte) (all []T) {
	for decoder := json.NewDecoder(bytes.NewReader(file)); decoder.More(); {
		var v T
		must.Dof(decoder.Decode(&v), "sample")
		all = append(all, v)
	}
	return all
}

// pad pads or cuts a text to a width in terminal cells; a Han character takes two.
func pad(s string, width int) string {
	if uniseg.StringWidth(s) > width-1 {
		var b strings.Builder
		w := 0
		graphemes := uniseg.NewGraphemes(s)
		for graphemes.Next() {
			if w+graphemes.Width() > width-2 {
				break
			}
			w += graphemes.Width()
			b.WriteString(graphemes.Str())
		}
		s = b.String() + "…"
	}
	return s + strings.Repeat(" ", max(width-uniseg.StringWidth(s), 1))
}
