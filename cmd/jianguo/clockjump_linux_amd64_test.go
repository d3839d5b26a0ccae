package main

import (
	"bytes"
	"debug/elf"
	encoding "encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jianguo/internal/testbed"
)

// TestClockSetBack: reports that came before the clock was set back reach the file as soon as others.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s := serveReady(t, binary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0", "--exposure-flush", "2s")
	clock, err := clockOf(s.cmd.Process.Pid)
	testbed.OK(t, err)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["a"]}`, nil)
	testbed.OK(t, clock.Ahead(-24*time.Hour))
	s.eventually("flushed", func() bool { return s.metrics()["jianguo_exposure_unflushed_keys"] == 0 })
}

// processClock is the real-time clock of a running process, whose clock_gettime in the vDSO is patched: that is a copy
// of its own. The monotonic clock goes on. A preloaded library would not do: the Go runtime calls the vDSO, not libc.
type processClock struct {
	pid    int
	offset int64 // where the patch reads how many seconds the clock is ahead
}

// clockOf takes over the clock of a process. It stops the process for a moment.
func clockOf(pid int) (*processClock, error) {
	from, to, err := vdso(pid)
	if err != nil {
		return nil, err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	image := make([]byte, to-from)
	if _, err := mem.ReadAt(image, from); err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("vDSO: %w", err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("vDSO: %w", err)
	}
	var entry int64
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			entry = int64(s.Value)
		}
	}
	code := []byte{
		0xb8, 228, 0, 0, 0, //                     mov eax, clock_gettime
		0x0f, 0x05, //                             syscall
		0x85, 0xff, //                             test edi, edi
		0x75, 10, //                               jne +10: not the real-time clock
		0x48, 0x8b, 0x0d, 4, 0, 0, 0, //           mov rcx, [rip+4]
		0x48, 0x01, 0x0e, //                       add [rsi], rcx
		0xc3,                   //                 ret
		0, 0, 0, 0, 0, 0, 0, 0, //                 the offset
	}
	place := int64(len(image) - 64)
	if entry == 0 || len(bytes.Trim(image[place:], "\x00")) > 0 {
		return nil, errors.New("this vDSO has no clock_gettime, or no space for a patch")
	}
	jump := encoding.LittleEndian.AppendUint32([]byte{0xe9}, uint32(place-entry-5))
	resume, err := stopOutside(pid, from, to)
	if err != nil {
		return nil, err
	}
	defer resume()
	if _, err := mem.WriteAt(code, from+place); err != nil {
		return nil, err
	}
	if _, err := mem.WriteAt(jump, from+entry); err != nil {
		return nil, err
	}
	return &processClock{pid: pid, offset: from + place + int64(len(code)) - 8}, nil
}

// Ahead sets the clock so far ahead of the true time, in whole seconds. A negative time
// sets it back.
func (c *processClock) Ahead(d time.Duration) error {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	_, err = mem.WriteAt(encoding.LittleEndian.AppendUint64(nil, uint64(int64(d/time.Second))), c.offset)
	return err
}

// vdso returns where the vDSO of a process is.
func vdso(pid int) (from, to int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err = fmt.Sscanf(line, "%x-%x", &from, &to)
			return from, to, err
		}
	}
	return 0, 0, errors.New("the process has no vDSO")
}

// stopOutside stops a process at a moment when none of its threads is in a range of
// addresses.
func stopOutside(pid int, from, to int64) (resume func(), err error) {
	resume = func() { _ = unix.Kill(pid, unix.SIGCONT) }
	for range 1000 {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			return nil, err
		}
		for range 1000 {
			if inside, known := runs(pid, from, to); known && !inside {
				return resume, nil
			} else if known {
				break
			}
			time.Sleep(time.Millisecond)
		}
		resume()
		time.Sleep(time.Millisecond)
	}
	return nil, errors.New("the process does not stop")
}

// runs reports whether a thread of a stopped process is in a range of addresses; it is not
// known while one still runs.
func runs(pid int, from, to int64) (inside, known bool) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return false, false
	}
	for _, task := range tasks {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/syscall", pid, task.Name()))
		if err != nil {
			return false, false
		}
		fields := strings.Fields(string(line))
		if len(fields) < 2 {
			return false, false // running
		}
		pc, err := strconv.ParseInt(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if err != nil {
			return false, false
		}
		inside = inside || from <= pc && pc < to
	}
	return inside, true
}
