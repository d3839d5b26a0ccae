package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/ingest/eval"
	"jianguo/internal/companion"
	"jianguo/internal/jsonl"
	"jianguo/internal/settings"
	"jianguo/segment"
)

type evalCmd struct {
	companion.Flags

	Docs   []string `help:"Documents: JSON lines {id, title, body, …}, may be .gz." placeholder:"FILE" type:"existingfile" required:""`
	Labels []string `help:"Judge labelled pairs: tab-separated id_a, id_b, label, confidence, reason; or .jsonl {a, b, label}." placeholder:"FILE" type:"existingfile"`
	Corpus bool     `help:"Sum up the verdicts on all documents, and compare them with exact resemblance." env:"-"`
	Edits  bool     `help:"Edit articles in many ways and strengths, and judge the copies against the originals."`
	Sweep  bool     `help:"Move each number of the policy and judge the labelled pairs, and a sample of the corpus, again."`
	Plot   string   `help:"Draw precision and recall, and the distances of the labelled pairs, into an .svg file." placeholder:"FILE"`
	By     string   `help:"Order of arrival: as in the ${enum}." enum:"file,published_at" default:"file"`

	Rule       []string           `help:"Rules to measure side by side: jianguo, hamming, minhash." default:"jianguo,hamming,minhash"`
	Distance   string             `help:"Distances of the rule hamming, as 3 or 0..10; beyond 3 by scan." default:"3"`
	Strictness string             `help:"Feed with this strictness: ${enum}. Labelled pairs are judged at each." enum:"copies,rewrites,stories" default:"rewrites"`
	Set        map[string]float64 `help:"Change numbers of the policy: max_s=5;thresholds.duplicate=.7." placeholder:"NAME=VALUE"`
	NoTexts    bool               `help:"Keep no texts: judge on sketches alone."`
	JSON       bool               `help:"Print one JSON document."`
	Wrong      int                `help:"How many wrongly judged pairs to show; --wrong=-1 for all." default:"10"`
	Sample     int                `help:"How many items of each verdict of the corpus to show." default:"5"`
	Articles   int                `help:"How many articles of each length to edit." default:"60"`
	Fold       int                `help:"Split the pairs into this many folds and show each." default:"5"`
	Seed       uint64             `help:"Seed of everything random." default:"1"`
	settings.Segment
}

// sweepSample is the number of items of the corpus that a sweep judges again, for each
// value of each number.
const sweepSample = 1000

// evaluation is the result of one run.
type evaluation struct {
	At      time.Time         `json:"at"`
	Version string            `json:"version"`
	Setting eval.Setting      `json:"setting"`
	Labels  *eval.LabelReport `json:"labels,omitempty"`
	Levels  []eval.Level      `json:"levels,omitempty"`
	Edits   []eval.EditResult `json:"edits,omitempty"`
	Sweep   []eval.SweepRow   `json:"sweep,omitempty"`
	Corpus  []eval.FeedReport `json:"corpus,omitempty"`
}

// Run measures detection quality on documents and labels.
func (c *evalCmd) Run(co *companion.Streams) error {
	if err := c.wanted(); err != nil {
		return err
	}
	distances, err := eval.Distances(c.Distance)
	if err != nil {
		return err
	}
	rules, err := eval.Rules(c.Rule, distances)
	if err != nil {
		return err
	}
	b, err := c.feed(co)
	if err != nil {
		return err
	}
	e, err := c.measure(co, b, rules)
	if err := errors.Join(err, b.Close()); err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(co.Out)
		out.SetIndent("", " ")
		return out.Encode(e)
	}
	e.Setting.Print(co.Out)
	if e.Labels != nil {
		e.Labels.Print(co.Out, c.Wrong)
		eval.PrintLevels(co.Out, e.Levels)
	}
	if e.Sweep != nil {
		eval.PrintSweep(co.Out, e.Sweep)
	}
	if e.Edits != nil {
		eval.PrintEdits(co.Out, e.Edits)
	}
	if e.Corpus != nil {
		eval.PrintCorpus(co.Out, e.Corpus)
	}
	return nil
}

