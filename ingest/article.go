package ingest

import (
	"sync"
	"time"

	"jianguo/index"
	"jianguo/segment"
	"jianguo/simhash"
	"jianguo/sketch"
)

// Prepare analyses an item for the index. The article refers to text: the next use of
// text changes it.
func Prepare(seg *segment.Segmenter, text *segment.Text, it *Item) *index.Article {
	a := &index.Article{ID: it.ID, Revision: it.Revision, Title: it.Title, Source: it.Source, URL: it.URL}
	if it.Published != nil {
		a.Published = *it.Published
	}
	seg.Analyze(text, it.Title, it.Body)
	a.Recipe, a.Exact, a.Blank, a.Print = text.Recipe, text.Exact, text.Blank, Fingerprint(text)
	a.Text = Input(text)
	a.Text.Published = sketch.Day(a.Published)
	a.Sketch = sketch.Make(a.Text)
	return a
}

// Input is what a sketch is made from.
func Input(text *segment.Text) sketch.Input {
	return sketch.Input{Title: text.Title, Body: text.Body, Names: text.Names}
}

// Fingerprint sums the terms of a text.
func Fingerprint(t *segment.Text) simhash.Print {
	var s simhash.Sum
	for i := range t.Terms {
		s.Add(t.Terms[i].Hash, t.Terms[i].Weight)
	}
	return s.Print()
}

// Analyzer returns a function that prepares a kept text as an item that arrives, for a reindex.
func Analyzer(seg *segment.Segmenter) func(title, body string, published time.Time) *index.Article {
	texts := sync.Pool{New: func() any { return new(segment.Text) }}
	return func(title, body string, published time.Time) *index.Article {
		text := texts.Get().(*segment.Text)
		defer texts.Put(text)
		it := Item{Title: title, Body: body}
		if !published.IsZero() {
			it.Published = &published
		}
		return Prepare(seg, text, &it)
	}
}
