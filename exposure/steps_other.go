//go:build !amd64

package exposure

func (m *message) hashVector(int, uint64) int { return 0 }

func (t *exactTable) sortOutVector([]uint32, *[batch]byte, []byte, *[batch / 64]uint64) (n, shards int) {
	return 0, 0
}

func (m *message) scanVector(i int) int { return i }

func listVector([]byte, []uint32) (n, count int) { return 0, 0 }

func (m *message) listSharedVector(_, _ []uint32) (n, count int) { return 0, 0 }

func (m *message) appendTokens(dst []byte, _ []uint32) ([]byte, int) { return dst, 0 }
