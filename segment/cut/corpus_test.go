//go:build quality

package cut

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"jianguo/internal/testbed"
)

// TestCorpusLikeGSE cuts articles of the real corpus as gse does, word for word, and counts those that gse cuts
// otherwise as a whole: every fourth article, and all of them in the long testbed.
func TestCorpusLikeGSE(t *testing.T) {
	dir := os.Getenv("JIANGUO_CORPUS")
	if dir == "" {
		t.Fatal("JIANGUO_CORPUS is not set: it names the folder of the real corpus, which is not part of this repository")
	}
	for _, name := range []string{"news-dev", "short-dev", "broadcast", "techdocs"} {
		bodies := make(chan string, 64)
		var wg sync.WaitGroup
		var mu sync.Mutex
		articles, words, otherwise := 0, 0, 0
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				var c Cutter
				for body := range bodies {
					text := lettersAndDigits(body)
					if text == "" {
						continue
					}
					found, whole, err := compareWithGSE(reference(), shipped(), &c, text)
					mu.Lock()
					if articles++; err != nil {
						t.Error(err)
					} else if words += len(found); !whole {
						otherwise++
					}
					mu.Unlock()
				}
			})
		}
		readBodies(t, filepath.Join(dir, name+".jsonl.gz"), bodies)
		wg.Wait()
		t.Logf("%s: %d articles, %d words, all as gse cuts each stretch; %d articles have ties that gse cuts otherwise in the whole text", name, articles, words, otherwise)
	}
}

func readBodies(t *testing.T, path string, to chan<- string) {
	defer close(to)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	every, n := testbed.Count(8, 4, 1), 0
	for d := json.NewDecoder(bufio.NewReader(z)); d.More(); n++ {
		var a struct{ Body string }
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		if n%every == 0 {
			to <- a.Body
		}
	}
}
