package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"jianguo/internal/datadir"
	"jianguo/internal/sqlite"
)

type repairCmd struct {
	Data    string `help:"The data directory; no service may be running on it." required:"" placeholder:"DIR"`
	Without string `help:"The file to go on without: ${enum}." required:"" enum:"exposure.db"`
}

// Run lets a service start without the file of users' histories, which are forgotten.
func (c *repairCmd) Run(co *streams) error {
	if err := isDataDir(c.Data); err != nil {
		return err
	}
	lock, err := datadir.AcquireUnchecked(c.Data, datadir.Holder{Command: "repair"})
	if err != nil {
		return err
	}
	return errors.Join(c.repair(co), lock.Close())
}

func (c *repairCmd) repair(co *streams) error {
	m, err := datadir.ReadManifest(c.Data)
	if err != nil {
		return err
	}
	if m != nil && m.Unfinished {
		return datadir.Check(c.Data)
	}
	path := filepath.Join(c.Data, c.Without)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s is neither missing nor empty: put a backup of the directory in its place if it is "+
			"damaged", path)
	}
	if err := sqlite.Remove(path); err != nil {
		return err
	}
	if err := (datadir.Manifest{Files: []string{datadir.Catalogue}}).Write(c.Data); err != nil {
		return err
	}
	if err := datadir.Check(c.Data); err != nil {
		return err
	}
	return (&verifyCmd{Data: c.Data}).verify(co)
}
