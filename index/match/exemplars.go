package match

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"jianguo/compare"
	"jianguo/index/sources"
	"jianguo/index/verdict"
	"jianguo/internal/must"
)

// exemplar is what comparing reads of an exemplar. Its values do not change.
type exemplar struct {
	sketch compare.Sketch
	text   *compare.Text // nil: not read
	source string        // known with text
	doc    *compare.Doc  // of text; nil: not prepared
}

// exemplars reads exemplars from the catalogue and caches the last ones that were used: copies follow their original
// closely. Safe for concurrent use.
type exemplars struct {
	normal      func(title, body string) compare.Text
	boilerplate *sources.Boilerplate

	mu       sync.Mutex
	compared string                        // of the readers whose exemplars are cached
	cache    *lru.Cache[uint32, *exemplar] // changed under mu
	bytes    int64                         // of what is in cache; under mu
}

// Bounds of the cache: by number, and by bytes, about 16 KB for an article of news.
const (
	cachedExemplars = 32 << 10
	cachedBytes     = 160 << 20
)

func newExemplars(c *Config) *exemplars {
	r := &exemplars{normal: c.Normal, boilerplate: c.Boilerplate}
	r.cache = must.Get(lru.NewWithEvict(cachedExemplars, func(_ uint32, e *exemplar) { r.bytes -= e.size() }))
	return r
}

// size is about what an exemplar takes, its entry in the cache included.
func (e *exemplar) size() int64 {
	n := int64(500 + len(e.source))
	switch {
	case e.doc != nil:
		n += e.doc.Size()
	case e.text != nil:
		n += int64(len(e.text.Title) + len(e.text.Body) + 4*len(e.text.Words))
	}
	return n
}

// cacheRead caches what a reader has read, unless versions are compared by another table now.
func (r *exemplars) cacheRead(rows *Reader, ordinal uint32, e *exemplar) {
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
	text := a.Text
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(ordinal, &exemplar{sketch: a.Sketch, text: &text, source: a.Source})
}

// Uncache drops an exemplar from memory.
func (r *exemplars) Uncache(ordinal uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache.Remove(ordinal)
}

func (r *exemplars) sketch(ctx context.Context, rows *Reader, ordinal uint32) (*compare.Sketch, error) {
	if e, ok := r.cache.Get(ordinal); ok {
		return &e.sketch, nil
	}
	s, err := rows.readSketch(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	e := &exemplar{sketch: s}
	r.cacheRead(rows, ordinal, e)
	return &e.sketch, nil
}

// doc prepares the text of an exemplar without what its source's articles have in common, and returns the source. A
// text that was not kept gives nil.
func (r *exemplars) doc(ctx context.Context, rows *Reader, ordinal uint32) (*compare.Doc, string, error) {
	e, ok := r.cache.Get(ordinal)
	if !ok || e.text == nil {
		s, err := r.sketch(ctx, rows, ordinal)
		if err != nil {
			return nil, "", err
		}
		kept, err := rows.readText(ctx, ordinal)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", fmt.Errorf("text of ordinal %d: %w", ordinal, err)
		}
		text := r.normal(kept.title, kept.body)
		if kept.published.Valid {
			text.Published = compare.Day(time.UnixMilli(kept.published.Int64))
		}
		e = &exemplar{sketch: *s, text: &text, source: kept.source}
	}
	residue, err := r.boilerplate.Residue(ctx, e.source)
	if err != nil {
		return nil, "", err
	}
	if e.doc == nil || e.doc.Text.Learned != residue {
		text := *e.text
		text.Learned = residue
		e = &exemplar{sketch: e.sketch, text: &text, source: e.source, doc: compare.NewDoc(&text)}
		r.cacheRead(rows, ordinal, e)
	}
	return e.doc, e.source, nil
}
