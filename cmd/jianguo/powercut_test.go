//go:build linux && amd64

package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// TestPowerCut reports what users have seen to a service on a disk that loses all that was not synced, cuts the power,
// and restarts on what the disk has kept. Synced, every answered report is filtered afterwards. Relaxed promises less,
// but the directory must be whole, and new reports must count although the log lost its end.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, durability := range []string{"synced", "relaxed"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			s := newProcess(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--durability", durability,
				"--nats-listen", "127.0.0.1:0", "--exposure-policy", "rotate,slots=60,capacity=64")
			launch, reported := s.launch, 0
			unseen := func(user, items string) string {
				_, answer, err := s.post("/filter", fmt.Appendf(nil, `{"user":%q,"items":[%s]}`, user, items))
				testbed.OK(t, err)
				return string(answer)
			}
			var all []string
			for cut := range 4 {
				kept := filepath.Join(t.TempDir(), fmt.Sprint("kept-", cut))
				disk, err := newDisk(s.data, kept)
				testbed.OK(t, err)
				stop := func() {}
				s.launch = func(cmd *exec.Cmd) (err error) {
					stop, err = disk.Start(cmd)
					return err
				}
				s.start()
				s.ready()
				for range 20 + rand.IntN(150) {
					reported++
					item := fmt.Sprintf(`"item-%d"`, reported)
					s.ask("/exposures", fmt.Sprintf(`{"user":"u","kind":"seen","items":[%s]}`, item), nil)
					all = append(all, item)
				}
				s.kill()
				stop()
				disk.Cut()
				s.data, s.launch = kept, launch
				s.start()
				s.ready()
				answer := unseen("u", strings.Join(all, ","))
				if durability == "synced" && !strings.Contains(answer, `"items":[]`) {
					t.Fatalf("cut %d: answered reports were lost: %s", cut, answer)
				}
				after := fmt.Sprintf(`"after-%d"`, cut)
				s.ask("/exposures", fmt.Sprintf(`{"user":"v","kind":"seen","items":[%s]}`, after), nil)
				if answer := unseen("v", after); !strings.Contains(answer, `"items":[]`) {
					t.Fatalf("a report after the cut does not count: %s", answer)
				}
				s.stop()
			}
		})
	}
}
