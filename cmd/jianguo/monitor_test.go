package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCalmMonitor starts the service with and without settings of Go's runtime of the
// operator's own, and reads from the system what became of the process: the same one,
// with the arguments and the environment it was given, and the setting added unless
// the operator has chosen it. That it begins anew once and not for ever, and that a
// signal still reaches it, shows in that serve finds it and stop ends it.
func TestCalmMonitor(t *testing.T) {
	path := binary(t)
	for name, c := range map[string]struct{ given, want string }{
		"none":    {"", "schedtrace=2147483647"},
		"another": {"gctrace=0", "gctrace=0,schedtrace=2147483647"},
		"its own": {"gctrace=0,schedtrace=0", "gctrace=0,schedtrace=0"},
	} {
		t.Run(name, func(t *testing.T) {
			const kept = "KEPT_BY_THE_SERVICE"
			t.Setenv("GODEBUG", c.given)
			t.Setenv(kept, "a=b c,d\n")
			s := serve(t, path, t.TempDir(), "--exposure-cache", "17")
			defer s.stop()
			s.eventually("ready", func() bool { return s.status("/readyz") == 200 })
			// The test binary calls itself by its base name before anything else.
			if got := s.ofProcess("cmdline"); !slices.Equal(got[1:], s.cmd.Args[1:]) || filepath.Base(got[0]) != filepath.Base(s.cmd.Args[0]) {
				t.Errorf("arguments are %q, were %q", got, s.cmd.Args)
			}
			var godebug, others []string
			for _, v := range s.ofProcess("environ") {
				switch {
				case strings.HasPrefix(v, "GODEBUG="):
					godebug = append(godebug, v)
				case strings.HasPrefix(v, kept+"="):
					others = append(others, v)
				}
			}
			if want := []string{"GODEBUG=" + c.want}; !slices.Equal(godebug, want) {
				t.Errorf("%q in the environment, want %q", godebug, want)
			}
			if want := []string{kept + "=a=b c,d\n"}; !slices.Equal(others, want) {
				t.Errorf("%q in the environment, want %q", others, want)
			}
		})
	}
}

// ofProcess reads a list of strings that the system keeps of the process.
func (s *running) ofProcess(what string) []string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(s.cmd.Process.Pid), what))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}
