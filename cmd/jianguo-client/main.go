// Command jianguo-client publishes to a running service, or to one that it starts, and asks it: `jianguo ingest`,
// `check`, `dead`, `token` and `demo` run it.
package main

import (
	"os"

	"jianguo/cmd/jianguo-client/client"
)

func main() { client.Main(os.Args[1:]) }
