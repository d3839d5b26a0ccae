//go:build linux && amd64

package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jianguo/internal/powercut"
)

// TestPowerCut is TestKill on a disk that forgets everything that was not synced:
// catalogue, snapshot and the files of the bus together.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	k, r := newKilled(t)
	syncs := k.cuts(kills(3, 5), func(round int) {
		k.round(round, time.Duration(r.IntN(600))*time.Millisecond)
	}, k.whole)
	k.end()
	t.Logf("%d syncs", syncs)
}

// TestSyncsFail is TestPowerCut on a disk that also answers syncs with an error. In one
// round some syncs of the catalogue fail, which are tried again. In the next some of the
// bus fail; after the first of these nothing is acknowledged until the next start.
func TestSyncsFail(t *testing.T) {
	t.Parallel()
	k, r := newKilled(t)
	f := newFaults(k, r, 10)
	k.fail = func(path string) powercut.Fault {
		if kind := kindOf(path); f.hits(kind) {
			return faultOf[kind]
		}
		return powercut.None
	}
	syncs := k.cuts(kills(3, 9), func(round int) {
		f.next([]string{"bus", "catalogue"}[round%2])
		k.round(round, time.Duration(200+r.IntN(400))*time.Millisecond)
	}, k.whole)
	k.end()
	t.Logf("%d syncs, failed of %v", syncs, f.count)
	f.all("bus", "catalogue")
}

// TestReadsAndWritesFail is TestPowerCut on a disk that also answers reads and writes with
// an error, in each round some of one kind. After the faults and before the power goes
// the service works again. Reads of the bus do not fail: it uses read(2).
func TestReadsAndWritesFail(t *testing.T) {
	t.Parallel()
	k, r := newKilled(t)
	f := newFaults(k, r, 30)
	kinds := []string{"bus written", "catalogue written", "catalogue read"}
	k.failIO = func(path string, write bool) bool {
		return f.hits(kindOf(path) + map[bool]string{true: " written", false: " read"}[write])
	}
	syncs := k.cuts(kills(4, 9), func(round int) {
		f.next(kinds[round%len(kinds)])
		k.round(round, time.Duration(200+r.IntN(400))*time.Millisecond)
	}, k.whole)
	k.end()
	t.Logf("%d syncs, failed of %v", syncs, f.count)
	f.all(kinds...)
}

// TestPowerCutExposures is TestKillExposures on a disk that forgets everything that was
// not synced.
func TestPowerCutExposures(t *testing.T) {
	t.Parallel()
	x, r := newExposed(t, "power cuts")
	n := kills(3, 5)
	syncs := x.cuts(n, func(round int) {
		x.round(round, time.Duration(200+r.IntN(600))*time.Millisecond)
	}, func(int) {})
	x.end(n)
	t.Logf("%d syncs", syncs)
}

// TestSyncsFailExposures is TestPowerCutExposures on a disk that also answers syncs with
// an error.
func TestSyncsFailExposures(t *testing.T) {
	t.Parallel()
	x, r := newExposed(t, "power cuts and failed syncs")
	f := newFaults(x.killed, r, 20)
	x.fail = func(path string) powercut.Fault {
		if f.hits("") {
			return faultOf[kindOf(path)]
		}
		return powercut.None
	}
	n := kills(3, 8)
	syncs := x.cuts(n, func(round int) {
		f.next("")
		x.round(round, time.Duration(200+r.IntN(600))*time.Millisecond)
	}, func(int) {})
	x.end(n)
	t.Logf("%d syncs", syncs)
	f.all("")
}

// TestReadsAndWritesFailExposures is TestPowerCutExposures on a disk that also answers
// writes of the bus, or reads and writes of the users' states, with an error.
func TestReadsAndWritesFailExposures(t *testing.T) {
	t.Parallel()
	x, r := newExposed(t, "power cuts, failed reads and writes")
	f := newFaults(x.killed, r, 20)
	x.failIO = func(path string, write bool) bool { return f.hits(kindOf(path)) }
	n := kills(3, 6)
	syncs := x.cuts(n, func(round int) {
		f.next([]string{"catalogue", "bus"}[round%2])
		x.round(round, time.Duration(200+r.IntN(600))*time.Millisecond)
	}, func(int) {})
	x.end(n)
	t.Logf("%d syncs, failed of %v", syncs, f.count)
	f.all("catalogue", "bus")
}

// faults decides which calls fail. In each round calls of one kind fail: the first one
// certainly, later ones at random.
type faults struct {
	t        *testing.T
	oneIn    int // so many later calls, on average, have one fault
	mu       sync.Mutex
	dice     *rand.Rand     // under mu
	kind     string         // under mu; of this round
	thisTime int            // under mu; faults of this round
	count    map[string]int // under mu; faults of all rounds by kind
}

func newFaults(k *killed, r *rand.Rand, oneIn int) *faults {
	f := &faults{t: k.t, oneIn: oneIn, dice: rand.New(rand.NewPCG(r.Uint64(), 2)), count: map[string]int{}}
	k.failed = func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.thisTime
	}
	return f
}

// next begins a round.
func (f *faults) next(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kind, f.thisTime = kind, 0
}

// hits reports whether a call of a kind fails.
func (f *faults) hits(kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind != f.kind || f.thisTime > 0 && f.dice.IntN(f.oneIn) > 0 {
		return false
	}
	f.thisTime++
	f.count[kind]++
	return true
}

// all checks that calls of every kind failed.
func (f *faults) all(kinds ...string) {
	f.t.Helper()
	for _, kind := range kinds {
		if f.count[kind] == 0 {
			f.t.Errorf("no fault of kind %q", kind)
		}
	}
}

// faultOf is the fault of a sync by the kind of file. SQLite writes a transaction that
// failed again; the files of the bus are written once.
var faultOf = map[string]powercut.Fault{"catalogue": powercut.Once, "bus": powercut.ForGood}

// kindOf classifies a file.
func kindOf(path string) string {
	if strings.Contains(filepath.Base(path), ".db") {
		return "catalogue"
	}
	return "bus"
}

// cuts runs rounds that end in a kill, on a disk that keeps what was synced. Each round
// goes on from what the one before left, which whole verifies. No call fails in the first
// round, in which the clients try everything.
func (k *killed) cuts(rounds int, round, whole func(int)) (syncs int) {
	base := k.data
	for n := range rounds {
		kept := fmt.Sprintf("%s-%d", base, n)
		disk, err := powercut.New(k.data, kept)
		if err != nil {
			k.t.Fatal(err)
		}
		stop := func() {}
		k.launch = func(cmd *exec.Cmd) (err error) {
			stop, err = disk.Start(cmd)
			return err
		}
		k.failing.Store(false)
		if k.fail != nil && n > 0 {
			disk.Fail = func(path string) powercut.Fault {
				if !k.failing.Load() {
					return powercut.None
				}
				return k.fail(path)
			}
		}
		if k.failIO != nil && n > 0 {
			disk.FailIO = func(path string, write bool) bool { return k.failing.Load() && k.failIO(path, write) }
		}
		round(n)
		stop()
		syncs += disk.Cut()
		k.remove(k.data)
		k.data = kept
		whole(n)
	}
	k.launch = startChild
	return syncs
}
