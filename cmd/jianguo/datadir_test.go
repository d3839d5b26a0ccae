package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jianguo/internal/datadir"
	"jianguo/internal/testbed"
)

// fails runs a command that must fail at once with a sentence.
func fails(t *testing.T, exe, sentence string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, exe, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), sentence) || strings.Contains(string(out), "goroutine ") {
		t.Errorf("%v: %v, want %q\n%s", args, err, sentence, out)
	}
}

// does runs a command that must succeed, and say a sentence.
func does(t *testing.T, exe, sentence string, args ...string) (out string) {
	t.Helper()
	b, err := exec.Command(exe, args...).CombinedOutput()
	if err != nil || !strings.Contains(string(b), sentence) {
		t.Fatalf("%v: %v, want %q\n%s", args, err, sentence, b)
	}
	return string(b)
}

// TestMissingFiles: a directory that has lost a file is refused, and stays as it is; so is an
// old one without a manifest. A directory of the version before gets its manifest.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--exposure-flush", "10ms")
	s.ask("/items", string(article(1)), nil)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["a"]}`, nil)
	s.stop()
	files := 0
	err := filepath.WalkDir(s.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if files++; err == nil && info.Mode().Perm()&0o077 != 0 { // other users of the machine may read it
			t.Errorf("%s: %v", path, info.Mode())
		}
		return err
	})
	if err != nil || files < 10 {
		t.Fatalf("%d files, %v", files, err)
	}
	for _, manifest := range []bool{true, false} {
		for _, name := range []string{datadir.Catalogue, datadir.Exposures} {
			for state, damage := range map[string]func(path string) error{"missing": os.Remove, "empty": func(path string) error { return os.Truncate(path, 0) }} {
				dir := filepath.Join(t.TempDir(), "copy")
				testbed.OK(t, os.CopyFS(dir, os.DirFS(s.data)))
				if !manifest {
					testbed.OK(t, os.Remove(filepath.Join(dir, datadir.ManifestName)))
				}
				testbed.OK(t, damage(filepath.Join(dir, name)))
				want := name + ", which belongs to it, is " + state + ": put a backup of the directory in its place"
				if name == datadir.Exposures { // nothing goes on without the catalogue
					want += "; jianguo repair --without exposure.db goes on with no user's history"
				} else {
					want += "\n"
				}
				fails(t, s.binary, want, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")
				if manifest || name != datadir.Catalogue || state != "missing" { // else it looks like no data directory
					fails(t, s.binary, want, "verify", "--data", dir)
					fails(t, s.binary, want, "backup", "--data", dir, dir+"2")
				}
				if _, err := os.Stat(dir + "2"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a backup was made: %v", err)
				}
			}
		}
	}
	testbed.OK(t, os.Remove(filepath.Join(s.data, datadir.ManifestName)))
	s.start()
	s.ready()
	if m, err := datadir.ReadManifest(s.data); err != nil || m == nil || len(m.Files) != 2 {
		t.Errorf("the manifest of an old directory: %+v, %v", m, err)
	}
	s.stop()
}

// TestLockRemoved: without the lock file a second process is kept out all the same.
func TestLockRemoved(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	testbed.OK(t, os.Remove(filepath.Join(s.data, datadir.LockName)))
	for _, args := range [][]string{{"verify"}, {"serve", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0"}, {"backup", "--data", s.data, s.data + "2"}} {
		fails(t, s.binary, "is in use by another process", append(args, "--data", s.data)...)
	}
	s.stop()
}

// TestBackupInterrupted: a backup goes on when a second one of the same name is refused. One that a signal ends leaves
// nothing, and one that is killed leaves a directory that no command takes for a backup.
func TestBackupInterrupted(t *testing.T) {
	t.Parallel()
	// Reports that are not flushed for an hour: the backup waits for them.
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--exposure-flush", "1h")
	s.ask("/items", string(article(1)), nil)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["a"]}`, nil)
	to := filepath.Join(t.TempDir(), "backup")
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		cmd := exec.Command(s.binary, "backup", "--data", s.data, to)
		out := new(lockedBuffer)
		cmd.Stderr = out
		testbed.OK(t, testbed.Start(cmd))
		s.eventually("half a backup", func() bool {
			_, err := os.Stat(filepath.Join(to+".unfinished", datadir.Catalogue))
			return err == nil
		})
		fails(t, s.binary, ".unfinished is in use by process", "backup", "--data", s.data, to)
		testbed.OK(t, cmd.Process.Signal(end))
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%v: a whole backup?", end)
			}
		case <-time.After(patience):
			t.Fatalf("%v does not end it", end)
		}
		if end == syscall.SIGTERM && !strings.Contains(out.String(), "terminated") {
			t.Errorf("it says %s", out)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v leaves %s: %v", end, to, err)
		}
		if _, err := os.Stat(to + ".unfinished"); errors.Is(err, fs.ErrNotExist) != (end == syscall.SIGTERM) {
			t.Errorf("%v: %v", end, err)
		}
	}
	const sentence = "is a backup that was interrupted"
	fails(t, s.binary, sentence, "verify", "--data", to+".unfinished")
	fails(t, s.binary, sentence, "repair", "--without", "exposure.db", "--data", to+".unfinished")
	fails(t, s.binary, sentence, "serve", "--data", to+".unfinished", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")
	s.stop() // with a flush
	does(t, s.binary, "whole: 1 items", "backup", "--data", s.data, to)
}

