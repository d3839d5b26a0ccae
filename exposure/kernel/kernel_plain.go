//go:build !amd64 || purego

package kernel

// haveAVX2 is for tests.
var haveAVX2 bool

func hashVector([]uint32, *work) {}

func (g *group) testVector(int, *work) (n int, ok bool) { return 0, false }
