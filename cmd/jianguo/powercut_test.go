//go:build linux && amd64

package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jianguo/internal/powercut"
)

// TestPowerCut is TestKill on a disk that forgets whatever was not synced:
// catalogue, snapshot and the files of the bus together. Acknowledged items have
// their verdicts all the same, and events stay as they were seen.
func TestPowerCut(t *testing.T) {
	k, r := newKilled(t)
	syncs := k.cuts(kills(5), func(round int) {
		k.round(round, time.Duration(r.IntN(600))*time.Millisecond)
	}, k.whole)
	k.end()
	t.Logf("%d syncs", syncs)
}

// TestSyncsFail is TestPowerCut on a disk that besides answers syncs with an error: in
// one round some of the bus, after the first of which nothing is acknowledged until the
// service is started again, in the next some of the catalogue, which are tried again.
func TestSyncsFail(t *testing.T) {
	k, r := newKilled(t)
	failed, dice := map[string]int{}, rand.New(rand.NewPCG(r.Uint64(), 2))
	var kind string
	k.fail = func(path string) powercut.Fault {
		if kindOf(path) != kind || failed[kind] > 0 && dice.IntN(10) > 0 {
			return powercut.None
		}
		failed[kind]++
		return faults[kind]
	}
	syncs := k.cuts(kills(9), func(round int) {
		kind = []string{"bus", "catalogue"}[round%2]
		k.round(round, time.Duration(200+r.IntN(400))*time.Millisecond)
	}, k.whole)
	k.end()
	t.Logf("%d syncs, failed of %v", syncs, failed)
	if failed["catalogue"] == 0 || failed["bus"] == 0 {
		t.Errorf("syncs failed of %v only", failed)
	}
}

// TestReadsAndWritesFailExposures is TestKillExposures on such a disk: some writes of the
// bus fail, some reads and writes of the states of users, or none.
func TestReadsAndWritesFailExposures(t *testing.T) {
	k, r := newKilled(t)
	x := newExposed(k)
	x.how = "power cuts, failed reads and writes"
	failed, dice := map[string]int{}, rand.New(rand.NewPCG(r.Uint64(), 2))
	var kind string
	k.failIO = func(path string, write bool) bool {
		if kindOf(path) != kind || failed[kind] > 0 && dice.IntN(20) > 0 {
			return false
		}
		failed[kind]++
		return true
	}
	n := kills(6)
	syncs := k.cuts(n, func(round int) {
		kind = []string{"", "bus", "catalogue"}[round%3]
		x.round(round, time.Duration(200+r.IntN(600))*time.Millisecond)
	}, func(int) {})
	x.end(n)
	t.Logf("%d syncs, failed of %v", syncs, failed)
	if failed["catalogue"] == 0 || failed["bus"] == 0 {
		t.Errorf("of %v only", failed)
	}
}

// TestSyncsFailExposures is TestKillExposures on such a disk.
func TestSyncsFailExposures(t *testing.T) {
	k, r := newKilled(t)
	x := newExposed(k)
	x.how = "power cuts and failed syncs"
	dice := rand.New(rand.NewPCG(r.Uint64(), 2))
	k.fail = func(path string) powercut.Fault {
		if dice.IntN(20) > 0 {
			return powercut.None
		}
		return faults[kindOf(path)]
	}
	n := kills(8)
	syncs := k.cuts(n, func(round int) {
		x.round(round, time.Duration(200+r.IntN(600))*time.Millisecond)
	}, func(int) {})
	x.end(n)
	t.Logf("%d syncs", syncs)
}

// TestReadsAndWritesFail is TestPowerCut on a disk that besides answers reads and writes
// with an error: in each round some of one kind. When they are over, and before the power
// goes, the service works again. The bus reads otherwise (read(2)), and is left in peace.
func TestReadsAndWritesFail(t *testing.T) {
	k, r := newKilled(t)
	failed, dice := map[string]int{}, rand.New(rand.NewPCG(r.Uint64(), 2))
	kinds := []string{"bus, written", "catalogue, written", "catalogue, read"}
	var kind string
	k.failIO = func(path string, write bool) bool {
		what := kindOf(path) + ", " + map[bool]string{true: "written", false: "read"}[write]
		if what != kind || failed[what] > 0 && dice.IntN(30) > 0 {
			return false
		}
		failed[what]++
		return true
	}
	syncs := k.cuts(kills(9), func(round int) {
		kind = kinds[round%len(kinds)]
		k.round(round, time.Duration(200+r.IntN(400))*time.Millisecond)
	}, k.whole)
	k.end()
	t.Logf("%d syncs, failed of %v", syncs, failed)
	for _, kind := range kinds {
		if failed[kind] == 0 {
			t.Errorf("nothing failed of %s", kind)
		}
	}
}

// faults are what a failed sync comes to, by the kind of file: SQLite writes a
// transaction that failed anew, the files of the bus are written once.
var faults = map[string]powercut.Fault{"catalogue": powercut.Once, "bus": powercut.ForGood}

// kindOf says what a file is of.
func kindOf(path string) string {
	if strings.Contains(filepath.Base(path), ".db") {
		return "catalogue"
	}
	return "bus"
}

// TestPowerCutExposures is TestKillExposures on such a disk.
func TestPowerCutExposures(t *testing.T) {
	k, r := newKilled(t)
	x := newExposed(k)
	x.how = "power cuts"
	n := kills(5)
	syncs := k.cuts(n, func(round int) {
		x.round(round, time.Duration(200+r.IntN(600))*time.Millisecond)
	}, func(int) {})
	x.end(n)
	t.Logf("%d syncs", syncs)
}

// cuts runs rounds that end in a kill, on a disk that keeps what was synced; each goes
// on from what the one before left, which whole has a look at.
func (k *killed) cuts(rounds int, round, whole func(int)) (syncs int) {
	base := k.data
	for n := range rounds {
		kept := fmt.Sprintf("%s-%d", base, n)
		disk, err := powercut.New(k.data, kept)
		if err != nil {
			k.t.Fatal(err)
		}
		stop := func() {}
		k.start = func(cmd *exec.Cmd) (err error) {
			stop, err = disk.Start(cmd)
			return err
		}
		k.failing.Store(false)
		if k.fail != nil && n > 0 { // the first round tries everything
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
		k.forget(k.data)
		k.data = kept
		whole(n)
	}
	k.start = startChild
	return syncs
}
