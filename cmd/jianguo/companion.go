package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"
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
	dataCmd   struct{ companion }
)

// exposureCmd groups commands about users' histories.
type exposureCmd struct {
	Size   sizeCmd   `cmd:"" passthrough:"" help:"Print the bytes that users take, by formula."`
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
	return c.run("jianguo-data", k.Selected().Name)
}

// Run estimates what histories take.
func (c *sizeCmd) Run(*streams) error { return c.run("jianguo-import", "size") }

// run becomes the program that lies beside this one, or else in PATH.
func (c *companion) run(name string, before ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is neither beside this program nor in PATH: `make build` puts it there", name)
		}
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, slices.Concat([]string{name}, before, c.Args), os.Environ()))
}
