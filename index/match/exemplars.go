package match

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"jianguo/index/verdict"
	"jianguo/sketch"
)

// exemplar is what comparing reads of an exemplar.
type exemplar struct {
	sketch sketch.Sketch
	text   sketch.Input
	kept   bool // text is there
	asked  bool // text was looked for
}

// exemplars reads exemplars from the catalogue and caches the last ones that
// were used: copies follow their original closely. Safe for concurrent use.
type exemplars struct {
	normal func(title, body string) sketch.Input // nil: texts are not compared

	mu    sync.Mutex
	cache *lru.Cache[uint32, *exemplar] // changed under mu
	bytes int64                         // of what is in cache; under mu
}

// Bounds of the cache: by number, about 100 MB of news at 3 KB each, and by
// bytes, for longer texts.
const (
	cachedExemplars = 32 << 10
	cachedBytes     = 128 << 20
)

func newExemplars(normal func(title, body string) sketch.Input) *exemplars {
	r := &exemplars{normal: normal}
	var err error
	r.cache, err = lru.NewWithEvict(cachedExemplars, func(_ uint32, e *exemplar) { r.bytes -= e.size() })
	if err != nil {
		panic(err) // only for a size below 1
	}
	return r
}

// size is about what an exemplar takes, its entry in the cache included.
func (e *exemplar) size() int64 {
	n := 600 + len(e.text.Title) + len(e.text.Body)
	for _, name := range e.text.Names {
		n += 16 + len(name)
	}
	return int64(n)
}

func (r *exemplars) put(ordinal uint32, e *exemplar) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, ok := r.cache.Peek(ordinal); ok {
		r.bytes -= was.size()
	}
	r.bytes += e.size()
	r.cache.Add(ordinal, e)
	for r.bytes > cachedBytes && r.cache.Len() > 1 {
		r.cache.RemoveOldest()
	}
}

// add caches an exemplar that has just arrived.
func (r *exemplars) add(ordinal uint32, a *verdict.Article) {
	e := &exemplar{sketch: a.Sketch}
	if r.normal != nil && a.Packed != nil {
		e.text, e.kept = cloneInput(a.Text), true
	}
	r.put(ordinal, e)
}

func (r *exemplars) forget(ordinal uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache.Remove(ordinal)
}

// get reads one exemplar: its sketch and, on request, its text where that was
// kept.
func (r *exemplars) get(ctx context.Context, rows *Reader, ordinal uint32, text bool) (*exemplar, error) {
	e, ok := r.cache.Get(ordinal)
	if ok && (e.kept || e.asked || !text || r.normal == nil) {
		return e, nil
	}
	fresh := new(exemplar)
	var err error
	if ok {
		fresh.sketch = e.sketch
	} else if fresh.sketch, err = rows.readSketch(ctx, ordinal); err != nil {
		return nil, err
	}
	if text && r.normal != nil {
		fresh.asked = true
		t, err := rows.readText(ctx, ordinal)
		switch {
		case errors.Is(err, sql.ErrNoRows): // not kept
		case err != nil:
			return nil, fmt.Errorf("text of ordinal %d: %w", ordinal, err)
		default:
			fresh.text, fresh.kept = r.normal(t.title, t.body), true
			if t.published.Valid {
				fresh.text.Published = sketch.Day(time.UnixMilli(t.published.Int64))
			}
		}
	}
	r.put(ordinal, fresh)
	return fresh, nil
}

// prefetch caches the sketches of exemplars, many with one query: those of a
// large family are seldom cached. An exemplar without a row yet is passed over.
func (r *exemplars) prefetch(ctx context.Context, rows *Reader, ordinals []uint32) error {
	var missing []uint32
	for _, ordinal := range ordinals {
		if !r.cache.Contains(ordinal) {
			missing = append(missing, ordinal)
		}
	}
	if len(missing) < 2 {
		return nil // get does it as fast
	}
	return rows.readSketches(ctx, missing, func(ordinal uint32, s sketch.Sketch) {
		if !r.cache.Contains(ordinal) {
			r.put(ordinal, &exemplar{sketch: s})
		}
	})
}

// cloneInput copies strings whose memory the caller will reuse.
func cloneInput(in sketch.Input) sketch.Input {
	out := sketch.Input{Title: strings.Clone(in.Title), Body: strings.Clone(in.Body), Names: make([]string, len(in.Names)), Published: in.Published}
	for i, name := range in.Names {
		out.Names[i] = strings.Clone(name)
	}
	return out
}
