//go:build !amd64

package exposure

type reciprocal struct{}

func newReciprocal(uint32) (r reciprocal) { return r }

func (w *work) hashVector([]uint32) {}

func (g *group) testVector([]uint32, *work) (n int, ok bool) { return 0, false }

func interleaveVector([]uint32, []uint64, uint8, int) int { return 0 }
