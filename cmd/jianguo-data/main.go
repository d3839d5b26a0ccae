// Command jianguo-data copies, verifies, repairs and reindexes data directories: `jianguo backup`,
// `verify`, `repair` and `reindex` run it.
package main

import (
	"os"

	"jianguo/cmd/jianguo-data/maintain"
)

func main() { maintain.Main(os.Args[1:]) }
