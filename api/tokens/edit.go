package tokens

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sys/unix"

	"jianguo/bus"
	"jianguo/internal/disk"
)

// What one hash costs (OWASP Password Storage Cheat Sheet, argon2id).
const (
	hashTime    = 2
	hashMemory  = 19 << 10 // KiB
	hashThreads = 1
	hashBytes   = 32
)

// Add adds a line to a file, which it creates if it is missing, and returns the token. It
// can be read nowhere else.
func Add(file, name, role string, sources ...string) (token string, err error) {
	if _, err := roleOf(role); err != nil {
		return "", err
	}
	if len(strings.Fields(name)) != 1 || strings.Fields(name)[0] != name || strings.HasPrefix(name, "#") {
		return "", fmt.Errorf("name %q: want one word that does not begin with #", name)
	}
	if len(sources) > 0 && role != bus.Platform.String() {
		return "", fmt.Errorf("role %q: only the role %v publishes for sources", role, bus.Platform)
	}
	id, salt := rand.Text()[:idLength], []byte(rand.Text())
	token = prefix + id + "_" + rand.Text()
	sum := argon2.IDKey([]byte(token), salt, hashTime, hashMemory, hashThreads, hashBytes)
	encode := base64.RawStdEncoding.EncodeToString
	line := fmt.Sprintf("%s %s %s $argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", name, role, id, argon2.Version, hashMemory,
		hashTime, hashThreads, encode(salt), encode(sum))
	for _, s := range sources {
		if len(strings.Fields(s)) != 1 || strings.Fields(s)[0] != s {
			return "", fmt.Errorf("source %q: want one word in which * and ? stand for any characters and for one", s)
		}
		line += " " + sourcePrefix + s
	}
	return token, edit(file, func(lines []string) ([]string, error) { return append(lines, line), nil })
}

// Revoke removes the lines with a name or an id, and says how many there were.
func Revoke(file, which string) (removed int, err error) {
	err = edit(file, func(lines []string) ([]string, error) {
		before := len(lines)
		lines = slices.DeleteFunc(lines, func(line string) bool {
			f := strings.Fields(line)
			return len(f) > 3 && !strings.HasPrefix(f[0], "#") && (f[0] == which || f[2] == which)
		})
		if removed = before - len(lines); removed == 0 {
			return nil, fmt.Errorf("%s: no token has the name or the id %q", file, which)
		}
		return lines, nil
	})
	return removed, err
}

// edit replaces the lines of a file, all at once, if Open takes the new ones. Its owner stays, others cannot read it.
// Edits take turns: the folder is locked, as the file is another one after each.
func edit(file string, change func([]string) ([]string, error)) error {
	folder, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("%s: lock: %w", folder.Name(), err)
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var lines []string
	if len(old) > 0 {
		lines = strings.Split(strings.TrimSuffix(strings.TrimPrefix(string(old), mark), "\n"), "\n")
	}
	if lines, err = change(lines); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm() & 0o640
	}
	text := strings.Join(append(lines, ""), "\n")
	if _, err := new(Set).parse(text); err != nil {
		return fmt.Errorf("%s stays as it is: a service would refuse the new list: %w", file, err)
	}
	return disk.Replace(file, []byte(text), mode)
}
