package maintain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/companion"
	"jianguo/internal/datadir"
	"jianguo/internal/sqlite"
)

type repairCmd struct {
	companion.Flags

	Data    string   `help:"The data directory; no service may be running on it." required:"" placeholder:"DIR"`
	Without []string `help:"Go on without this file that is missing or empty: exposure.db. Every user's history is forgotten." enum:"exposure.db" placeholder:"FILE"`
}

// Run makes again what can be derived from the catalogue, and says what cannot.
func (c *repairCmd) Run(co *companion.Streams) error {
	if err := isDataDir(c.Data); err != nil {
		return err
	}
	lock, err := datadir.AcquireUnchecked(c.Data, datadir.Holder{Command: "repair"})
	if err != nil {
		return err
	}
	return errors.Join(c.repair(co), lock.Close())
}

func (c *repairCmd) repair(co *companion.Streams) error {
	m, err := datadir.ReadManifest(c.Data)
	if err != nil {
		return err
	}
	if err := datadir.Check(c.Data); err != nil && (m != nil && m.Unfinished || !c.without(datadir.Exposures)) {
		return err
	}
	if info, err := os.Stat(filepath.Join(c.Data, index.FileName)); err != nil || info.Size() == 0 {
		return fmt.Errorf("%s cannot be derived from anything: put a backup of the directory in its place", index.FileName)
	}
	for _, name := range []string{index.SnapshotFileName, browse.FileName} {
		if err := sqlite.Remove(filepath.Join(c.Data, name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(co.Out, "%s is made again by the next start\n", browse.FileName)
	x, err := index.Open(co.Ctx, index.Config{Dir: c.Data, Logger: co.Log, Progress: co.Progress.Stages("loading")})
	if err != nil {
		return err
	}
	r, err := x.Verify(co.Ctx)
	if err == nil {
		err = x.Snapshot(co.Ctx)
	}
	if err := errors.Join(err, x.Close()); err != nil {
		return err
	}
	fmt.Fprintf(co.Out, "%s is made again\n", index.SnapshotFileName)
	if len(r.Problems) > 0 {
		fmt.Fprintln(co.Out, "what follows cannot be derived from anything: put a backup of the directory in its place")
	}
	err = datadir.Manifest{Files: []string{datadir.Catalogue}}.Write(c.Data)
	if err != nil {
		return err
	}
	return errors.Join(datadir.Record(c.Data), (&verifyCmd{Data: c.Data}).verify(co))
}

// without removes the empty file of the name and reports true, if the command is to go on
// without it and there is nothing in it.
func (c *repairCmd) without(name string) bool {
	path := filepath.Join(c.Data, name)
	info, err := os.Stat(path)
	if !slices.Contains(c.Without, name) || err == nil && info.Size() > 0 {
		return false
	}
	return sqlite.Remove(path) == nil
}
