package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"jianguo/data"
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

// df counts document frequencies over files of gzipped JSON lines with title
// and body.
func df(out string, corpora []string) error {
	s, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		return err
	}
	counts, documents := map[string]int{}, 0
	for _, path := range corpora {
		if err := eachDocument(path, func(title, body string) {
			documents++
			countWords(s, title, body, counts)
		}); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	words := make([]string, 0, len(counts))
	for w, n := range counts {
		if n >= fewest {
			words = append(words, w)
		}
	}
	sort.Slice(words, func(i, j int) bool {
		if counts[words[i]] != counts[words[j]] {
			return counts[words[i]] > counts[words[j]]
		}
		return words[i] < words[j]
	})
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintf(w, dfHead, fewest)
	fmt.Fprintf(w, "documents %d\n", documents)
	for _, x := range words {
		fmt.Fprintf(w, "%s %d\n", x, counts[x])
	}
	fmt.Printf("%s: %d documents, %d words\n", out, documents, len(words))
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func countWords(s *segment.Segmenter, title, body string, counts map[string]int) {
	var t segment.Text
	s.Analyze(&t, title, body)
	seen := map[string]bool{}
	for w := range t.Words {
		if strings.ContainsAny(w, "0123456789") || seen[w] {
			continue
		}
		w = strings.Clone(w)
		seen[w] = true
		counts[w]++
	}
}

func eachDocument(path string, do func(title, body string)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bufio.NewReader(z))
	for {
		var d struct{ Title, Body string }
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		do(d.Title, d.Body)
	}
}
