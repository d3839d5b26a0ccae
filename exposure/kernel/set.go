package kernel

// Set is an open-addressing set of keys. Keys are hashes, so their low bits are the
// address. Their high bits address a bitmap in which at most one bit in 32 is set: it sends
// most keys that are not in the set away without a look at the cells.
type Set struct {
	cells []uint32 // 0 is an empty cell
	mask  uint32
	bits  []uint64
	shift uint8
}

// Reset empties the set and makes room for n keys.
func (s *Set) Reset(n int) {
	size, shift := 16, uint8(32-9)
	for size < 2*n {
		size *= 2
	}
	for 1<<(32-shift) < 32*n {
		shift--
	}
	s.mask, s.shift = uint32(size-1), shift
	s.cells, s.bits = make([]uint32, size), make([]uint64, 1<<(32-shift)/64)
}

// Add adds a key, which is not 0. A set holds no more keys than Reset made room for.
func (s *Set) Add(key uint32) {
	bit := key >> s.shift
	s.bits[bit>>6] |= 1 << (bit & 63)
	i := key & s.mask
	for s.cells[i] != 0 && s.cells[i] != key {
		i = (i + 1) & s.mask
	}
	s.cells[i] = key
}

// mayHave is false for most keys that are not in the set.
func (s *Set) mayHave(key uint32) bool {
	bit := key >> s.shift
	return s.bits[bit>>6]>>(bit&63)&1 != 0
}

// Has says whether the set holds a key.
func (s *Set) Has(key uint32) bool {
	for i := key & s.mask; ; i = (i + 1) & s.mask {
		switch s.cells[i&uint32(len(s.cells)-1)] {
		case key:
			return true
		case 0:
			return false
		}
	}
}

// Bytes is the memory of the set.
func (s *Set) Bytes() int { return 4*len(s.cells) + 8*len(s.bits) }
