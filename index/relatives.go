package index

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

// relative is what judging reads of an exemplar.
type relative struct {
	sketch sketch.Sketch
	text   sketch.Input
	kept   bool // text is there
	asked  bool // text was looked for
}

// relatives reads exemplars for judging, those used lately from memory:
// copies follow their original closely. Safe for concurrent use.
type relatives struct {
	normal func(title, body string) sketch.Input // nil: judge on sketches

	mu    sync.Mutex
	cache *lru.Cache[uint32, *relative] // changed under mu
	bytes int64                         // of what is in cache; under mu
}

// Bounds of what is kept: by number, at about 3 KB 100 MB, and by bytes, for
// texts that are longer than most.
const (
	relativesCached = 32 << 10
	relativesBytes  = 128 << 20
)

func newRelatives(normal func(title, body string) sketch.Input) *relatives {
	r := &relatives{normal: normal}
	var err error
	r.cache, err = lru.NewWithEvict(relativesCached, func(_ uint32, rel *relative) { r.bytes -= rel.size() })
	if err != nil {
		panic(err) // only for a size below 1
	}
	return r
}

// size is about what a relative takes, its place in the cache included.
func (rel *relative) size() int64 {
	n := 600 + len(rel.text.Title) + len(rel.text.Body)
	for _, name := range rel.text.Names {
		n += 16 + len(name)
	}
	return int64(n)
}

// put remembers a relative.
func (r *relatives) put(ordinal uint32, rel *relative) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, ok := r.cache.Peek(ordinal); ok {
		r.bytes -= was.size()
	}
	r.bytes += rel.size()
	r.cache.Add(ordinal, rel)
	for r.bytes > relativesBytes && r.cache.Len() > 1 {
		r.cache.RemoveOldest()
	}
}

// add remembers an exemplar that has just arrived.
func (r *relatives) add(ordinal uint32, a *Article) {
	rel := &relative{sketch: a.Sketch}
	if r.normal != nil && a.Packed != nil {
		rel.text, rel.kept = cloneInput(a.Text), true
	}
	r.put(ordinal, rel)
}

func (r *relatives) forget(ordinal uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache.Remove(ordinal)
}

// get reads one exemplar: its sketch, and its text where that is wanted and
// was kept.
func (r *relatives) get(ctx context.Context, rows rows, ordinal uint32, text bool) (*relative, error) {
	rel, ok := r.cache.Get(ordinal)
	if ok && (rel.kept || rel.asked || !text || r.normal == nil) {
		return rel, nil
	}
	fresh := new(relative)
	if ok {
		fresh.sketch = rel.sketch
	} else {
		encoded, err := rows.sketch(ctx, ordinal)
		if err == nil {
			fresh.sketch, err = sketch.Decode(encoded)
		}
		if err != nil {
			return nil, fmt.Errorf("sketch of ordinal %d: %w", ordinal, err)
		}
	}
	if text && r.normal != nil {
		fresh.asked = true
		kept, err := rows.text(ctx, ordinal)
		switch {
		case errors.Is(err, sql.ErrNoRows): // not kept
		case err != nil:
			return nil, fmt.Errorf("text of ordinal %d: %w", ordinal, err)
		default:
			body, err := verdict.UnpackText(kept.packed)
			if err != nil {
				return nil, fmt.Errorf("text of ordinal %d: %w", ordinal, err)
			}
			fresh.text, fresh.kept = r.normal(kept.title, body), true
			if kept.published.Valid {
				fresh.text.Published = sketch.Day(time.UnixMilli(kept.published.Int64))
			}
		}
	}
	r.put(ordinal, fresh)
	return fresh, nil
}

// fetch brings into memory the sketches of candidates that are not there and
// that m has no opinion on, many at a time: those of a family of thousands are
// seldom there. A row that is not there yet is passed over.
func (r *relatives) fetch(ctx context.Context, rows rows, candidates []*candidate, m *memo) error {
	var missing []uint32
	for _, c := range candidates {
		if p := &c.proposal; !r.cache.Contains(p.ordinal) && recalled(m.sketches, p) == nil {
			missing = append(missing, p.ordinal)
		}
	}
	if len(missing) < 2 {
		return nil // reading one is not dearer
	}
	return rows.sketches(ctx, missing, func(ordinal uint32, encoded []byte) error {
		sk, err := sketch.Decode(encoded)
		if err != nil {
			return fmt.Errorf("sketch of ordinal %d: %w", ordinal, err)
		}
		if !r.cache.Contains(ordinal) {
			r.put(ordinal, &relative{sketch: sk})
		}
		return nil
	})
}

// cloneInput copies strings whose memory belongs to somebody else.
func cloneInput(in sketch.Input) sketch.Input {
	out := sketch.Input{Title: strings.Clone(in.Title), Body: strings.Clone(in.Body), Names: make([]string, len(in.Names)), Published: in.Published}
	for i, name := range in.Names {
		out.Names[i] = strings.Clone(name)
	}
	return out
}
