//go:build !amd64

package exposure

func haveVectors() bool { return false }

func newReciprocal(uint64) (inv float64, ok bool) { return 0, false }

func (w *work) hashVector([]uint32) {}

func (g *group) testVector([]uint32, *work) int { return 0 }

func interleaveVector([]uint32, []uint64, uint8, int) int { return 0 }
