package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
	"jianguo/sketch"
)

// Config configures a Bench. Segmenter is required.
type Config struct {
	Segmenter *segment.Segmenter
	Policy    *index.Policy // nil: index.DefaultPolicy
	Dir       string        // where the throw-away catalogue is made; empty: the system's place for temporary files
	ByTime    bool          // items arrive in the order of published_at, and at that time, instead of in the order given
	NoTexts   bool          // keep no texts: judge on sketches alone
	Workers   int           // 0: one a processor
	// Progress is told how far a stage has come; nil: nobody asks.
	Progress func(stage string, done, total int64)
}

// Bench is a corpus that has been fed through a real index. It is used by one
// goroutine.
type Bench struct {
	cfg      Config
	policy   index.Policy
	items    []*ingest.Item // in order of arrival
	arrived  []time.Time
	events   []index.Event // of each item's arrival
	position map[string]int
	dropped  int
	dir      string
	index    *index.Index
	trial    *index.Trial
	stood    map[string]uint32 // ids that stand for themselves in the trial, and their ordinals
	feeding  time.Duration
	texts    [batchSize]segment.Text // of the batch that is being fed
}

// batchSize is how many items the bench adds in one transaction.
const batchSize = 256

// Feed gives every item its verdict, in order, in a catalogue of its own.
// Of items with the same id only the first is taken. The caller closes the
// Bench.
func Feed(ctx context.Context, cfg Config, items []*ingest.Item) (_ *Bench, err error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string, int64, int64) {}
	}
	if cfg.Workers < 1 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	b := &Bench{cfg: cfg, policy: index.DefaultPolicy(), position: make(map[string]int, len(items)), stood: map[string]uint32{}}
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
	b.index, err = index.Open(ctx, index.Config{Dir: b.dir, Policy: &b.policy, Durability: index.DurabilityRelaxed, Normal: b.normal(),
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
	b.trial = b.index.Trial()
	return b, nil
}

// normal makes the normal form of a kept text; nil where none are kept.
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
		slices.SortStableFunc(b.items, func(x, y *ingest.Item) int { return published(x).Compare(published(y)) })
	}
	// Without times of their own, items come a second apart and end now.
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

// prepare makes an item ready to be judged.
func (b *Bench) prepare(it *ingest.Item) *index.Article {
	return ingest.Prepare(b.cfg.Segmenter, new(segment.Text), it)
}

func published(it *ingest.Item) time.Time {
	if it.Published == nil {
		return time.Time{}
	}
	return *it.Published
}

// feed prepares a batch with all workers and adds it.
func (b *Bench) feed(ctx context.Context, from, to int) error {
	mutations := make([]index.Mutation, to-from)
	err := parallel(b.cfg.Workers, to-from, func(i int) error {
		it := b.items[from+i]
		a := ingest.Prepare(b.cfg.Segmenter, &b.texts[i], it)
		if !b.cfg.NoTexts {
			a.Packed = index.PackText(it.Body)
		}
		if err := b.index.Preview(ctx, a, b.arrived[from+i]); err != nil {
			return err
		}
		mutations[i] = index.Mutation{Seq: uint64(from + i + 1), At: b.arrived[from+i], Article: a}
		return nil
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

// parallel calls f with 0 … n-1, in no order, from several goroutines.
func parallel(workers, n int, f func(i int) error) error {
	var next atomic.Int64
	var g errgroup.Group
	for range min(workers, n) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
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

// Event returns the verdict an item got when it arrived.
func (b *Bench) Event(id string) (index.Event, bool) {
	i, ok := b.position[id]
	if !ok {
		return index.Event{}, false
	}
	return b.events[i], true
}

// item returns an item of the corpus, and where in the feed it stands.
func (b *Bench) item(id string) (*ingest.Item, int, error) {
	i, ok := b.position[id]
	if !ok {
		return nil, 0, fmt.Errorf("eval: item %q is labelled, but not in the documents", id)
	}
	return b.items[i], i, nil
}

// judge judges a later item against an earlier one of the corpus alone.
func (b *Bench) judge(ctx context.Context, later *index.Article, earlier string, at time.Time) (index.Measured, error) {
	ordinal, err := b.stand(ctx, earlier)
	if err != nil {
		return index.Measured{}, err
	}
	return b.trial.Pair(ctx, later, at, ordinal)
}

// stand lets an item stand for itself, and returns its ordinal.
func (b *Bench) stand(ctx context.Context, id string) (uint32, error) {
	if ordinal, ok := b.stood[id]; ok {
		return ordinal, nil
	}
	ordinal, err := b.trial.Stand(ctx, id)
	if err != nil {
		return 0, err
	}
	b.stood[id] = ordinal
	return ordinal, nil
}

// Setting is what a result was measured with, printed with each.
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
