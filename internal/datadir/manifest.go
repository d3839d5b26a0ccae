package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"jianguo/internal/disk"
	"jianguo/internal/wrap"
)

// The files of a data directory that nothing can replace.
const (
	Catalogue = "index.db"
	Exposures = "exposure.db"
)

// ManifestName is the file that says what belongs to a data directory.
const ManifestName = "MANIFEST"

// Manifest says what belongs to a data directory. Directories of earlier versions have none
// and get one.
type Manifest struct {
	Format int      `json:"format"` // 1
	Files  []string `json:"files"`  // of Catalogue and Exposures, those that have been created
	// Unfinished says that the directory is a backup that is still being made, or was
	// interrupted.
	Unfinished bool `json:"unfinished,omitempty"`
}

// ReadManifest returns the manifest of a directory, nil if it has none.
func ReadManifest(dir string) (*Manifest, error) {
	b, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m Manifest
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err == nil && m.Format != 1 {
		err = fmt.Errorf("format %d: it was written by a newer jianguo", m.Format)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %s: %w", dir, ManifestName, err)
	}
	return &m, nil
}

// Write puts the manifest into a directory, synced.
func (m Manifest) Write(dir string) error {
	m.Format = 1
	b, _ := json.Marshal(m) // plain fields: no error
	return wrap.Err(disk.Replace(filepath.Join(dir, ManifestName), append(b, '\n'), 0o600), "data directory")
}

// existing returns which of the two files exist and have content, and which are empty.
func existing(dir string) (there, empty []string, err error) {
	for _, name := range []string{Catalogue, Exposures} {
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, nil, fmt.Errorf("data directory: %w", err)
		case info.Size() == 0:
			empty = append(empty, name)
		default:
			there = append(there, name)
		}
	}
	return there, empty, nil
}

// Record writes down which files are in a directory, for the next Check.
func Record(dir string) error {
	there, _, err := existing(dir)
	if err != nil {
		return err
	}
	m, err := ReadManifest(dir)
	if err != nil || m != nil && !m.Unfinished && slices.Equal(m.Files, there) {
		return err
	}
	return Manifest{Files: there}.Write(dir)
}

// Check returns an error if a file that belongs to a directory is missing or empty, or if the
// directory is a backup that was interrupted.
func Check(dir string) error {
	m, err := ReadManifest(dir)
	if err != nil {
		return err
	}
	there, empty, err := existing(dir)
	if err != nil {
		return err
	}
	var want []string
	switch {
	case m == nil:
		// The log of a service that has run here, or its files, say that there was more.
		logs, _ := filepath.Glob(filepath.Join(dir, "bus", "jetstream", "*", "streams", "EXPOSURES"))
		if len(logs) > 0 || slices.Contains(empty, Exposures) || slices.Contains(there, Exposures) {
			want = []string{Catalogue, Exposures}
		}
	case m.Unfinished:
		return fmt.Errorf("%s is a backup that was interrupted: remove it and make another", dir)
	default:
		want = m.Files
	}
	for _, name := range want {
		if slices.Contains(there, name) {
			continue
		}
		state := "missing"
		if slices.Contains(empty, name) {
			state = "empty"
		}
		advice := ""
		if name == Exposures {
			advice = "; jianguo repair --without " + name + " goes on with no user's history"
		}
		return fmt.Errorf("data directory %s: %s, which belongs to it, is %s: put a backup of the directory "+
			"in its place%s", dir, name, state, advice)
	}
	return nil
}
