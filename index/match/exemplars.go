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
	source string
	kept   bool // text is there
	asked  bool // text was looked for
}

// exemplars reads exemplars from the catalogue and caches the last ones that
// were used: copies follow their original closely. Safe for concurrent use.
type exemplars struct {
	normal func(title, body string) sketch.Input // nil: texts are not compared

	mu       sync.Mutex
	compared string                        // of the readers whose exemplars are cached
	cache    *lru.Cache[uint32, *exemplar] // changed under mu
	bytes    int64                         // of what is in cache; under mu
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

func (r *exemplars) compareBy(compared string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compared = compared
	r.cache.Purge()
}

// keep caches what a reader has read, unless versions are compared by another table now.
func (r *exemplars) keep(rows *Reader, ordinal uint32, e *exemplar) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rows.Compared == r.compared {
		r.put(ordinal, e)
	}
}

// put caches an exemplar. Guarded by mu.
func (r *exemplars) put(ordinal uint32, e *exemplar) {
	if was, ok := r.cache.Peek(ordinal); ok {
		r.bytes -= was.size()
	}
	r.bytes += e.size()
	r.cache.Add(ordinal, e)
	for r.bytes > cachedBytes && r.cache.Len() > 1 {
		r.cache.RemoveOldest()
	}
}

// Cache keeps an article that has just become an exemplar in memory.
func (r *exemplars) Cache(ordinal uint32, a *verdict.Article) {
	e := &exemplar{sketch: a.Sketch}
	if r.normal != nil && a.Packed != nil {
		e.text, e.source, e.kept = cloneInput(a.Text), strings.Clone(a.Source), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(ordinal, e)
}

// Uncache drops an exemplar from memory.
func (r *exemplars) Uncache(ordinal uint32) {
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
			fresh.text, fresh.source, fresh.kept = r.normal(t.title, t.body), t.source, true
			if t.published.Valid {
				fresh.text.Published = sketch.Day(time.UnixMilli(t.published.Int64))
			}
		}
	}
	r.keep(rows, ordinal, fresh)
	return fresh, nil
}

// cloneInput copies strings whose memory the caller will reuse.
func cloneInput(in sketch.Input) sketch.Input {
	out := sketch.Input{Title: strings.Clone(in.Title), Body: strings.Clone(in.Body), Names: make([]string, len(in.Names)), Published: in.Published}
	for i, name := range in.Names {
		out.Names[i] = strings.Clone(name)
	}
	return out
}
