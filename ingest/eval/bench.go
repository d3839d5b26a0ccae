// Package eval measures detection on documents and labels of a user.
//
// Feed sends documents through a real index, in order of arrival, into a temporary
// catalogue. Then
//
//   - Labels judges the later text of each labelled pair against the earlier one, as if no
//     other copy existed, and counts verdicts by what the later text adds. The search of the
//     service has to find the earlier text among the whole corpus. If the feed rejected it,
//     it is indexed for the purpose.
//   - Pairs does the same for a file of pairs of texts.
//   - Corpus counts what the feed rejected or held for editors.
//
// Beside our verdicts stand those of three textbook rules, on the same normal form: SimHash
// at distance 3 (Manku et al. 2007), MinHash LSH (Broder 1997; Indyk & Motwani 1998) and the
// exact Jaccard resemblance.
//
// The same documents, policy and labels give the same figures. The whole corpus is held in
// memory, about 3 kB an item.
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
	"jianguo/index/match"
	"jianguo/index/stories"
	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/segment"
)

// Config configures a Bench. Segmenter and Policy are required.
type Config struct {
	Segmenter *segment.Segmenter
	Policy    index.Policy
	// ByTime: items arrive in the order of published_at, and at that time, instead of in the
	// order given.
	ByTime bool
	// Progress reports how much of a stage is done; may be nil.
	Progress func(stage string, done, total int64)
}

// Bench is a corpus that has been fed through a real index. It is for one goroutine.
//
// Judging pairs changes the catalogue: an earlier text that was rejected in the feed is
// released. events keeps the verdicts of the feed.
type Bench struct {
	cfg      Config
	items    []*ingest.Item // in order of arrival
	arrived  []time.Time
	events   []index.Event // of each item's arrival
	position map[string]int
	dropped  int
	dir      string
	index    *index.Index
	feeding  time.Duration

	probe index.Probe
	// hidden are the ordinals that judging ignores: all except the earlier text while a
	// pair is judged.
	hidden map[uint32]bool
}

// batchSize is the number of items in one transaction.
const batchSize = 256

// Feed gives every item its verdict, in order, in a catalogue of its own. Of items with
// the same id only the first is used. The caller closes the Bench.
func Feed(ctx context.Context, cfg Config, items []*ingest.Item) (*Bench, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string, int64, int64) {}
	}
	b := &Bench{cfg: cfg, position: make(map[string]int, len(items)), hidden: make(map[uint32]bool, len(items))}
	b.arrange(items)
	if err := must.Catch(func() { b.open(ctx) }); err != nil {
		return nil, fmt.Errorf("eval: %w", errors.Join(err, b.Close()))
	}
	return b, nil
}

// open makes the catalogue. It panics on errors (must), as do all unexported methods with a context.
func (b *Bench) open(ctx context.Context) {
	b.dir = must.Get(os.MkdirTemp("", "jianguo-eval-"))
	b.index = must.Get(index.Open(ctx, ingest.IndexConfig(b.cfg.Segmenter, index.Config{Dir: b.dir,
		Policy: &b.cfg.Policy, Relaxed: true, SweepEvery: -1}))) // pairs of any time can meet
	start := time.Now()
	for from := 0; from < len(b.items); from += batchSize {
		b.feed(ctx, from, min(from+batchSize, len(b.items)))
		b.cfg.Progress("feeding", int64(len(b.events)), int64(len(b.items)))
	}
	b.feeding = time.Since(start)
	for i := range b.events { // later tellings may have joined stories
		b.events[i].Story = must.Get(stories.Of(ctx, b.index.Tables(), b.events[i].Cluster))
	}
	b.probe = b.index.Probe()
	for ordinal := uint32(1); ordinal <= b.probe.Last; ordinal++ {
		b.hidden[ordinal] = true
	}
}

// arrange puts the items into order of arrival and gives each its time.
func (b *Bench) arrange(items []*ingest.Item) {
	for _, it := range items {
		if _, known := b.position[it.ID]; known {
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
	b.arrived = make([]time.Time, len(b.items))
	for i, it := range b.items {
		b.position[it.ID] = i
		clock = clock.Add(time.Second)
		b.arrived[i] = clock
		if b.cfg.ByTime && it.Published != nil {
			b.arrived[i] = *it.Published
		}
	}
}

// feed prepares a batch with all processors and adds it.
func (b *Bench) feed(ctx context.Context, from, to int) {
	mutations := make([]index.Mutation, to-from)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := from; i < to; i++ {
		group.Go(func() error {
			a := ingest.Prepare(b.cfg.Segmenter, b.items[i])
			mutations[i-from] = index.Mutation{Seq: uint64(i + 1), At: b.arrived[i], Article: a}
			return b.index.CompareAhead(ctx, a, b.arrived[i])
		})
	}
	must.Do(group.Wait())
	for _, o := range must.Get(b.index.Add(ctx, mutations)) {
		b.events = append(b.events, o.Event)
	}
}

func (b *Bench) Close() error {
	var err error
	if b.index != nil {
		err = b.index.Close()
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// check judges an article that arrives at a time against one earlier item of the corpus. Of
// is empty where the two are unrelated. met reports whether the search found the earlier one.
func (b *Bench) check(ctx context.Context, later *index.Article, at time.Time, earlier string) (
	e index.Event, met bool) {
	ordinal := b.exemplar(ctx, earlier)
	delete(b.hidden, ordinal)
	defer func() { b.hidden[ordinal] = true }()
	e = must.Get(b.probe.Check(ctx, match.Query{Article: later, At: uint32(at.Unix()), Except: b.hidden}))
	return e, e.Of != "" || slices.ContainsFunc(b.probe.Matcher.Propose(&match.Query{Article: later}),
		func(p match.Proposal) bool { return p.Ordinal == ordinal })
}

// exemplar returns the ordinal of an item that later texts are compared with. One that was
// rejected as a copy gets its own postings, as if it had been the first to arrive.
func (b *Bench) exemplar(ctx context.Context, id string) uint32 {
	if must.Get(b.index.Item(ctx, id)).Event.Verdict == index.Duplicate {
		must.Get(b.index.EditNow(ctx, &index.Edit{
			Decision: &index.DecisionRequest{Kind: index.Release, Item: id, By: "eval"}}))
	}
	return slices.Max(b.index.Versions(id))
}

// Setting is what a result was measured with.
type Setting struct {
	Items      int          `json:"items"`
	Dropped    int          `json:"same_id_dropped,omitempty"`
	Recipe     string       `json:"recipe"`
	PolicyHash string       `json:"policy_hash"`
	Policy     index.Policy `json:"policy"`
	Seconds    float64      `json:"feed_seconds"`
}

func (b *Bench) Setting() Setting {
	return Setting{Items: len(b.items), Dropped: b.dropped, Recipe: b.cfg.Segmenter.Recipe(),
		PolicyHash: b.cfg.Policy.Hash(), Policy: b.cfg.Policy, Seconds: b.feeding.Seconds()}
}
