// Package testbed is what the tests of several packages share: counts by tier, temporary directories in memory, and
// the processes that tests start. Only tests import it.
//
// There are three tiers: short (`go test -short`), normal, and long (JIANGUO_TIER=long, `make test-long`). A tier
// changes how often a test tries something; it never changes what is tested.
package testbed

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Env names the environment variable that selects the long tier.
const Env = "JIANGUO_TIER"

// Count returns the count of the tier in force. The flag -short wins over the
// environment.
func Count(short, normal, long int) int {
	switch {
	case testing.Short():
		return short
	case Long():
		return long
	}
	return normal
}

// Long reports whether the long tier is in force. It panics on an unknown tier,
// so that a typing error does not silently run the normal one.
func Long() bool {
	switch name := os.Getenv(Env); name {
	case "", "normal":
		return false
	case "long":
		return !testing.Short()
	default:
		panic(fmt.Sprintf("%s=%s: the tiers are normal and long", Env, name))
	}
}

// CountOr is Count, unless the environment variable states the count itself.
func CountOr(variable string, short, normal, long int) int {
	s := os.Getenv(variable)
	if s == "" {
		return Count(short, normal, long)
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("%s=%s: want a positive number", variable, s))
	}
	return n
}

// Race reports whether the race detector is on.
var Race = func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()

// OK ends a test at an error.
func OK(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Sequential returns the cases of a test in which nothing runs at the same time. The race
// detector can find nothing there and makes each case many times slower, so in the short tier
// under it only a sixth of them is tried.
func Sequential[T any](cases []T) []T {
	if !Race || !testing.Short() {
		return cases
	}
	var some []T
	for i := 0; i < len(cases); i += 6 {
		some = append(some, cases[i])
	}
	return some
}

// Check is rapid.Check for a property that is expensive to check, and in which nothing runs at the
// same time: the short tier draws a third of the cases, and under the race detector a sixth.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if testing.Short() {
		part := 3
		if Race {
			part = 6
		}
		checks := flag.Lookup("rapid.checks").Value
		was := checks.String()
		n, err := strconv.Atoi(was)
		if err == nil {
			err = checks.Set(strconv.Itoa(n / part))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Set(was) }()
	}
	rapid.Check(t, property)
}
