package main

import (
	"fmt"
	"os"
	"path/filepath"

	"jianguo/internal/datadir"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

type repairCmd struct {
	Data    string `help:"The data directory; no service may be running on it." required:"" placeholder:"DIR"`
	Without string `help:"The file to go on without: ${enum}." required:"" enum:"exposure.db"`
}

// Run lets a service start without the file of users' histories, which are forgotten.
func (c *repairCmd) Run(co *stdio) error {
	return holding(datadir.AcquireUnchecked, c.Data, "repair", func() {
		if m := must.Get(datadir.ReadManifest(c.Data)); m != nil && m.Unfinished {
			must.Do(datadir.Check(c.Data))
		}
		path := filepath.Join(c.Data, c.Without)
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			must.Do(fmt.Errorf("%s is neither missing nor empty: put a backup of the directory in its place if it is "+
				"damaged", path))
		}
		must.Do(sqlite.Remove(path))
		must.Do(datadir.Manifest{Files: []string{datadir.Catalogue}}.Write(c.Data))
		must.Do(datadir.Check(c.Data))
		(&verifyCmd{Data: c.Data}).verify(co)
	})
}
