package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// evaluator is the program that `jianguo eval` runs.
const evaluator = "jianguo-eval"

type evalCmd struct {
	Args []string `arg:"" optional:""`
}

// Run runs the evaluator that lies beside this program, or else in PATH.
func (c *evalCmd) Run(co *streams) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(self), evaluator)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(evaluator); err != nil {
			return fmt.Errorf("%s is neither beside this program nor in PATH: `make build` puts it there", evaluator)
		}
	}
	cmd := exec.CommandContext(co.ctx, path, c.Args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = co.in, co.out, co.err
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return errPrinted
	}
	return err
}
