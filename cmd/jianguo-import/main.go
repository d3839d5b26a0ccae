// Command jianguo-import moves users' histories from Redis or a file into a running service, reports what --shadow
// found, and estimates what histories take. `jianguo exposure import`, `shadow` and `size` run it.
package main

import (
	"os"

	"jianguo/internal/companion"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "size" {
		companion.Main(args[1:], "jianguo exposure size", "Prints the bytes that users take, by formula.", new(sizeCmd))
		return
	}
	if len(args) > 0 && args[0] == "shadow" {
		companion.Main(args[1:], "jianguo exposure shadow", "Prints where a service with --shadow differs from the old store.", new(shadowCmd))
		return
	}
	companion.Main(args, "jianguo exposure import", "Imports histories from Redis, Redis Cluster or a file into a running service.", new(importCmd))
}
