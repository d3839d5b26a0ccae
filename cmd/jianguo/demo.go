package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
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

// Run serves the sample corpus.
func (c *demoCmd) Run(co *streams) (err error) {
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
	defer func() { err = s.stopAfter(err) }()
	conn, err := (&reachFlags{Data: dir}).reach(co)
	if err != nil {
		return err
	}
	defer conn.Close()

	corpus := filepath.Join(dir, "sample.jsonl")
	lines, err := fs.ReadFile(data.FS, "sample/corpus.jsonl")
	if err != nil {
		return err
	}
	if err := os.WriteFile(corpus, lines, 0o640); err != nil {
		return err
	}
	outcomes := map[string]*ingest.Outcome{}
	sum, err := publishFiles(co, conn, []string{corpus}, "", "", func(o *ingest.Outcome) {
		if o.Event != nil {
			outcomes[o.Event.ID] = o
		}
	})
	if err != nil {
		return err
	}
	wrong, err := showVerdicts(co.out, lines, outcomes)
	if err != nil {
		return err
	}
	fmt.Fprintf(co.out, "\n%d items: %d unique, %d suspect, %d duplicate, %d failed, in %.2f s\n", sum.Items,
		sum.Unique, sum.Suspect, sum.Duplicate, sum.Failed, sum.Seconds)
	if wrong > 0 || sum.Failed > 0 {
		err = fmt.Errorf("%s not as data/sample/expected.jsonl says", plural(wrong+sum.Failed, "verdict"))
	}
	if c.Once {
		return err
	}
	fmt.Fprintf(co.out, "\nopen  %s/             the stories and their copies\n      %s/openapi.yaml every request "+
		"this service answers\n      %s/metrics      for Prometheus\nbus   %s\n\nCtrl-C ends the demo.\n",
		s.address(), s.address(), s.address(), conn.ConnectedUrlRedacted())
	select {
	case <-co.ctx.Done():
	case end := <-s.ended:
		err = fmt.Errorf("the service has ended: %w", cmp.Or(end, errors.New("by itself")))
	}
	return err
}

// showVerdicts prints the items of the sample as a table and counts unexpected
// verdicts.
func showVerdicts(out io.Writer, corpus []byte, outcomes map[string]*ingest.Outcome) (wrong int, err error) {
	expected, err := readExpected()
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "\n%s%s%s%s\n", pad("verdict", 11), pad("item", 22), pad("title", 42), "why")
	decoder := json.NewDecoder(bytes.NewReader(corpus))
	for decoder.More() {
		var it struct{ ID, Title string }
		if err := decoder.Decode(&it); err != nil {
			return wrong, fmt.Errorf("sample: %w", err)
		}
		o := outcomes[it.ID]
		if o == nil {
			continue
		}
		e, mark := expected[it.ID], ""
		switch want := e.Verdict; {
		case e.Gives != 0 && o.Event.Verdict == e.Gives:
			mark = fmt.Sprintf("  (an editor: %s, %s)", e.Verdict, e.Why)
		case o.Event.Verdict != want || want == index.Duplicate && e.Of != o.Event.Of:
			wrong++
			mark = fmt.Sprintf("  ← expected %s %s: %s", e.Verdict, e.Of, e.Why)
		}
		fmt.Fprintf(out, "%s%s%s%s%s\n", pad(o.Event.Verdict.String(), 11), pad(it.ID, 22),
			pad(strings.Join(strings.Fields(it.Title), " "), 42), o.Event.Why, mark)
	}
	return wrong, nil
}

func readExpected() (map[string]expectation, error) {
	raw, err := fs.ReadFile(data.FS, "sample/expected.jsonl")
	if err != nil {
		return nil, err
	}
	expected := map[string]expectation{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	for decoder.More() {
		var e expectation
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("sample/expected.jsonl: %w", err)
		}
		expected[e.ID] = e
	}
	return expected, nil
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
