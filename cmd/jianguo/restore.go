package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"jianguo/bus"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

type restoreCmd struct {
	From     string `help:"A directory that jianguo backup has made." placeholder:"DIR" type:"existingdir"`
	NATS     string `name:"nats" help:"The bus that holds the backup, where there is no --from." placeholder:"URL"`
	To       string `arg:"" help:"The data directory to create."`
	Replace  bool   `help:"If it exists, give it another name, which ends in the time, and keep it."`
	NoVerify bool   `help:"Do not verify the copy; verifying takes as long as a start."`
	busAccess
}

// Run makes a data directory of a backup.
func (c *restoreCmd) Run(co *streams) error {
	if c.From == "" && c.NATS == "" {
		return errors.New("from where? give --from DIR, or --nats URL of a bus")
	}
	to := filepath.Clean(c.To)
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) && !c.Replace {
		return errors.Join(fmt.Errorf("%s exists: --replace gives it another name", to), err)
	}
	b := &backupCmd{Data: c.From, To: to, NoVerify: c.NoVerify}
	return must.Catch(func() {
		var made time.Time
		b.make(co, func() { made = c.fill(co, b) })
		setAside(co, to)
		must.Do(b.name(to))
		must.Get(fmt.Fprintf(co.out, "%s is the backup of %s\n", to, made.Local().Format(time.DateTime)))
	})
}

// fill fills the directory that is made, and returns when the backup was made. Package must ends it.
func (c *restoreCmd) fill(co *streams, b *backupCmd) (made time.Time) {
	if c.From != "" {
		info, err := os.Stat(filepath.Join(c.From, datadir.ManifestName))
		must.Dof(err, "--from is no backup")
		b.copy(co)
		return info.ModTime()
	}
	conn := must.Get((&reachFlags{NATS: c.NATS, busAccess: c.busAccess}).connect(&co.ctx, co.log))
	defer conn.Close()
	return must.Get(bus.Download(co.ctx, conn, c.StreamPrefix, b.To, 256<<20)).ModTime
}

// setAside gives a directory that no process holds another name. Package must ends it.
func setAside(co *streams, dir string) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return
	}
	lock := must.Get(datadir.AcquireUnchecked(dir, datadir.Holder{Command: "restore"}))
	kept := dir + "." + time.Now().UTC().Format("20060102T150405Z")
	fmt.Fprintf(co.err, "what was in %s is kept in %s\n", dir, kept)
	must.Do(errors.Join(os.Rename(dir, kept), lock.Close()))
}
