package clockjump

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMain prints, as the child of TestAhead, the time for each line that it reads.
func TestMain(m *testing.M) {
	if os.Getenv("JIANGUO_TEST_CLOCK") == "" {
		os.Exit(m.Run())
	}
	start := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(time.Now().Unix(), int64(time.Since(start)/time.Second))
	}
}

// The real-time clock of another process jumps ahead and back; its monotonic one does not.
func TestAhead(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "JIANGUO_TEST_CLOCK=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	var clock *Clock
	for _, ahead := range []time.Duration{0, 144 * time.Hour, -time.Hour, 0} {
		if clock == nil {
			fmt.Fprintln(in)
			lines.Scan() // it runs
			if clock, err = Of(cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
		}
		if err := clock.Ahead(ahead); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(in)
		lines.Scan()
		var now, since int64
		if _, err := fmt.Sscan(lines.Text(), &now, &since); err != nil {
			t.Fatal(err)
		}
		if off := time.Duration(now-time.Now().Unix())*time.Second - ahead; off < -time.Minute || off > time.Minute {
			t.Errorf("%v ahead: the clock is off by %v", ahead, off)
		}
		if since < 0 || since > 600 {
			t.Errorf("%v ahead: the monotonic clock is at %d s", ahead, since)
		}
	}
}
