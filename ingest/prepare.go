package ingest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"jianguo/compare"
	"jianguo/compare/reason"
	"jianguo/index"
	"jianguo/segment"
	"jianguo/simhash"
)

// scratch are the buffers of analyses, *segment.Text. What is returned from here never refers to them.
var scratch = sync.Pool{New: func() any { return new(segment.Text) }}

// Prepare analyses an item for the index.
func Prepare(seg *segment.Segmenter, it *Item) *index.Article {
	text := scratch.Get().(*segment.Text)
	defer scratch.Put(text)
	seg.Analyze(text, it.Title, it.Body)
	a := &index.Article{
		ID: it.ID, Revision: it.Revision, Title: it.Title, Source: it.Source, URL: it.URL,
		Recipe: text.Recipe, Packed: index.PackText(it.Body), Exact: text.Exact, Blank: text.Blank,
		Print: Fingerprint(text), Text: normalForm(text),
	}
	if it.Published != nil {
		a.Published = *it.Published
	}
	a.Text.Published = compare.Day(a.Published)
	a.Sketch = compare.NewSketch(&a.Text)
	return a
}

// refuseLong refuses an article whose normal form is not all of its text.
func refuseLong(a *index.Article) error {
	if len(a.Text.Title)+len(a.Text.Body) <= segment.MaxForm {
		return nil
	}
	return &FieldError{Field: "body", TooLarge: true, Problem: fmt.Sprintf(
		"title and body have more than %d bytes in normal form (a character such as ﷺ stands for many): shorten it",
		segment.MaxForm)}
}

func Normal(seg *segment.Segmenter, title, body string) compare.Text {
	text := scratch.Get().(*segment.Text)
	defer scratch.Put(text)
	seg.Analyze(text, title, body)
	return normalForm(text)
}

// normalForm copies the normal form out of buffers.
func normalForm(text *segment.Text) compare.Text {
	return compare.Text{Title: strings.Clone(text.Title), Body: strings.Clone(text.Body),
		Words: slices.Clone(text.Begins), Traditional: text.Traditional}
}

// Original returns what is quoted of an article: its headline and its body as readers see them.
func Original(seg *segment.Segmenter, title, body string) *reason.Original {
	t := seg.Trace(title, body)
	return &reason.Original{Text: t.Text, Form: t.Form, Origin: t.Origin}
}

// Fingerprint sums the terms of a text.
func Fingerprint(t *segment.Text) simhash.Print {
	var s simhash.Sum
	for i := range t.Terms {
		s.Add(t.Terms[i].Hash, t.Terms[i].Weight)
	}
	return s.Print()
}

// IndexConfig is the configuration of an index whose kept texts a segmenter reads.
func IndexConfig(seg *segment.Segmenter, cfg index.Config) index.Config {
	cfg.Normal = func(title, body string) compare.Text { return Normal(seg, title, body) }
	cfg.Original = func(title, body string) *reason.Original { return Original(seg, title, body) }
	cfg.Recipe = func() (string, error) { return seg.Recipe(), nil }
	return cfg
}

// Analyzer returns a function that prepares a kept text as an item that arrives, for a reindex.
func Analyzer(seg *segment.Segmenter) func(title, body string, published time.Time) *index.Article {
	return func(title, body string, published time.Time) *index.Article {
		return Prepare(seg, &Item{Title: title, Body: body, Published: &published})
	}
}
