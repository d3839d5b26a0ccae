package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/index"
	"jianguo/index/maintain"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

type backupCmd struct {
	Data     string `help:"The data directory; a service may be running on it." required:"" placeholder:"DIR"`
	To       string `arg:"" help:"The directory to create, for jianguo restore --from."`
	NoVerify bool   `help:"Do not verify the copy; verifying reads all of it."`
	busAccess
}

// unfinished ends the name of a backup until it is complete.
const unfinished = ".unfinished"

// Run copies a data directory. The copy holds everything that was acknowledged before
// it began.
func (c *backupCmd) Run(co *stdio) error {
	return must.Catch(func() {
		must.Do(isDataDir(c.Data))
		if _, err := os.Lstat(c.To); !errors.Is(err, fs.ErrNotExist) {
			must.Do(errors.Join(fmt.Errorf("a backup is a new directory, and %s exists", c.To), err))
		}
		to := filepath.Clean(c.To)
		c.make(co)
		must.Do(c.name(to))
	})
}

// make makes the copy in a directory that has another name than To, and is marked as unfinished, and verifies it. To is
// then its name. It panics on errors (must).
func (c *backupCmd) make(co *stdio) {
	owner, err := datadir.OwnerOf(c.To) // of what is replaced
	if err != nil {
		owner = must.Get(datadir.OwnerOf(c.Data))
	}
	aside := filepath.Clean(c.To) + unfinished
	own := datadir.Holder{Command: "backup"}
	if m, err := datadir.ReadManifest(aside); err == nil && m != nil && m.Unfinished {
		killed := must.Get(datadir.AcquireUnchecked(aside, own)) // fails while it goes on
		must.Do(os.RemoveAll(aside))
		_ = killed.Close() // has no file to remove
	}
	must.Do(os.Mkdir(aside, 0o700))
	c.To = aside
	defer must.Get(datadir.AcquireUnchecked(aside, own)).Close()
	if err := must.Catch(func() {
		must.Do(datadir.Manifest{Unfinished: true}.Write(aside))
		c.copy(co)
	}); err != nil {
		must.Do(errors.Join(fmt.Errorf("copy not complete: %w", err), os.RemoveAll(aside)))
	}
	if !c.NoVerify {
		verify := verifyCmd{Data: aside}
		if err := must.Catch(func() { verify.verify(co) }); err != nil {
			must.Do(errors.Join(err, fmt.Errorf("the copy is in %s; --no-verify makes a backup all the same", aside)))
		}
	}
	// Marked as finished once it is synced: one that is killed meanwhile is replaced by the next.
	must.Do(errors.Join(owner.Give(aside), syncFS(aside), datadir.Record(aside)))
}

// name gives the directory that make has filled its name.
func (c *backupCmd) name(to string) error {
	return errors.Join(os.Rename(c.To, to), syncFS(to))
}

// isDataDir returns an error if a directory has never been a data directory.
func isDataDir(dir string) error {
	f, err := os.Open(filepath.Join(dir, index.FileName))
	if err == nil {
		return f.Close()
	}
	if m, _ := datadir.ReadManifest(dir); m != nil && errors.Is(err, fs.ErrNotExist) {
		return nil // its check says what is missing
	}
	return fmt.Errorf("%s is no data directory: %w", dir, err)
}

// copy copies a directory in use with the help of its bus, and any other one file by
// file. It panics on errors (must).
func (c *backupCmd) copy(co *stdio) {
	service := reachFlags{Data: c.Data, busAccess: c.busAccess}
	if lock := must.Get(service.acquire("backup")); lock != nil {
		defer lock.Close()
		err := os.CopyFS(filepath.Join(c.To, "bus"), os.DirFS(filepath.Join(c.Data, "bus")))
		if !errors.Is(err, fs.ErrNotExist) {
			must.Do(err)
		}
		c.files(co.ctx, 0)
		return
	}
	conn := must.Get(service.connect(co))
	defer conn.Close()
	c.copyLive(co, conn, service.StreamPrefix)
}

// copyLive waits until the files contain every message that the bus has acknowledged.
// Of the bus itself only dead letters are copied: a restored service publishes events
// again from the catalogue. It panics on errors (must).
func (c *backupCmd) copyLive(co *stdio, conn *nats.Conn, prefix string) {
	exposures, err := bus.JetStream(conn).Stream(co.ctx, prefix+eventlog.StreamName)
	must.Dof(err, "stream %s", eventlog.StreamName)
	_, err = os.Stat(filepath.Join(c.Data, datadir.Exposures))
	must.Dof(err, "the service that runs has lost its file")
	holder := must.Get(datadir.ReadHolder(c.Data))
	must.Do(bus.AwaitApplied(co.ctx, conn, prefix, holder.Name))
	must.Do(bus.CopyDead(co.ctx, conn, prefix, filepath.Join(c.To, "bus")))
	reports := exposures.CachedInfo().State.LastSeq
	if holder.Shared {
		reports = 0 // they are in a Redis, and never in the file
	}
	c.files(co.ctx, reports)
}

// files copies the catalogue, and users' histories once they hold the reports up to one. It panics on errors (must).
func (c *backupCmd) files(ctx context.Context, exposures uint64) {
	must.Do(maintain.Copy(ctx, c.Data, c.To))
	path := filepath.Join(c.Data, datadir.Exposures)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		must.Do(exposure.CopyFile(ctx, path, filepath.Join(c.To, datadir.Exposures), exposures))
	}
}

// syncFS syncs the file system that a directory is on.
func syncFS(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}
