package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"jianguo/internal/datadir"
	"jianguo/internal/disk"
)

// companion is a command that is a program of its own, so that the service does not carry what
// only that command needs. It takes all arguments.
type companion struct {
	Args []string `arg:"" optional:""`
}

type (
	evalCmd   struct{ companion }
	studyCmd  struct{ companion }
	importCmd struct{ companion }
	sizeCmd   struct{ companion }
	shadowCmd struct{ companion }
	dataCmd   struct{ companion }
)

// exposureCmd groups commands about users' histories.
type exposureCmd struct {
	Size   sizeCmd   `cmd:"" passthrough:"" help:"Print the bytes that users take, by formula."`
	Shadow shadowCmd `cmd:"" passthrough:"" help:"Print where a service with --shadow differs from the old store."`
	Import importCmd `cmd:"" passthrough:"" help:"Import histories from Redis or a file into a running service."`
}

// Run measures detection quality.
func (c *evalCmd) Run(*streams) error { return c.run("jianguo-eval") }

// Run hands the command's name over, too.
func (c *studyCmd) Run(_ *streams, k *kong.Context) error {
	return c.run("jianguo-eval", k.Selected().Name)
}

// Run imports histories.
func (c *importCmd) Run(*streams) error { return c.run("jianguo-import") }

// Run copies, verifies or repairs a data directory.
func (c *dataCmd) Run(_ *streams, k *kong.Context) error {
	return c.run("jianguo-admin", k.Selected().Name)
}

// Run prints what --shadow found.
func (c *shadowCmd) Run(*streams) error { return c.run("jianguo-import", "shadow") }

// Run estimates what histories take.
func (c *sizeCmd) Run(*streams) error { return c.run("jianguo-import", "size") }

// run becomes the program.
func (c *companion) run(name string, before ...string) error {
	path, err := program(name)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, slices.Concat([]string{name}, before, c.Args), os.Environ()))
}

// program is the path of a program that lies beside this one, or else in PATH.
func program(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(name); err != nil {
			return "", fmt.Errorf("%s is neither beside this program nor in PATH: `make build` puts it there: %w", name, exec.ErrNotFound)
		}
	}
	return path, nil
}

// rejudge makes the command with which the console judges again what arrived at this service. It has one
// processor, ends with the service, and is refused where the disk has no space for its copy.
func (f *serveFlags) rejudge(s *service) func(context.Context, ...string) (*exec.Cmd, error) {
	return func(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
		path, err := program("jianguo-eval")
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(filepath.Join(s.dir, datadir.Catalogue))
		if err == nil {
			err = disk.Disk{Dir: s.dir, Reserve: s.disk.Reserve + uint64(info.Size())}.HasSpace()
		}
		arguments = append([]string{"rejudge", "--data=" + s.dir}, arguments...)
		for flag, file := range map[string]string{"--user-dict=": f.UserDict, "--residue=": f.Residue} {
			if file != "" {
				arguments = append(arguments, flag+file)
			}
		}
		cmd := exec.CommandContext(ctx, path, arguments...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 10 * time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		return cmd, err
	}
}
