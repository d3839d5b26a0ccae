package importer

import (
	"errors"
	"io/fs"
	"os"
)

// readPosition returns what writePosition wrote, "" for a file that does not exist.
func readPosition(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// writePosition replaces the file, so that it is whole after a kill.
func writePosition(file, position string) error {
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file+".new", []byte(position), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
