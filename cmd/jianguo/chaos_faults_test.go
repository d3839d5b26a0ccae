//go:build linux && amd64

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
)

// fault is what happens to a service in a round.
type fault struct {
	name    string
	cut     bool // the round ends in a power cut: what was not synced is gone
	term    bool // it ends with SIGTERM; else with SIGKILL
	forGood bool // the service need not work again before the next start
	mayEnd  bool // the service may end by itself
	io      bool // disk decides about reads and writes, too
	disk    func(c *chaos, op diskOp, path string) diskFault
	early   func(c *chaos) // what happens before the start that the clients see
	during  func(c *chaos) // what happens; nil: time passes
	hits    int            // under chaos.mu; calls that had the fault in this round
}

// embeddedFaults happen to a service with its own bus.
var embeddedFaults = []*fault{
	{name: "kill -9", during: killed9},
	{name: "kill -9 while it starts", early: killedEarly},
	{name: "SIGTERM", term: true},
	{name: "reindex, kill -9", during: reindexed},
	{name: "SIGSTOP", during: stopped},
	{name: "clients are cut off", during: clientsCut},
	{name: "power cut", cut: true, forGood: true},
	{name: "slow fsync", cut: true, disk: onSync("", diskFault{Delay: 150 * time.Millisecond}, 2)},
	{name: "failed fsync of the catalogue, power cut", cut: true, disk: onSync("catalogue", diskFault{Err: syscall.EIO}, 10)},
	{name: "failed fsync of the bus, power cut", cut: true, forGood: true, disk: onSync("bus", diskFault{Err: syscall.EIO, Lost: true}, 10)},
	{name: "EIO writing the catalogue, power cut", cut: true, io: true, disk: onIO(writeOp, "catalogue", syscall.EIO)},
	{name: "EIO reading the catalogue, power cut", cut: true, io: true, disk: onIO(readOp, "catalogue", syscall.EIO)},
	{name: "EIO writing the bus, power cut", cut: true, io: true, disk: onIO(writeOp, "bus", syscall.EIO)},
	{name: "full disk, power cut", cut: true, io: true, disk: fullDisk},
	{name: "read-only disk, power cut", cut: true, io: true, mayEnd: true, disk: readOnlyDisk},
	{name: "clock six days ahead, and back", during: jumps(144 * time.Hour)},
	{name: "clock an hour back, until the end", during: jumps(-time.Hour, -time.Hour)},
	{name: "clock two hours ahead, until the end", during: jumps(2*time.Hour, 2*time.Hour)},
}

// externalFaults happen to a service whose bus is another process.
var externalFaults = []*fault{
	{name: "kill -9", during: killed9},
	{name: "SIGTERM", term: true},
	{name: "SIGSTOP", during: stopped},
	{name: "clients are cut off", during: clientsCut},
	{name: "broker away", during: brokerAway},
	{name: "broker away, kill -9", forGood: true, during: func(c *chaos) {
		c.injected()
		c.broker.stop()
		time.Sleep(100 * time.Millisecond)
		c.kill()
		c.broker.start()
	}},
	{name: "power cut", cut: true, forGood: true},
	{name: "full disk, power cut", cut: true, io: true, disk: fullDisk},
	{name: "clock six days ahead, and back", during: jumps(144 * time.Hour)},
}

func (c *chaos) injected() { c.count(func(n *counts) { n.injected++ }) }

// killed9 waits a moment before the end of the round, which kills the service anyway.
func killed9(c *chaos) {
	c.injected()
	time.Sleep(time.Duration(c.r.IntN(400)) * time.Millisecond)
}

// killedEarly kills the service some times while it starts.
func killedEarly(c *chaos) {
	for range 4 {
		c.injected()
		c.begin()
		time.Sleep(time.Duration(c.r.IntN(400)) * time.Millisecond)
		c.kill()
	}
}

// reindexed asks for another recipe; the end of the round comes before the end of the reindex, or
// after it.
func reindexed(c *chaos) {
	c.words.set(fmt.Sprintf("街道与 %d n\n%s", 100+c.r.IntN(9000), sampleWords))
	seg, err := (segmentFlags{UserDict: c.words.path}).segmenter()
	if err != nil {
		c.t.Error(err)
		return
	}
	conn, err := nats.Connect(c.address.NATS, nats.Token(c.address.Token))
	if err != nil {
		c.t.Error(err)
		return
	}
	defer conn.Close()
	c.injected()
	_, _ = conn.Request(bus.SubjectReindex, []byte(seg.Recipe()), time.Duration(1+c.r.IntN(1500))*time.Millisecond)
}

func stopped(c *chaos) {
	c.injected()
	c.signal(syscall.SIGSTOP)
	time.Sleep(time.Duration(200+c.r.IntN(1500)) * time.Millisecond)
	c.signal(syscall.SIGCONT)
}

func clientsCut(c *chaos) {
	c.cutOff.Store(true)
	time.Sleep(time.Duration(300+c.r.IntN(500)) * time.Millisecond)
	c.cutOff.Store(false)
}

func brokerAway(c *chaos) {
	for range 2 {
		c.injected()
		c.broker.stop()
		time.Sleep(time.Duration(c.r.IntN(700)) * time.Millisecond)
		c.broker.start()
		time.Sleep(time.Duration(c.r.IntN(300)) * time.Millisecond)
	}
}

// jumps sets the clock of the service ahead, or back, for a second each; then to what is
// given last, or to the true time if there is only one.
func jumps(ahead ...time.Duration) func(*chaos) {
	if len(ahead) == 1 {
		ahead = append(ahead, 0)
	}
	return func(c *chaos) {
		clock, err := clockOf(c.cmd.Process.Pid)
		if err != nil {
			c.t.Error(err)
			return
		}
		for _, d := range ahead {
			c.injected()
			if err := clock.Ahead(d); err != nil {
				c.t.Error(err)
			}
			time.Sleep(700 * time.Millisecond)
		}
	}
}

// kindOf classifies a file.
func kindOf(path string) string {
	if strings.Contains(filepath.Base(path), ".db") {
		return "catalogue"
	}
	return "bus"
}

// onSync lets one of so many syncs of a kind of files have a fault.
func onSync(kind string, f diskFault, oneIn int) func(*chaos, diskOp, string) diskFault {
	return func(c *chaos, op diskOp, path string) diskFault {
		if op == syncOp && (kind == "" || kindOf(path) == kind) {
			return c.injects(f, oneIn)
		}
		return diskFault{}
	}
}

// onIO lets one of 30 reads or writes of a kind of files fail.
func onIO(which diskOp, kind string, err syscall.Errno) func(*chaos, diskOp, string) diskFault {
	return func(c *chaos, op diskOp, path string) diskFault {
		if op == which && kindOf(path) == kind {
			return c.injects(diskFault{Err: err}, 30)
		}
		return diskFault{}
	}
}

func fullDisk(c *chaos, op diskOp, _ string) diskFault {
	if op == writeOp || op == createOp {
		return c.injects(diskFault{Err: syscall.ENOSPC}, 1)
	}
	return diskFault{}
}

func readOnlyDisk(c *chaos, op diskOp, _ string) diskFault {
	if op == readOp || op == syncOp {
		return diskFault{}
	}
	return c.injects(diskFault{Err: syscall.EROFS}, 1)
}
