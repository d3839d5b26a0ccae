package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/ingest/eval"
	"jianguo/internal/jsonl"
	"jianguo/internal/must"
)

type evalCmd struct {
	Docs   []string `help:"Documents: JSON lines {id, title, body, …}." placeholder:"FILE" type:"existingfile"`
	Labels []string `help:"Pairs: tabbed id_a, id_b, kind, adds, conf, note." placeholder:"FILE" type:"existingfile"`
	Pairs  []string `help:"Pairs of texts: JSON lines {source, target, label}." placeholder:"FILE" type:"existingfile"`
	Corpus bool     `help:"Sum up the verdicts on all documents." env:"-"`
	By     string   `help:"Order of arrival: as in the ${enum}." enum:"file,published_at" default:"file"`

	Strictness string `help:"Feed with this strictness: ${enum}." enum:"copies,rewrites,stories" default:"rewrites"`
	Half       string `help:"Judge one half of the pairs, a or b, by a hash of their ids." enum:",a,b" default:""`
	Labelled   bool   `help:"Feed no other documents than the labels name: faster, and easier for the search."`
	JSON       bool   `help:"Print one JSON document."`
	Wrong      int    `help:"Wrongly judged pairs to show; --wrong=-1 for all." range:"-1..1000000" default:"10"`
	Sample     int    `help:"How many items of each verdict of the corpus to show." range:"0..1000000" default:"5"`
	Seed       uint64 `help:"Which items are shown." range:"0..18446744073709551615" default:"1"`
	segmentFlags
}

type evaluation struct {
	At      time.Time          `json:"at"`
	Version string             `json:"version"`
	Setting *eval.Setting      `json:"setting,omitempty"` // of the documents
	Labels  *eval.Report       `json:"labels,omitempty"`
	Corpus  *eval.CorpusReport `json:"corpus,omitempty"`
	Pairs   []*eval.Report     `json:"pairs,omitempty"`
}

func (c *evalCmd) Run(co *stdio) error {
	if err := c.wanted(); err != nil {
		return err
	}
	return must.Catch(func() {
		cfg := eval.Config{Segmenter: must.Get(c.segmenter()), Policy: index.DefaultPolicy().At(c.Strictness),
			ByTime: c.By == "published_at", Progress: co.progress.stages("eval:")}
		e := &evaluation{At: time.Now().UTC(), Version: version}
		if len(c.Docs) > 0 {
			c.documents(co, cfg, e)
		}
		for _, name := range c.Pairs {
			judged, setting := must.Get2(eval.Pairs(co.ctx, cfg, c.readPairs(co, name)))
			e.Setting = cmp.Or(e.Setting, &setting)
			e.Pairs = append(e.Pairs, eval.SumPairs(filepath.Base(name), judged))
		}
		if c.JSON {
			co.print(e)
			return
		}
		e.Setting.Print(co.out)
		if e.Labels != nil {
			e.Labels.Print(co.out, c.Wrong)
		}
		if e.Corpus != nil {
			e.Corpus.Print(co.out)
		}
		for _, r := range e.Pairs {
			r.Print(co.out, c.Wrong)
		}
	})
}

// wanted returns an error if nothing is to be measured, or what is needs documents or labels.
func (c *evalCmd) wanted() error {
	switch {
	case (len(c.Labels) > 0 || c.Corpus) && len(c.Docs) == 0:
		return errors.New("--labels and --corpus are about documents: give --docs FILE")
	case c.Labelled && len(c.Labels) == 0:
		return errors.New("--labelled is about labelled pairs: give --labels FILE too")
	case c.Labelled && c.Corpus:
		return errors.New("--labelled leaves documents out: not with --corpus")
	case len(c.Labels) == 0 && len(c.Pairs) == 0 && !c.Corpus:
		return errors.New("what should be measured? give --labels FILE, --pairs FILE or --corpus")
	}
	return nil
}

// documents feeds the documents and measures what is asked of them. It panics on errors (must).
func (c *evalCmd) documents(co *stdio, cfg eval.Config, e *evaluation) {
	items, labels := readItems(co, c.Docs), c.readLabels(co)
	if c.Labelled {
		labelled := map[string]bool{}
		for _, l := range labels {
			labelled[l.A], labelled[l.B] = true, true
		}
		items = slices.DeleteFunc(items, func(it *ingest.Item) bool { return !labelled[it.ID] })
	}
	b := must.Get(eval.Feed(co.ctx, cfg, items))
	defer b.Close()
	e.Setting = new(b.Setting())
	if c.Corpus {
		e.Corpus = b.Corpus(c.Sample, c.Seed)
	}
	if len(c.Labels) > 0 {
		e.Labels = b.Sum("Labelled pairs", must.Get(b.Labels(co.ctx, labels)))
	}
}

// readLabels reads all files of labels, or the wanted half of them. It panics on errors (must).
func (c *evalCmd) readLabels(co *stdio) (labels []eval.Label) {
	for _, name := range c.Labels {
		labels = append(labels, must.Get(eval.ReadLabels(co.in, name))...)
	}
	return slices.DeleteFunc(labels, func(l eval.Label) bool { return !c.inHalf(l.A, l.B) })
}

func (c *evalCmd) inHalf(a, b string) bool { return c.Half == "" || c.Half == eval.Half(a, b) }

// readPairs reads a file of pairs of texts, or the wanted half of it. It panics on errors (must).
func (c *evalCmd) readPairs(co *stdio, name string) (pairs []eval.TextPair) {
	must.Do(jsonl.Read(co.in, name, func(_ int, line []byte) error {
		p, err := eval.ReadTextPair(line)
		if c.inHalf(p.Source, p.Target) {
			pairs = append(pairs, p)
		}
		return err
	}))
	return pairs
}

// readItems reads documents. It leaves out those that the service would refuse, and
// counts them. It panics on errors (must).
func readItems(co *stdio, files []string) (items []*ingest.Item) {
	refused := 0
	for _, name := range files {
		must.Do(jsonl.Read(co.in, name, func(number int, line []byte) error {
			it, err := ingest.DecodeItem(jsonl.WithPublishedAt(line))
			if err != nil {
				refused++
				co.log.Warn("document left out", "file", name, "line", number, "error", err)
				return nil
			}
			items = append(items, it)
			return nil
		}))
	}
	if refused > 0 {
		fmt.Fprintf(co.err, "jianguo: %d documents left out\n", refused)
	}
	return items
}
