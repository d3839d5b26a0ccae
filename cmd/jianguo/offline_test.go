//go:build !race

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"jianguo/internal/testbed"
)

// onDirectory says how each command that takes --data is tried on a stopped directory.
var onDirectory = map[string]struct {
	args    []string
	fails   string // what it says, if it refuses
	changes bool   // its job is to change the directory
}{
	"ingest":      {args: []string{"ITEMS"}, changes: true},
	"reindex":     {changes: true},
	"check":       {args: []string{"item"}, fails: "no service runs on the data directory"}, // it would be judged by a policy nobody chose
	"dead list":   {fails: "no service runs on the data directory"},
	"dead show":   {args: []string{"1"}, fails: "no service runs on the data directory"},
	"dead replay": {args: []string{"--all"}, fails: "no service runs on the data directory"},
	"dead drop":   {args: []string{"--all"}, fails: "no service runs on the data directory"},
	"rejudge":     {},
	"explain":     {args: []string{"n1", "n2"}},
	"health":      {fails: "does not answer"},
	"verify":      {},
	"repair":      {args: []string{"--without", "exposure.db"}, fails: "neither missing nor empty"},
	"backup":      {args: []string{"COPY"}},
	"migrate":     {args: []string{"--nats", "nats://127.0.0.1:1", "--exposure-store", "redis://127.0.0.1:1"}, fails: "nothing answers there"},
}

// withData returns the paths of the commands that take --data, but of those that make a directory.
func withData() (paths []string) {
	var visit func(n *kong.Node, data bool)
	visit = func(n *kong.Node, data bool) {
		data = data || slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == "data" })
		for _, child := range n.Children {
			visit(child, data)
		}
		if path := strings.TrimPrefix(n.Path(), "jianguo "); data && n.Leaf() && path != "serve" && path != "demo" {
			paths = append(paths, path)
		}
	}
	visit(newParser(new(cli)).Model.Node, false)
	return paths
}

// operator tries commands on a data directory as several users.
type operator struct {
	*testing.T
	dir, binary, items string
	users              map[string]int // by what they are to the directory
}

