//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"jianguo/internal/testbed"
)

// ownMountsEnv marks a test process with mounts of its own.
const ownMountsEnv = "JIANGUO_TEST_OWN_MOUNTS"

// withOwnMounts runs a test again in a process with mounts of its own, where smallDisk
// can mount. It needs no root where the system lets users have namespaces.
func withOwnMounts(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv(ownMountsEnv) != "" {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Fatalf("private mounts: %v", err)
		}
		f(t)
		return
	}
	self, err := os.Executable()
	testbed.OK(t, err)
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v", fmt.Sprint("-test.short=", testing.Short()))
	cmd.Env = append(os.Environ(), ownMountsEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err = testbed.Start(cmd); err == nil {
		err = cmd.Wait()
	}
	out := said.Bytes()
	if err != nil || bytes.Contains(out, []byte("--- SKIP")) || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("in a process with mounts of its own: %v\n%s", err, out)
	}
}

// smallDisk returns a directory on a file system of 64 MB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill takes all the space of a disk except the given number of bytes, until release is
// called.
func fill(t *testing.T, disk string, leave int64) (release func()) {
	t.Helper()
	name := filepath.Join(disk, "filler")
	f, err := os.Create(name)
	testbed.OK(t, err)
	for _, size := range []int{1 << 20, 4096} {
		for block := make([]byte, size); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		err = nil
	}
	size, err := f.Seek(0, io.SeekCurrent)
	testbed.OK(t, errors.Join(err, f.Truncate(size-leave), f.Close()))
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}
