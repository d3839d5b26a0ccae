// Command jianguo-admin copies, verifies, repairs and reindexes data directories: `jianguo backup`,
// `restore`, `verify`, `repair` and `reindex` run it.
package main

import (
	"os"

	"jianguo/cmd/jianguo-admin/maintain"
)

func main() { maintain.Main(os.Args[1:]) }
