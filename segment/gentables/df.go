package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"jianguo/data"
	"jianguo/internal/jsonl"
	"jianguo/internal/must"
	"jianguo/segment"
)

const dfHead = `# In how many documents of a corpus each word occurs: word, space, count; first the number of
# documents. Words in fewer than %d documents are left out, so that nothing of any one of them shows.
#
# Counted by segment/gentables on public Chinese text: news of July and August 2023 (CRUD_RAG), broadcast
# news of 2022 to 2026, news flashes and microblogs, translated technical pages. Counts are facts, not text.
`

// fewest is the smallest document frequency that is written.
const fewest = 8

// df counts document frequencies over files of JSON lines with title and body, plain or gzipped.
func df(out string, corpora []string) {
	s := must.Get(segment.New(segment.Config{Data: data.FS}))
	counts, documents := map[string]int{}, 0
	for _, path := range corpora {
		err := jsonl.Read(nil, path, func(_ int, line []byte) error {
			var d struct{ Title, Body string }
			documents++
			err := json.Unmarshal(line, &d)
			countWords(s, d.Title, d.Body, counts)
			return err
		})
		must.Dof(err, "%s", path)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, dfHead, fewest)
	fmt.Fprintf(&b, "documents %d\n", documents)
	for _, word := range byCount(counts) {
		if counts[word] >= fewest {
			fmt.Fprintf(&b, "%s %d\n", word, counts[word])
		}
	}
	must.Do(os.WriteFile(out, b.Bytes(), 0o644))
}

func countWords(s *segment.Segmenter, title, body string, counts map[string]int) {
	var t segment.Text
	s.Analyze(&t, title, body)
	seen := map[string]bool{}
	for w := range t.Words {
		if !strings.ContainsAny(w, "0123456789") && !seen[w] {
			w = strings.Clone(w)
			seen[w] = true
			counts[w]++
		}
	}
}
