//go:build linux && amd64

package exposure

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/internal/powercut"
)

// childEnv makes the test binary a reporter: a process with the embedded bus and a
// store in a directory, which reports one item after the other and prints the number
// of each when its report has been answered.
const (
	childEnv   = "JIANGUO_EXPOSURE_REPORTER"
	childFrom  = "JIANGUO_EXPOSURE_FROM"
	childDelay = 300 * time.Microsecond
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := reporter(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// openDir opens a bus and a store in a directory. The name of the directory says whether
// they are relaxed.
func openDir(t testing.TB, dir string) *Store {
	synced := !strings.Contains(dir, "relaxed")
	_, js := startNATS(t, dir+"/nats", synced)
	ctx := context.Background()
	log, err := eventlog.Open(ctx, js, eventlog.Config{}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Path: dir + "/exposure.db", Log: log, FlushAge: 40 * time.Millisecond, Logger: quiet,
		Policies: map[string]Policy{"": {Slots: 60, Capacity: 64, Tail: 16}}}
	if !synced {
		cfg.Relaxed = true
	}
	s, err := Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

func reporter(dir string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("reporter: %v", v)
		}
	}()
	s := openDir(&childT{}, dir)
	var from int
	if _, err := fmt.Sscan(os.Getenv(childFrom), &from); err != nil {
		return err
	}
	for i := from; ; i++ {
		err := s.Expose(context.Background(), Event{Kind: Seen, User: fmt.Sprint("u", i%7), Items: []string{fmt.Sprint("item", i)}})
		if err != nil {
			return err
		}
		fmt.Println(i)
		time.Sleep(childDelay)
	}
}

// childT is a testing.TB for a process without a test.
type childT struct{ testing.TB }

func (*childT) Helper()           {}
func (*childT) Cleanup(func())    {}
func (*childT) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// TestPowerCut runs a reporter on a disk that loses all that was not synced, cuts the power,
// and restarts on what the disk has kept. Synced, every answered report is filtered
// afterwards. Relaxed promises less, but the state must be consistent, and new reports must
// count although the log lost its end.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"synced", "relaxed"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), mode)
			acked := 0
			for cut := range 4 {
				kept := fmt.Sprintf("%s-kept-%d", dir, cut)
				last, syncs := runUntilCut(t, dir, kept, acked, 20+rand.IntN(150))
				dir = kept
				s := openDir(t, dir)
				r, err := s.Filter(context.Background(), Request{User: "u0", Items: itemsOf(0, last)})
				if err != nil || r.Degraded != "" {
					t.Fatal(err, r.Degraded)
				}
				lost := len(r.Items)
				for u := 1; u < 7; u++ {
					r, err := s.Filter(context.Background(), Request{User: fmt.Sprint("u", u), Items: itemsOf(u, last)})
					if err != nil {
						t.Fatal(err)
					}
					lost += len(r.Items)
				}
				t.Logf("cut %d: %d reports answered in all, %d syncs, %d lost", cut, last, syncs, lost)
				if mode == "synced" && lost > 0 {
					t.Fatalf("%d answered reports were lost", lost)
				}
				for i := range 20 {
					id := fmt.Sprint("after", cut, i)
					if err := s.Expose(context.Background(), Event{Kind: Seen, User: "v", Items: []string{id}}); err != nil {
						t.Fatal(err)
					}
					if r, err := s.Filter(context.Background(), Request{User: "v", Items: []string{id}}); err != nil || len(r.Items) > 0 {
						t.Fatalf("a report after the cut does not count: %v, %v", r, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := VerifyFile(context.Background(), dir+"/exposure.db"); err != nil {
					t.Fatal(err)
				}
				acked = last
				// The bus is still open; the next reporter gets a copy of its files as
				// they are after a clean end.
				next := fmt.Sprintf("%s-next-%d", filepath.Join(t.TempDir(), mode), cut)
				if err := os.CopyFS(next, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				dir = next
			}
		})
	}
}

func itemsOf(user, last int) []string {
	var items []string
	for i := user; i < last; i += 7 {
		items = append(items, fmt.Sprint("item", i))
	}
	return items
}

// runUntilCut starts a reporter at number from, kills it some answers later, and
// returns the number after the last one answered. What is left of its files is in kept.
func runUntilCut(t *testing.T, live, kept string, from, answers int) (last, syncs int) {
	t.Helper()
	disk, err := powercut.New(live, kept)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+live, fmt.Sprint(childFrom, "=", from))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stop, err := disk.Start(cmd)
	if err != nil {
		t.Fatalf("start with a seccomp listener: %v", err)
	}
	lines := bufio.NewScanner(out)
	last = from
	for n := 0; n < answers && lines.Scan(); n++ {
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			t.Fatal(err)
		}
		last++
	}
	if last == from {
		t.Error("the reporter reported nothing")
	}
	cmd.Process.Kill()
	cmd.Wait()
	stop()
	return last, disk.Cut()
}
