// Command jianguo-import moves users' histories from Redis or a file into a running service, reports what --shadow
// found, and estimates what histories take. `jianguo exposure import`, `shadow` and `size` run it.
package main

import (
	"os"

	"jianguo/internal/companion"
)

func main() {
	companion.Commands{
		"import": {Command: new(importCmd), About: "Imports histories from Redis, Redis Cluster or a file into a running service."},
		"shadow": {Command: new(shadowCmd), About: "Prints where a service with --shadow differs from the old store."},
		"size":   {Command: new(sizeCmd), About: "Prints the bytes that users take, by formula."},
	}.Main(os.Args[1:], "exposure")
}
