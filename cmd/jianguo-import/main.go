// Command jianguo-import moves users' histories from Redis into a running service, and reports what --shadow
// found. `jianguo exposure import` and `shadow` run it.
package main

import (
	"os"

	"jianguo/internal/companion"
)

func main() {
	companion.Commands{
		"import": {Command: new(importCmd), About: "Imports histories from Redis or Redis Cluster into a running service."},
		"shadow": {Command: new(shadowCmd), About: "Prints where a service with --shadow differs from the old store."},
	}.Main(os.Args[1:], "exposure")
}
