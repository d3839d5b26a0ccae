package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"jianguo/bus"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/statefile"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
)

type backupCmd struct {
	Data     string `help:"The data directory; a service may be running on it." required:"" placeholder:"DIR"`
	To       string `arg:"" help:"The directory to create; to restore it, run a service on it."`
	NoVerify bool   `help:"Do not verify the copy; verifying takes as long as a start."`
	busAccess
}

// Run copies a data directory. The copy holds everything that was acknowledged before
// it began.
func (c *backupCmd) Run(co *streams) error {
	if _, err := os.Stat(filepath.Join(c.Data, index.FileName)); err != nil {
		return fmt.Errorf("%s is no data directory: %w", c.Data, err)
	}
	if err := os.Mkdir(c.To, 0o750); err != nil {
		return fmt.Errorf("a backup is a new directory: %w", err)
	}
	if err := c.copy(co); err != nil {
		return fmt.Errorf("backup not complete, remove %s: %w", c.To, err)
	}
	if c.NoVerify {
		return syncDir(c.To)
	}
	return errors.Join((&verifyCmd{Data: c.To}).Run(co), os.Remove(filepath.Join(c.To, datadir.LockName)), syncDir(c.To))
}

// copy copies a directory in use with the help of its bus, and any other one file by
// file.
func (c *backupCmd) copy(co *streams) error {
	lock, err := datadir.Acquire(c.Data, datadir.Holder{Command: "backup"})
	if service, ok := serviceThatHolds(err, c.busAccess); ok {
		return c.copyLive(co, &service)
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	err = os.CopyFS(filepath.Join(c.To, "bus"), os.DirFS(filepath.Join(c.Data, "bus")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.files(co.ctx, 0)
}

// copyLive waits until the files contain every message that the bus has acknowledged.
// Of the bus itself only dead letters are copied: a restored service publishes events
// again from the catalogue.
func (c *backupCmd) copyLive(co *streams, service *busFlags) error {
	conn, err := service.connectBus(co)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	exposures, err := js.Stream(co.ctx, service.StreamPrefix+eventlog.StreamName)
	if err != nil {
		return fmt.Errorf("stream %s: %w", eventlog.StreamName, err)
	}
	if err := ingest.AwaitApplied(co.ctx, conn, service.StreamPrefix); err != nil {
		return err
	}
	if _, err := bus.CopyDead(co.ctx, conn, service.StreamPrefix, filepath.Join(c.To, "bus")); err != nil {
		return err
	}
	return c.files(co.ctx, exposures.CachedInfo().State.LastSeq)
}

func (c *backupCmd) files(ctx context.Context, exposures uint64) error {
	if err := index.Backup(ctx, c.Data, c.To); err != nil {
		return err
	}
	path := filepath.Join(c.Data, exposureFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return statefile.Backup(ctx, path, filepath.Join(c.To, exposureFile), exposures)
}

// syncDir syncs the file system that a directory is on.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}
