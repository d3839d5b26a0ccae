//go:build linux && amd64

package main

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"jianguo/powercut"
)

// TestPowerCut is TestKill on a disk that forgets whatever was not synced:
// catalogue, snapshot and the files of the bus together. Acknowledged items have
// their verdicts all the same, and events stay as they were seen.
func TestPowerCut(t *testing.T) {
	k, r := newKilled(t)
	syncs := k.cuts(kills(t, 5), func(round int) {
		k.round(round, time.Duration(r.IntN(600))*time.Millisecond)
	}, k.whole)
	k.end()
	t.Logf("%d syncs", syncs)
}

// TestPowerCutExposures is TestKillExposures on such a disk.
func TestPowerCutExposures(t *testing.T) {
	k, r := newKilled(t)
	x := newExposed(k)
	x.how = "power cuts"
	n := kills(t, 5)
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
