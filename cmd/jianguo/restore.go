package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/datadir"
)

type restoreCmd struct {
	NATS     string `name:"nats" help:"The bus that holds the backup." required:"" placeholder:"URL"`
	To       string `arg:"" help:"The data directory to create."`
	Replace  bool   `help:"If it exists, give it another name, which ends in the time, and keep it."`
	NoVerify bool   `help:"Do not verify the copy; verifying takes as long as a start."`
	busAccess
}

// Run makes a data directory of the backup that a bus holds.
func (c *restoreCmd) Run(co *streams) error {
	service := reachFlags{NATS: c.NATS, busAccess: c.busAccess}
	conn, err := service.connect(&co.ctx, co.log)
	if err != nil {
		return err
	}
	defer conn.Close()
	to := filepath.Clean(c.To)
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) && !c.Replace {
		return errors.Join(fmt.Errorf("%s exists: --replace gives it another name", to), err)
	}
	b := &backupCmd{To: to, NoVerify: c.NoVerify}
	var info *jetstream.ObjectInfo
	if err := b.make(co, func() (err error) {
		info, err = bus.Download(co.ctx, conn, c.StreamPrefix,
			b.To)
		return err
	}); err != nil {
		return err
	}
	if err := setAside(co, to); err != nil {
		return err
	}
	if err := b.name(to); err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.out, "%s is the backup of %s\n", to, info.ModTime.Local().Format(time.DateTime))
	return err
}

// setAside gives a directory that no process holds another name.
func setAside(co *streams, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := datadir.AcquireUnchecked(dir, datadir.Holder{Command: "restore"})
	if err != nil {
		return err
	}
	kept := dir + "." + time.Now().UTC().Format("20060102T150405Z")
	fmt.Fprintf(co.err, "what was in %s is kept in %s\n", dir, kept)
	return errors.Join(os.Rename(dir, kept), lock.Close())
}
