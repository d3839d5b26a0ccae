//go:build linux && amd64

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"jianguo/exposure"
	"jianguo/index"
	"jianguo/internal/datadir"
	"jianguo/internal/testbed"
)

// TestChaos lets clients publish, revise, withdraw, decide, report, un-see and forget on
// the real binary, while one fault after the other happens to it. A model holds all that
// was acknowledged. After each fault the directory is whole, and everything acknowledged
// is as the model says. JIANGUO_CHAOS_SECONDS says how long it goes on; without it each
// fault happens once, and in the long tier it goes on for an hour.
func TestChaos(t *testing.T) {
	t.Parallel()
	seconds := 0
	if os.Getenv("JIANGUO_CHAOS_SECONDS") != "" || testbed.Long() {
		seconds = testbed.CountOr("JIANGUO_CHAOS_SECONDS", 1, 1, 3600)
	}
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	lives := map[string][]*fault{"embedded bus": embeddedFaults, "bus elsewhere": externalFaults}
	if seconds == 0 { // once each: two services side by side take half the time
		shuffled := slices.Clone(embeddedFaults)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		half := len(shuffled) / 2
		lives["embedded bus"], lives["embedded bus too"] = shuffled[:half], shuffled[half:]
	}
	for name, faults := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t)
			c.external = name == "bus elsewhere"
			for first := true; first || time.Now().Before(until); first = false {
				c.life(faults, func() bool { return first || time.Now().Before(until) })
			}
			t.Logf("seed %d, %d lives\n%s", c.seed, c.lives, c.table(faults))
			for _, p := range c.problems {
				t.Error(p)
			}
		})
	}
}

// TestChaosNoticesALoss: chaos fails where a sync is left out.
func TestChaosNoticesALoss(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"of the bus": true, "of all files": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t)
			c.pace = min(c.pace, 20) // it has one round in which to notice
			leftOut := &fault{name: "syncs left out", cut: true, disk: func(c *chaos, op diskOp, path string) diskFault {
				switch {
				case op != syncOp:
				case kindOf(path) == "bus" || !keeps:
					return c.injects(diskFault{Lost: true}, 1)
				default: // what was acknowledged waits on the bus
					return diskFault{Delay: 200 * time.Millisecond}
				}
				return diskFault{}
			}}
			once := true
			c.life([]*fault{leftOut}, func() bool { defer func() { once = false }(); return once })
			t.Logf("noticed: %.300s", strings.Join(c.problems, "\n"))
			if len(c.problems) == 0 {
				t.Errorf("acknowledged data was lost, and nothing noticed it:\n%s", c.table([]*fault{leftOut}))
			}
		})
	}
}

// chaos is a service to which faults happen, and a model of what it acknowledged.
type chaos struct {
	*process
	seed     uint64
	r        *rand.Rand // of the loop of lives and rounds only
	external bool
	broker   *broker     // nil: the embedded bus
	lives    int         // data directories so far
	base     string      // the folder of the data directory
	words    *dictionary // of the service; a reindex changes it
	failing  atomic.Bool // the fault of the round is happening
	cutOff   atomic.Bool // connections of clients break
	// pace is how many milliseconds a client waits after each change. What is acknowledged is
	// compared in every later round, so that most of the time of a run goes with its number.
	pace  int
	fault *fault   // of this round
	order []string // the faults of this life so far

	mu       sync.Mutex
	dice     *rand.Rand         // under mu
	counts   map[string]*counts // under mu; by fault
	problems []string           // under mu
	articles []*modelItem       // under mu; of this life; they are changed by one client each
	events   map[uint64]uint64  // under mu; hashes of the events that clients saw in this life
	users    []*shown           // under mu; of this life
	free     map[string]bool    // under mu; ids that were taken back and asked for: whether a false positive withheld them
}

// counts are what happened under a fault.
type counts struct {
	rounds, injected, ended                 int // ended: by itself
	items, changes, decisions, reports, un  int // acknowledged; un: un-sees and forgets
	unanswered                              int // requests without an answer, or refused
	slowest                                 time.Duration
	snapshotLoaded, snapshotBuilt, verified int
}

func newChaos(t *testing.T) *chaos {
	t.Helper()
	seed := rand.Uint64()
	return &chaos{process: newProcess(t, binary(t), ""), seed: seed, pace: testbed.Count(150, 2, 2), r: rand.New(rand.NewPCG(seed, 1)), dice: rand.New(rand.NewPCG(seed, 2)),
		base: t.TempDir(), counts: map[string]*counts{}, free: map[string]bool{}}
}

