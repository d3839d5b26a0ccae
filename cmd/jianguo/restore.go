package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

type restoreCmd struct {
	From     string `help:"A backup, or a data directory." required:"" placeholder:"DIR" type:"existingdir"`
	To       string `arg:"" help:"The data directory to create."`
	Replace  bool   `help:"If it exists, give it another name, which ends in the time, and keep it."`
	NoVerify bool   `help:"Do not verify the copy; verifying reads all of it."`
}

func (c *restoreCmd) Run(co *stdio) error {
	to := filepath.Clean(c.To)
	_, err := os.Lstat(to)
	replaces := !errors.Is(err, fs.ErrNotExist)
	if replaces && !c.Replace {
		return errors.Join(fmt.Errorf("%s exists: --replace gives it another name", to), err)
	}
	b := &backupCmd{Data: c.From, To: to, NoVerify: c.NoVerify}
	return must.Catch(func() {
		info, err := os.Stat(filepath.Join(c.From, datadir.ManifestName))
		must.Dof(err, "--from is no backup")
		what := "the backup of " + info.ModTime().Local().Format(time.DateTime)
		if _, err := datadir.ReadHolder(c.From); err == nil { // a service has run there, or runs
			what = "a copy of the data directory " + c.From
		}
		if replaces { // no service may run there, from before the copy on
			defer must.Get(datadir.AcquireUnchecked(to, datadir.Holder{Command: "restore"})).Close()
		}
		b.make(co)
		if replaces {
			kept := to + "." + time.Now().UTC().Format("20060102T150405Z")
			must.Do(os.Rename(to, kept))
			fmt.Fprintf(co.err, "what was in %s is kept in %s\n", to, kept)
		}
		must.Do(b.name(to))
		must.Get(fmt.Fprintf(co.out, "%s is %s\n", to, what))
	})
}
