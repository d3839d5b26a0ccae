// Package eval measures detection quality, on any corpus and any labels.
//
// A Bench feeds documents through a real index, in order of arrival, into a
// temporary catalogue. It then reports
//
//   - Pairs: the verdict on the later article of each labelled pair against the earlier
//     one, as if no other copy existed. The search of the service has to find the
//     earlier one among the whole corpus; if the feed rejected it, it is indexed for
//     the purpose.
//   - Edits: the same for articles and edited versions of them, by kind of edit,
//     strength and length.
//   - Corpus: what the feed rejected or held for editors, compared with exact
//     resemblance of the texts.
//   - Sweep: the effect of moving each threshold.
//
// The textbook rule (Hamming distance, also beyond what the index searches) and MinHash
// LSH (Broder 1997; Indyk & Motwani 1998) are measured in the same run, on the same
// normal form.
//
// Everything random follows from a seed: the same corpus, policy and seed give the same
// figures. The whole corpus is held in memory, about 3 kB an item.
package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
	"jianguo/simhash"
	"jianguo/sketch"
)

// Config configures a Bench. Segmenter is required.
type Config struct {
	Segmenter *segment.Segmenter
	Policy    *index.Policy // nil: index.DefaultPolicy
	Dir       string        // parent of the temporary catalogue; empty: the system's directory for temporary files
	ByTime    bool          // items arrive in the order of published_at, and at that time, instead of in the order given
	NoTexts   bool          // keep no texts: judge on sketches alone
	Workers   int           // 0: one a processor
	// Progress reports how much of a stage is done; may be nil.
	Progress func(stage string, done, total int64)
}

// Bench is a corpus that has been fed through a real index. It is for one goroutine.
type Bench struct {
	cfg      Config
	policy   index.Policy
	items    []*ingest.Item // in order of arrival
	arrived  []time.Time
	features []features    // of each item
	events   []index.Event // of each item's arrival
	position map[string]int
	dropped  int
	dir      string
	index    *index.Index
	trial    *trial
	ordinals map[string]uint32 // of items that are exemplars in the trial, by id
	feeding  time.Duration
}

// features are what rules other than ours compare.
type features struct {
	print simhash.Print
	exact [16]byte
	blank bool
}

// batchSize is the number of items in one transaction.
const batchSize = 256

// Feed gives every item its verdict, in order, in a catalogue of its own. Of items with
// the same id only the first is used. The caller closes the Bench.
func Feed(ctx context.Context, cfg Config, items []*ingest.Item) (_ *Bench, err error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string, int64, int64) {}
	}
	if cfg.Workers < 1 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	b := &Bench{cfg: cfg, policy: index.DefaultPolicy(), position: make(map[string]int, len(items)), ordinals: map[string]uint32{}}
	if cfg.Policy != nil {
		b.policy = *cfg.Policy
	}
	b.arrange(items)
	if b.dir, err = os.MkdirTemp(cfg.Dir, "jianguo-eval-"); err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	b.index, err = index.Open(ctx, index.Config{Dir: b.dir, Policy: &b.policy, Relaxed: true, Normal: b.normal(), SweepEvery: -1, // pairs of any time can meet
		Recipe: func() (string, error) { return cfg.Segmenter.Recipe(), nil }})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for from := 0; from < len(b.items); from += batchSize {
		if err := b.feed(ctx, from, min(from+batchSize, len(b.items))); err != nil {
			return nil, err
		}
		cfg.Progress("feeding", int64(len(b.events)), int64(len(b.items)))
	}
	b.feeding = time.Since(start)
	b.trial = newTrial(b.index)
	return b, nil
}

// normal returns the function that makes the normal form of a kept text; nil if no
// texts are kept.
func (b *Bench) normal() func(title, body string) sketch.Input {
	if b.cfg.NoTexts {
		return nil
	}
	return func(title, body string) sketch.Input {
		var text segment.Text
		b.cfg.Segmenter.Analyze(&text, title, body)
		return ingest.Input(&text)
	}
}

