// Package beside finds the other programs of jianguo.
package beside

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is the path of a program that lies beside this one, or else in PATH.
func Program(name string) (string, error) {
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
