package compare_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"jianguo/compare"
	"jianguo/data"
	"jianguo/ingest"
	"jianguo/internal/fixture"
)

// sample are the texts of the bundled articles.
func sample(b *testing.B) (texts []compare.Text) {
	corpus, err := data.FS.ReadFile("sample/corpus.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(corpus) {
		var it ingest.Item
		if err := json.Unmarshal(line, &it); err != nil {
			b.Fatal(err)
		}
		texts = append(texts, ingest.Prepare(fixture.Shipped(), &it).Text)
	}
	return texts
}

// BenchmarkSketch, BenchmarkDoc and BenchmarkJudge take an article of the sample: to be kept, to be compared, and to be
// judged against the one before it, which is related to it or not, and against itself without its second clause.
func BenchmarkSketch(b *testing.B) {
	texts := sample(b)
	for i := 0; b.Loop(); i++ {
		compare.NewSketch(&texts[i%len(texts)])
	}
}

func BenchmarkDoc(b *testing.B) {
	texts := sample(b)
	for i := 0; b.Loop(); i++ {
		compare.NewDoc(&texts[i%len(texts)])
	}
}

func BenchmarkJudge(b *testing.B) {
	texts, limits := sample(b), compare.DefaultLimits()
	var docs, parts []*compare.Doc
	for i := range texts {
		part := texts[i]
		if clauses := bytes.SplitN([]byte(part.Body), []byte("\n"), 3); len(clauses) == 3 {
			part.Body, part.Words = string(clauses[0])+"\n"+string(clauses[2]), nil
		}
		docs, parts = append(docs, compare.NewDoc(&texts[i])), append(parts, compare.NewDoc(&part))
	}
	for i := 0; b.Loop(); i++ {
		at := 1 + i%(len(docs)-1)
		compare.Judge(docs[at], docs[at-1], &limits)
		compare.Judge(docs[at], parts[at], &limits)
	}
}
