package ingest

import (
	"strings"
	"sync"
	"time"

	"jianguo/index"
	"jianguo/segment"
	"jianguo/simhash"
	"jianguo/sketch"
)

// scratch are the buffers of analyses, *segment.Text. What is returned from here never refers to them.
var scratch = sync.Pool{New: func() any { return new(segment.Text) }}

// Prepare analyses an item for the index. It keeps no body: see index.PackText.
func Prepare(seg *segment.Segmenter, it *Item) *index.Article {
	text := scratch.Get().(*segment.Text)
	defer scratch.Put(text)
	seg.Analyze(text, it.Title, it.Body)
	a := &index.Article{
		ID: it.ID, Revision: it.Revision, Title: it.Title, Source: it.Source, URL: it.URL,
		Recipe: text.Recipe, Exact: text.Exact, Blank: text.Blank, Print: Fingerprint(text), Text: normalForm(text),
	}
	if it.Published != nil {
		a.Published = *it.Published
	}
	a.Text.Published = sketch.Day(a.Published)
	a.Sketch = sketch.Make(a.Text)
	return a
}

// Normal returns the normal form of a text, as texts are compared.
func Normal(seg *segment.Segmenter, title, body string) sketch.Input {
	text := scratch.Get().(*segment.Text)
	defer scratch.Put(text)
	seg.Analyze(text, title, body)
	return normalForm(text)
}

// normalForm copies the normal form out of buffers, in one allocation for all its strings.
func normalForm(text *segment.Text) sketch.Input {
	size := len(text.Title) + len(text.Body)
	for _, name := range text.Names {
		size += len(name)
	}
	var all strings.Builder
	all.Grow(size)
	clone := func(s string) string {
		start := all.Len()
		all.WriteString(s)
		return all.String()[start:]
	}
	in := sketch.Input{Title: clone(text.Title), Body: clone(text.Body), Names: make([]string, len(text.Names)),
		Sentences: append([]int32(nil), text.Sentences...)}
	for i, name := range text.Names {
		in.Names[i] = clone(name)
	}
	return in
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
	return func(title, body string, published time.Time) *index.Article {
		it := Item{Title: title, Body: body}
		if !published.IsZero() {
			it.Published = &published
		}
		return Prepare(seg, &it)
	}
}
