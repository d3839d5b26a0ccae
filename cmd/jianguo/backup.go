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
)

type backupCmd struct {
	Data     string `help:"The data directory; a service may be running on it." required:"" placeholder:"DIR"`
	To       string `arg:"" optional:"" help:"The directory to create, for jianguo restore --from."`
	Upload   bool   `help:"Put the copy into the object store of the external bus, for jianguo restore."`
	NoVerify bool   `help:"Do not verify the copy; verifying takes as long as a start."`
	busAccess
}

// unfinished ends the name of a backup until it is complete.
const unfinished = ".unfinished"

// Run copies a data directory. The copy holds everything that was acknowledged before
// it began.
func (c *backupCmd) Run(co *streams) error {
	if err := isDataDir(c.Data); err != nil {
		return err
	}
	named := c.To != ""
	switch {
	case !named && !c.Upload:
		return errors.New("where to? name a directory to create, or --upload")
	case !named:
		c.To = filepath.Clean(c.Data) + ".upload"
	}
	if _, err := os.Lstat(c.To); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("a backup is a new directory, and %s exists", c.To), err)
	}
	to := filepath.Clean(c.To)
	if err := c.make(co, func() error { return c.copy(co) }); err != nil {
		return err
	}
	if c.Upload {
		if err := c.upload(co); err != nil {
			return errors.Join(err, os.RemoveAll(c.To))
		}
	}
	if !named {
		return os.RemoveAll(c.To)
	}
	return c.name(to)
}

// make fills a directory that has another name than To, and is marked as unfinished, and verifies it. To is
// then its name.
func (c *backupCmd) make(co *streams, fill func() error) error {
	owner, err := datadir.OwnerOf(c.To) // of what is replaced
	if err != nil && c.Data != "" {
		owner, err = datadir.OwnerOf(c.Data)
	}
	if err != nil {
		owner = datadir.Owner{} // a new directory: root's, if root makes it
	}
	aside := filepath.Clean(c.To) + unfinished
	if m, err := datadir.ReadManifest(aside); err == nil && m != nil && m.Unfinished {
		if err := os.RemoveAll(aside); err != nil {
			return err
		}
	}
	if err := os.Mkdir(aside, 0o700); err != nil {
		return err
	}
	c.To = aside
	err = datadir.Manifest{Unfinished: true}.Write(aside)
	if err == nil {
		err = fill()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy not complete: %w", err), os.RemoveAll(aside))
	}
	if !c.NoVerify {
		lock, err := datadir.AcquireUnchecked(aside, datadir.Holder{Command: "verify"})
		if err == nil {
			err = errors.Join((&verifyCmd{Data: aside}).verify(co), lock.Close())
		}
		if err != nil {
			return errors.Join(err, fmt.Errorf("the copy is in %s; --no-verify makes a backup all the same", aside))
		}
	}
	return errors.Join(datadir.Record(aside), owner.Give(aside), syncFS(aside))
}

// name gives the directory that make has filled its name.
func (c *backupCmd) name(to string) error {
	return errors.Join(os.Rename(c.To, to), syncFS(to))
}

// upload puts the copy into the object store of the bus that the service uses.
func (c *backupCmd) upload(co *streams) error {
	holder, err := datadir.ReadHolder(c.Data)
	if err == nil && (holder.NATS == "" || holder.Token != "") {
		err = errors.New("--upload: no service with an external bus (--nats) runs on the directory")
	}
	if err != nil {
		return err
	}
	service := reachFlags{NATS: holder.NATS, busAccess: c.busAccess}
	service.StreamPrefix = holder.StreamPrefix
	conn, err := service.connect(&co.ctx, co.log)
	if err != nil {
		return err
	}
	defer conn.Close()
	replicas := 1
	if conn.ConnectedClusterName() != "" {
		replicas = 3
	}
	size, err := bus.Upload(co.ctx, conn, service.StreamPrefix, replicas, c.To)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.out, "uploaded: %d bytes\n", size)
	return err
}

// isDataDir returns an error if a directory has never been a data directory.
func isDataDir(dir string) error {
	f, err := os.Open(filepath.Join(dir, index.FileName))
	if err == nil {
		err = f.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		if m, _ := datadir.ReadManifest(dir); m != nil {
			return nil // its check says what is missing
		}
	}
	if err != nil {
		return fmt.Errorf("%s is no data directory: %w", dir, err)
	}
	return nil
}

// copy copies a directory in use with the help of its bus, and any other one file by
// file.
func (c *backupCmd) copy(co *streams) error {
	service := reachFlags{Data: c.Data, busAccess: c.busAccess}
	lock, err := service.acquire("backup")
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.Close()
		err := os.CopyFS(filepath.Join(c.To, "bus"), os.DirFS(filepath.Join(c.Data, "bus")))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = c.files(co.ctx, 0)
		}
		return err
	}
	conn, err := service.connect(&co.ctx, co.log)
	if err != nil {
		return err
	}
	defer conn.Close()
	return c.copyLive(co, conn, service.StreamPrefix)
}

// copyLive waits until the files contain every message that the bus has acknowledged.
// Of the bus itself only dead letters are copied: a restored service publishes events
// again from the catalogue.
func (c *backupCmd) copyLive(co *streams, conn *nats.Conn, prefix string) error {
	exposures, err := bus.JetStream(conn).Stream(co.ctx, prefix+eventlog.StreamName)
	if err != nil {
		return fmt.Errorf("stream %s: %w", eventlog.StreamName, err)
	}
	if _, err := os.Stat(filepath.Join(c.Data, datadir.Exposures)); err != nil {
		return fmt.Errorf("the service that runs has lost its file: %w", err)
	}
	holder, err := datadir.ReadHolder(c.Data)
	if err != nil {
		return err
	}
	if err := bus.AwaitApplied(co.ctx, conn, prefix, holder.Name); err != nil {
		return err
	}
	if err := bus.CopyDead(co.ctx, conn, prefix, filepath.Join(c.To, "bus")); err != nil {
		return err
	}
	return c.files(co.ctx, exposures.CachedInfo().State.LastSeq)
}

func (c *backupCmd) files(ctx context.Context, exposures uint64) error {
	if err := maintain.Copy(ctx, c.Data, c.To); err != nil {
		return err
	}
	path := filepath.Join(c.Data, datadir.Exposures)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return exposure.CopyFile(ctx, path, filepath.Join(c.To, datadir.Exposures), exposures)
}

// syncFS syncs the file system that a directory is on.
func syncFS(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}
