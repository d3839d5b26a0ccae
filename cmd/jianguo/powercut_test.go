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
	base, syncs := k.data, 0
	for round := range kills(t, 5) {
		kept := fmt.Sprintf("%s-%d", base, round)
		disk, err := powercut.New(k.data, kept)
		if err != nil {
			t.Fatal(err)
		}
		stop := func() {}
		k.start = func(cmd *exec.Cmd) (err error) {
			stop, err = disk.Start(cmd)
			return err
		}
		k.round(round, time.Duration(r.IntN(600))*time.Millisecond)
		stop()
		syncs += disk.Cut()
		k.forget(k.data)
		k.data = kept
		k.whole(round)
	}
	k.start = (*exec.Cmd).Start
	k.end()
	t.Logf("%d syncs", syncs)
}
