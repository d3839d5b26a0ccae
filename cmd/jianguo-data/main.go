// Command jianguo-data copies, verifies and repairs data directories. `jianguo backup`, `jianguo
// verify` and `jianguo repair` run it.
package main

import (
	"os"

	"jianguo/cmd/jianguo-data/maintain"
)

func main() { maintain.Main(os.Args[1:]) }