// newOperator makes a directory that any user may work in. Only root can be other users.
func newOperator(t *testing.T) *operator {
	o := &operator{T: t, dir: t.TempDir(), users: map[string]int{"owner": os.Getuid()}}
	if os.Getuid() == 0 {
		o.users = map[string]int{"owner": 4242, "root": 0, "other user": 4343}
	}
	o.binary, o.items = filepath.Join(o.dir, "jianguo"), filepath.Join(o.dir, "items")
	self, err := os.Executable()
	if err == nil {
		var program []byte
		if program, err = os.ReadFile(self); err == nil {
			err = os.WriteFile(o.binary, program, 0o755)
		}
	}
	if err = errors.Join(err, os.WriteFile(o.items, slices.Concat(article(1), []byte("\n"), article(2), []byte("\n")), 0o644),
		os.WriteFile(filepath.Join(o.dir, "item"), article(1), 0o644),
		os.Chmod(filepath.Dir(o.dir), 0o755), os.Chmod(o.dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return o
}

// as makes a command of a user.
func (o *operator) as(user string, cmd *exec.Cmd) *exec.Cmd {
	if uid := uint32(o.users[user]); os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	cmd.Dir = o.dir
	return cmd
}

// run runs a command on a directory as onDirectory says.
func (o *operator) run(user, path, data string) (string, error) {
	to := filepath.Join(o.dir, "copy")
	args := append(strings.Fields(path), "--data", data)
	for _, a := range onDirectory[path].args {
		args = append(args, strings.NewReplacer("ITEMS", o.items, "COPY", to).Replace(a))
	}
	out, err := o.as(user, exec.Command(o.binary, args...)).CombinedOutput()
	if uid := o.users["owner"]; err == nil && path == "backup" {
		for name, f := range o.files(to) {
			if f.uid != uint32(uid) {
				o.Errorf("%s of a backup by the %s belongs to %d", name, user, f.uid)
			}
		}
	}
	testbed.OK(o, os.RemoveAll(to))
	return string(out), err
}

// file is what must not change of a file.
type file struct {
	mode     fs.FileMode
	uid, gid uint32
	sum      string
}

func (o *operator) files(dir string) map[string]file {
	o.Helper()
	all := map[string]file{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		info, ierr := os.Lstat(path)
		if err != nil || ierr != nil {
			return errors.Join(err, ierr)
		}
		f := file{mode: info.Mode(), uid: info.Sys().(*syscall.Stat_t).Uid, gid: info.Sys().(*syscall.Stat_t).Gid}
		if info.Mode().IsRegular() {
			content, rerr := os.ReadFile(path)
			f.sum, err = fmt.Sprintf("%x", sha256.Sum256(content)), rerr
		}
		all[path] = f
		return err
	})
	testbed.OK(o, err)
	return all
}

// TestCommandsOnDirectories: no command but serve, demo and ingest --create makes a directory; on a stopped one, each
// leaves names, owners and bytes as they are, unless its job is to change them, and then the owners; who may not use it
// is told which user to be. On a running one nothing is lost.
func TestCommandsOnDirectories(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	data := filepath.Join(o.dir, "data")
	if out, err := o.as("owner", exec.Command(o.binary, "ingest", "--create", "--data", data, o.items)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	paths := withData()
	if want := slices.Sorted(maps.Keys(onDirectory)); !slices.Equal(slices.Sorted(slices.Values(paths)), want) {
		t.Fatalf("commands with --data: %q; onDirectory says how to try %q", paths, want)
	}
	slices.SortStableFunc(paths, func(a, b string) int { // those that change last
		return map[bool]int{true: 1}[onDirectory[a].changes] - map[bool]int{true: 1}[onDirectory[b].changes]
	})
	for _, path := range paths {
		before := o.files(o.dir)
		if out, err := o.run("owner", path, filepath.Join(o.dir, "typo")); err == nil || !strings.Contains(out, "--data") {
			t.Errorf("%s on no directory: %v %s", path, err, out)
		}
		for user := range o.users {
			out, err := o.run(user, path, data)
			says := onDirectory[path].fails
			if user == "other user" {
				says = "belongs to user 4242:4242: run this as that user, or as root"
			}
			if (err == nil) != (says == "") || !strings.Contains(out, says) {
				t.Errorf("%s as the %s: %v %s; want %q", path, user, err, out, says)
			}
			after := o.files(o.dir)
			for name, f := range after {
				if f.uid != uint32(o.users["owner"]) && strings.HasPrefix(name, data) {
					t.Errorf("%s as the %s: %s belongs to %d", path, user, name, f.uid)
				}
			}
			if !onDirectory[path].changes && !maps.Equal(before, after) {
				t.Errorf("%s as the %s changes the directory", path, user)
			}
		}
	}

	s := newProcess(t, o.binary, data, "--nats-listen", "127.0.0.1:0")
	s.launch = func(cmd *exec.Cmd) error { return testbed.Start(o.as("owner", cmd)) }
	s.start()
	s.ready()
	for n := 3; n < 10; n++ {
		s.ask("/items", string(article(n)), nil)
	}
	for _, path := range paths {
		for user := range o.users {
			_, _ = o.run(user, path, data)
		}
	}
	for n := 1; n < 10; n++ {
		if got := s.status(fmt.Sprint("/items/n", n)); got != 200 {
			t.Errorf("item %d: %d", n, got)
		}
	}
	s.stop()
	for name, f := range o.files(data) {
		if f.uid != uint32(o.users["owner"]) {
			t.Errorf("%s belongs to %d", name, f.uid)
		}
	}
	if os.Getuid() == 0 { // a file that root has left where a service was killed
		testbed.OK(t, os.Lchown(filepath.Join(data, "snapshot.db"), 0, 0))
		out, err := o.as("owner", exec.Command(o.binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "snapshot.db belongs to user root") {
			t.Errorf("a start: %v %s", err, out)
		}
	}
}
