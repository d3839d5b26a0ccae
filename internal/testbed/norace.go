//go:build !race

package testbed

// Race reports whether the race detector is on.
const Race = false
