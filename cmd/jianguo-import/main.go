// Command jianguo-import moves users' histories from Redis or a file into a running service.
// `jianguo exposure import` runs it.
package main

import (
	"os"

	"jianguo/internal/companion"
)

func main() {
	companion.Main(os.Args[1:], "jianguo exposure import", "Imports histories from Redis, Redis Cluster or a file into a running service.", new(importCmd))
}