// count changes the counts of the fault of this round.
func (c *chaos) count(f func(*counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts[c.fault.name]
	if n == nil {
		n = new(counts)
		c.counts[c.fault.name] = n
	}
	f(n)
}

// injects lets a fault happen to one of so many calls, and to the first one of the round.
func (c *chaos) injects(f diskFault, oneIn int) diskFault {
	if !c.failing.Load() {
		return diskFault{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault.hits > 0 && c.dice.IntN(oneIn) > 0 {
		return diskFault{}
	}
	c.fault.hits++
	c.counts[c.fault.name].injected++
	return f
}

func (c *chaos) problem(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.problems) < 30 {
		c.problems = append(c.problems, fmt.Sprintf("life %d, round %d, after %q: ", c.lives, len(c.order), c.order[max(0, len(c.order)-3):])+fmt.Sprintf(format, args...))
	}
}

// life begins with an empty data directory and lets each fault happen once, in random
// order. At the end everything is checked, and the directory is removed.
func (c *chaos) life(faults []*fault, goOn func() bool) {
	c.lives++
	dir := filepath.Join(c.base, fmt.Sprint(c.lives))
	c.data = filepath.Join(dir, "data")
	c.args = []string{"--snapshot-every", "30", "--exposure-policy", "rotate,slots=20,capacity=64,tail=16", "--exposure-flush", "50ms"}
	c.words = newDictionary(c.t)
	c.args = append(c.args, "--user-dict", c.words.path)
	c.order, c.articles, c.users, c.events = nil, nil, nil, map[uint64]uint64{}
	if c.external {
		c.broker = startBroker(c.t, func(o *server.Options) { o.StoreDir = filepath.Join(dir, "broker") })
		defer c.broker.close()
		c.args = append(c.args, "--nats", c.broker.url())
	} else {
		c.args = append(c.args, "--nats-listen", "127.0.0.1:0")
	}
	for _, i := range c.r.Perm(len(faults)) {
		if !goOn() {
			break
		}
		c.fault = faults[i]
		start := time.Now()
		c.round()
		c.order = append(c.order, c.fault.name)
		if testing.Verbose() {
			fmt.Printf("%s %s: %.1fs\n", time.Now().Format(time.TimeOnly), c.fault.name, time.Since(start).Seconds())
		}
	}
	c.launch = testbed.Start
	c.start()
	c.checkAll()
	c.stop()
	c.endOfLife()
	testbed.OK(c.t, os.RemoveAll(dir))
}

// round starts the service, checks what came before, lets clients work while the fault
// happens, and ends the service.
func (c *chaos) round() {
	f := c.fault
	f.hits = 0
	c.count(func(n *counts) { n.rounds++ })
	cut := func() {}
	if f.cut {
		cut = c.onDisk()
	} else {
		c.launch = testbed.Start
	}
	if f.early != nil {
		f.early(c)
	}
	c.start()
	c.checkAll()
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	c.work(ctx, &clients)
	time.Sleep(time.Duration(100+c.r.IntN(300)) * time.Millisecond)
	c.failing.Store(true)
	if f.during != nil {
		f.during(c)
	} else {
		time.Sleep(time.Duration(100+c.r.IntN(400)) * time.Millisecond)
	}
	if f.disk != nil {
		c.eventually("a fault of "+f.name, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return f.hits > 0
		})
	}
	c.failing.Store(false)
	if !f.forGood {
		c.works()
	}
	if f.term {
		c.signal(syscall.SIGTERM)
		c.stopped()
	} else {
		c.kill()
	}
	cancel()
	clients.Wait()
	cut()
	c.noCrash()
	c.whole()
}

// onDisk puts the data directory on a disk that forgets what was not synced. The function
// that it returns takes the power from it.
func (c *chaos) onDisk() (cut func()) {
	before := c.data
	kept := filepath.Join(filepath.Dir(before), fmt.Sprint("after-", rand.Uint64()))
	disk, err := newDisk(c.data, kept)
	testbed.OK(c.t, err)
	if f := c.fault; f.disk != nil {
		disk.IO = f.io
		disk.Fault = func(op diskOp, path string) diskFault { return f.disk(c, op, path) }
	}
	stop := func() {}
	c.launch = func(cmd *exec.Cmd) (err error) {
		stop, err = disk.Start(cmd)
		return err
	}
	return func() {
		stop()
		disk.Cut()
		testbed.OK(c.t, os.RemoveAll(before))
		c.data = kept
	}
}

// gone reports whether the service has ended by itself.
func (c *chaos) gone() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// works waits until the service takes items and reports again, after the fault.
func (c *chaos) works() {
	c.t.Helper()
	start := time.Now()
	c.eventually("works after "+c.fault.name, func() bool { return c.gone() || c.sentinel() == nil })
	if c.gone() {
		c.count(func(n *counts) { n.ended++ })
		if !c.fault.mayEnd {
			c.problem("the service ended: %s", c.log)
		}
		return
	}
	took := time.Since(start)
	c.count(func(n *counts) { n.slowest = max(n.slowest, took) })
}

// sentinel publishes an item that has its verdict once all before it have theirs, and
// reports an exposure.
func (c *chaos) sentinel() error {
	if status := c.status("/readyz"); status != http.StatusOK {
		return fmt.Errorf("not ready: %d", status)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	n := c.number()
	a := &modelItem{id: fmt.Sprint("sentinel-", n), body: c.text()}
	if _, err := c.overHTTP(http.DefaultClient).publish(ctx, a); err != nil {
		return err
	}
	return c.askHTTP(ctx, http.DefaultClient, "seen", fmt.Appendf(nil, `{"user":"sentinel","kind":"seen","items":["s%d"]}`, n))
}

// noCrash checks that the service did not end with a panic or a signal of its own.
func (c *chaos) noCrash() {
	log := c.log.String()
	for _, sign := range []string{"panic: ", "fatal error: ", "unexpected signal", "SIGBUS"} {
		if strings.Contains(log, sign) {
			c.problem("the service crashed: %.4000s", log)
			return
		}
	}
}

// whole verifies a copy of the files that a round left. The next start finds the
// originals as they were.
func (c *chaos) whole() {
	c.t.Helper()
	dir, err := os.MkdirTemp(c.base, "copy")
	testbed.OK(c.t, err)
	defer os.RemoveAll(dir)
	files, err := filepath.Glob(filepath.Join(c.data, "*.db*"))
	for _, name := range files {
		b, rerr := os.ReadFile(name)
		err = errors.Join(err, rerr, os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o600))
	}
	testbed.OK(c.t, err)
	var log strings.Builder
	ctx := context.Background()
	x, err := index.Open(ctx, index.Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		c.problem("the catalogue does not open: %v", err)
		return
	}
	r, err := x.Verify(ctx)
	if err := errors.Join(err, x.Close()); err != nil {
		c.problem("verify: %v", err)
	}
	if len(r.Problems) > 0 {
		c.problem("%s\n%s", strings.Join(r.Problems, "\n"), log.String())
	}
	if _, err := exposure.VerifyFile(ctx, filepath.Join(dir, datadir.Exposures)); err != nil {
		c.problem("%v", err)
	}
	c.count(func(n *counts) {
		n.verified++
		if strings.Contains(log.String(), "snapshot loaded") {
			n.snapshotLoaded++
		} else if strings.Contains(log.String(), "building the resident index") {
			n.snapshotBuilt++
		}
	})
}

// checkAll waits until the service has applied everything, and compares it with the model.
func (c *chaos) checkAll() {
	c.t.Helper()
	c.ready()
	c.eventually("an item and a report are taken", func() bool { return c.sentinel() == nil })
	c.checkArticles()
	c.checkUsers()
	c.checkFree()
}

// table shows the faults and what was acknowledged under each.
func (c *chaos) table(faults []*fault) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-44s %6s %7s %6s %7s %7s %9s %7s %6s %10s %8s\n", "fault", "rounds", "faults", "ended", "items", "changes", "decisions", "reports", "un-see", "unanswered", "slowest")
	row := func(name string, n *counts) {
		fmt.Fprintf(&b, "%-44s %6d %7d %6d %7d %7d %9d %7d %6d %10d %7.1fs\n", name, n.rounds, n.injected, n.ended, n.items, n.changes, n.decisions, n.reports, n.un,
			n.unanswered, n.slowest.Seconds())
	}
	var all counts
	for _, f := range faults {
		n := c.counts[f.name]
		if n == nil {
			continue
		}
		row(f.name, n)
		all.rounds, all.injected, all.ended, all.items, all.changes = all.rounds+n.rounds, all.injected+n.injected, all.ended+n.ended, all.items+n.items, all.changes+n.changes
		all.decisions, all.reports, all.un, all.unanswered = all.decisions+n.decisions, all.reports+n.reports, all.un+n.un, all.unanswered+n.unanswered
		all.slowest, all.verified = max(all.slowest, n.slowest), all.verified+n.verified
		all.snapshotLoaded, all.snapshotBuilt = all.snapshotLoaded+n.snapshotLoaded, all.snapshotBuilt+n.snapshotBuilt
	}
	row("all", &all)
	withheld := 0
	for _, is := range slices.Collect(maps.Values(c.free)) {
		if is {
			withheld++
		}
	}
	fmt.Fprintf(&b, "%d directories verified, %d with a snapshot, %d without; %d of %d ids taken back were withheld at least once; lost: %d", all.verified, all.snapshotLoaded,
		all.snapshotBuilt, withheld, len(c.free), len(c.problems))
	return b.String()
}
