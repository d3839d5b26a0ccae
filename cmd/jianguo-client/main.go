// Command jianguo-client publishes to a running service, or to one that it starts, asks it, and prepares articles for
// it: `jianguo ingest`, `check`, `dead`, `demo`, `segment` and `token` run it.
package main

import (
	"os"

	"jianguo/cmd/jianguo-client/client"
)

func main() { client.Main(os.Args[1:]) }