// wanted returns an error if nothing is to be measured, or what is needs labels.
func (c *evalCmd) wanted() error {
	if c.Plot != "" && (len(c.Labels) == 0 || !strings.EqualFold(filepath.Ext(c.Plot), ".svg")) {
		return errors.New("--plot draws labelled pairs into a file that ends in .svg: give --labels FILE too")
	}
	if c.Sweep && len(c.Labels) == 0 {
		return errors.New("--sweep judges labelled pairs again: give --labels FILE")
	}
	if len(c.Labels) == 0 && !c.Corpus && !c.Edits {
		return errors.New("what should be measured? give --labels FILE, --edits or --corpus")
	}
	return nil
}

// feed publishes the documents.
func (c *evalCmd) feed(co *companion.Streams) (*eval.Bench, error) {
	policy := index.DefaultPolicy().At(c.Strictness)
	policy.Rules = index.RulesJianguo
	for name, value := range c.Set {
		var err error
		if policy, err = eval.Turn(policy, name, value); err != nil {
			return nil, err
		}
	}
	items, err := readItems(co, c.Docs)
	if err != nil {
		return nil, err
	}
	segmenter, err := segment.New(segment.Config{Data: data.FS, UserDict: c.UserDict, Residue: c.Residue})
	if err != nil {
		return nil, err
	}
	return eval.Feed(co.Ctx, eval.Config{Segmenter: segmenter, Policy: &policy, ByTime: c.By == "published_at", NoTexts: c.NoTexts,
		Progress: co.Progress.Stages("eval:")}, items)
}

func (c *evalCmd) measure(co *companion.Streams, b *eval.Bench, rules []eval.Rule) (*evaluation, error) {
	e := &evaluation{At: time.Now().UTC(), Version: version, Setting: b.Setting()}
	if c.Corpus {
		var err error
		if e.Corpus, err = b.Corpus(rules, c.Sample, c.Seed); err != nil {
			return nil, err
		}
	}
	if len(c.Labels) > 0 {
		pairs, err := readPairs(co, c.Labels)
		if err != nil {
			return nil, err
		}
		judged, err := b.Pairs(co.Ctx, pairs)
		if err != nil {
			return nil, err
		}
		e.Labels = b.Labels(judged, rules, c.Fold, c.Seed)
		if e.Levels, err = b.Levels(co.Ctx, judged, sweepSample, c.Seed); err != nil {
			return nil, err
		}
		if c.Plot != "" {
			if err := c.plot(b, e); err != nil {
				return nil, err
			}
		}
		if c.Sweep {
			if e.Sweep, err = b.Sweep(co.Ctx, judged, sweepSample, c.Seed); err != nil {
				return nil, err
			}
		}
	}
	if c.Edits {
		variants, err := fs.ReadFile(data.FS, "tables/variants.txt")
		if err != nil {
			return nil, err
		}
		if e.Edits, err = b.Edits(co.Ctx, eval.ReadVariants(string(variants)), c.Articles, c.Seed); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// plotUnrelated is the number of unrelated pairs in a plot.
const plotUnrelated = 400

func (c *evalCmd) plot(b *eval.Bench, e *evaluation) error {
	f, err := os.Create(c.Plot)
	if err != nil {
		return err
	}
	err = e.Labels.Plot(f, &e.Setting.Policy, b.Unrelated(plotUnrelated, c.Seed))
	return errors.Join(err, f.Close())
}

func readPairs(co *companion.Streams, files []string) (pairs []eval.Pair, err error) {
	for _, name := range files {
		r, err := jsonl.Open(co.In, name)
		if err != nil {
			return nil, err
		}
		read := eval.ReadPairs
		if strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".jsonl") {
			read = eval.ReadPairsJSON
		}
		p, err := read(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		pairs = append(pairs, p...)
	}
	return pairs, nil
}

// readItems reads documents. It leaves out those that the service would refuse, and
// counts them.
func readItems(co *companion.Streams, files []string) ([]*ingest.Item, error) {
	var items []*ingest.Item
	refused := 0
	for _, name := range files {
		err := jsonl.Read(co.In, name, func(number int, line []byte) error {
			it, err := ingest.DecodeItem(jsonl.Item(line))
			if err != nil {
				refused++
				co.Log.Warn("document left out", "file", name, "line", number, "error", err)
				return nil
			}
			items = append(items, it)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if refused > 0 {
		fmt.Fprintf(co.Err, "jianguo: %d documents left out\n", refused)
	}
	return items, nil
}