// TestFileCut: a service whose file is cut short while it reads ends with a sentence.
func TestFileCut(t *testing.T) {
	t.Parallel()
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	for n := range 40 {
		s.ask("/items", string(article(n)), nil)
	}
	s.stop() // puts all into the file
	s.start()
	s.ready()
	testbed.OK(t, os.Truncate(filepath.Join(s.data, datadir.Catalogue), 8192))
	for n := range 40 { // errors, but answers
		_, _, _ = s.get("/items/n" + strconv.Itoa(n))
	}
	if exit, ok := errors.AsType[*exec.ExitError](s.end()); !ok || exit.ExitCode() != 1 {
		t.Errorf("it ended by %v", exit)
	}
	if want := "index.db was cut short while the service ran"; !strings.Contains(s.log.String(), want) || strings.Contains(s.log.String(), "goroutine ") {
		t.Errorf("it does not say %q:\n%s", want, s.log)
	}
}

// TestFileRemoved: a service whose file is removed ends with a sentence, and writes the file
// again: nothing that was acknowledged is lost.
func TestFileRemoved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{datadir.Catalogue, datadir.Exposures} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--exposure-flush", "1h")
			s.ask("/items", string(article(1)), nil)
			s.ask("/exposures", `{"user":"u","kind":"seen","items":["a"]}`, nil)
			testbed.OK(t, os.Remove(filepath.Join(s.data, name)))
			if s.end() == nil {
				t.Error("an orderly end")
			}
			if want := name + " was removed or replaced while the service ran"; !strings.Contains(s.log.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, s.log)
			}
			before := s.log.String()
			s.start()
			s.ready()
			if got := s.status("/items/n1"); got != 200 {
				t.Errorf("the item: %d\n%s", got, before)
			}
			var got struct{ Items []string }
			s.ask("/filter", `{"user":"u","items":["a"]}`, &got)
			if len(got.Items) != 0 {
				t.Errorf("the filter lets through %v", got.Items)
			}
			s.stop()
		})
	}
}

// TestStartSaysWhatIsWrong: a start says what would be noticed late or never.
func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	s.ask("/items", string(article(1)), nil)
	s.stop()
	testbed.OK(t, os.RemoveAll(filepath.Join(s.data, "bus")))
	s.args = append(s.args, "--disk-reserve", "1000000000")
	s.start()
	s.stop()
	for _, want := range []string{"the streams are not there: dead letters, and what waited for a verdict, are gone", "writes are refused until there is room"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("it does not say %q: %s", want, s.log)
		}
	}
	path := filepath.Join(s.data, datadir.Catalogue)
	was, err := os.ReadFile(path)
	testbed.OK(t, err)
	for at, want := range map[int]string{ // of https://sqlite.org/fileformat2.html#the_database_header
		3: "is damaged", 16: "is damaged", 18: "is damaged", 20: "is damaged", 47: "is damaged", 55: "is damaged", 58: "is damaged", 67: "is damaged",
		62: "if no other one wrote it, the file is damaged", 90: "is damaged"} {
		b := bytes.Clone(was)
		b[at] ^= 1
		testbed.OK(t, os.WriteFile(path, b, 0o600))
		fails(t, s.binary, want, "serve", "--data", s.data, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")
	}
}

// TestRepair: repair goes on without users' histories, if they are missing and it is told to.
func TestRepair(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	s.ask("/items", string(article(1)), nil)
	s.stop()
	fails(t, s.binary, "neither missing nor empty", "repair", "--data", s.data, "--without", datadir.Exposures)
	testbed.OK(t, os.Remove(filepath.Join(s.data, datadir.Exposures)))
	fails(t, s.binary, "exposure.db, which belongs to it, is missing", "verify", "--data", s.data)
	does(t, s.binary, "whole: 1 items", "repair", "--data", s.data, "--without", datadir.Exposures)
	s.start()
	s.ready()
	if got := s.status("/items/n1"); got != 200 {
		t.Errorf("the item: %d", got)
	}
	s.stop()
}