// arrange puts the items into order of arrival and gives each its time.
func (b *Bench) arrange(items []*ingest.Item) {
	for _, it := range items {
		if _, ok := b.position[it.ID]; ok {
			b.dropped++
			continue
		}
		b.position[it.ID] = len(b.items)
		b.items = append(b.items, it)
	}
	if b.cfg.ByTime {
		published := func(it *ingest.Item) (t time.Time) {
			if it.Published != nil {
				t = *it.Published
			}
			return t
		}
		slices.SortStableFunc(b.items, func(x, y *ingest.Item) int { return published(x).Compare(published(y)) })
	}
	// Items without times come a second apart and end now.
	clock := time.Now().Add(-time.Duration(len(b.items)) * time.Second).Truncate(time.Second)
	b.arrived, b.features = make([]time.Time, len(b.items)), make([]features, len(b.items))
	for i, it := range b.items {
		b.position[it.ID] = i
		clock = clock.Add(time.Second)
		b.arrived[i] = clock
		if b.cfg.ByTime && it.Published != nil {
			b.arrived[i] = *it.Published
		}
	}
}

// prepare makes an item ready to be judged.
func (b *Bench) prepare(it *ingest.Item) *index.Article {
	return ingest.Prepare(b.cfg.Segmenter, new(segment.Text), it)
}

// feed prepares a batch with all workers and adds it.
func (b *Bench) feed(ctx context.Context, from, to int) error {
	mutations := make([]index.Mutation, to-from)
	err := b.parallel(to-from, func(k int) error {
		i := from + k
		a := b.prepare(b.items[i])
		b.features[i] = features{a.Print, a.Exact, a.Blank}
		if !b.cfg.NoTexts {
			a.Packed = index.PackText(b.items[i].Body)
		}
		mutations[k] = index.Mutation{Seq: uint64(i + 1), At: b.arrived[i], Article: a}
		return b.index.Preview(ctx, a, b.arrived[i])
	})
	if err != nil {
		return err
	}
	outcomes, err := b.index.Add(ctx, mutations)
	if err != nil {
		return err
	}
	for i := range outcomes {
		b.events = append(b.events, outcomes[i].Event)
	}
	return nil
}

// parallel calls f with 0 … n-1, in no order, from all workers.
func (b *Bench) parallel(n int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(b.cfg.Workers)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// Close removes the catalogue.
func (b *Bench) Close() error {
	var err error
	if b.index != nil {
		err = b.index.Close()
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// Event returns the verdict that an item got when it arrived.
func (b *Bench) Event(id string) (index.Event, bool) {
	i, ok := b.position[id]
	if !ok {
		return index.Event{}, false
	}
	return b.events[i], true
}

// item returns an item of the corpus and its position in the feed.
func (b *Bench) item(id string) (*ingest.Item, int, error) {
	i, ok := b.position[id]
	if !ok {
		return nil, 0, fmt.Errorf("eval: item %q is labelled, but not in the documents", id)
	}
	return b.items[i], i, nil
}

// judge judges a later item against one earlier item of the corpus.
func (b *Bench) judge(ctx context.Context, later *index.Article, earlier string, at time.Time) (measured, error) {
	ordinal, err := b.exemplar(ctx, earlier)
	if err != nil {
		return measured{}, err
	}
	return b.trial.pair(ctx, later, at, ordinal)
}

// exemplar makes an item an exemplar of the trial and returns its ordinal.
func (b *Bench) exemplar(ctx context.Context, id string) (uint32, error) {
	if ordinal, ok := b.ordinals[id]; ok {
		return ordinal, nil
	}
	ordinal, err := b.trial.stand(ctx, id)
	if err == nil {
		b.ordinals[id] = ordinal
	}
	return ordinal, err
}

// Setting is what a result was measured with.
type Setting struct {
	Items      int          `json:"items"`
	Dropped    int          `json:"same_id_dropped,omitempty"`
	Recipe     string       `json:"recipe"`
	PolicyHash string       `json:"policy_hash"`
	Policy     index.Policy `json:"policy"`
	Texts      bool         `json:"texts_kept"`
	Seconds    float64      `json:"feed_seconds"`
}

// Setting returns what the bench measures with.
func (b *Bench) Setting() Setting {
	return Setting{Items: len(b.items), Dropped: b.dropped, Recipe: b.cfg.Segmenter.Recipe(), PolicyHash: b.policy.Hash(),
		Policy: b.policy, Texts: !b.cfg.NoTexts, Seconds: b.feeding.Seconds()}
}
