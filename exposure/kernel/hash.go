package kernel

import "math/bits"

// hashes are the four base hashes that bloom/v3 derives all locations of a key from
// (MurmurHash3: Appleby, public domain). It is a struct and not an array because the compiler
// keeps the fields of a struct in registers.
type hashes struct{ h0, h1, h2, h3 uint64 }

// baseHashes is MurmurHash3_x64_128, seed 0, of the key's four bytes, and of those four
// and a byte 1. Inputs that short need only the tail step and the finalisation.
func baseHashes(key uint32) (h hashes) {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	p := bits.RotateLeft64(uint64(key)*c1, 31) * c2
	q := bits.RotateLeft64((uint64(key)|1<<32)*c1, 31) * c2
	a, b := fmix((p^4)+4), fmix((p^4)+8)
	c, d := fmix((q^5)+5), fmix((q^5)+10)
	h.h0, h.h1 = a+b, a+2*b
	h.h2, h.h3 = c+d, c+2*d
	return h
}

func fmix(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	k ^= k >> 33
	return k
}

// at is the ith location before it is reduced modulo m, in bloom/v3's order.
func (h hashes) at(i uint64) uint64 {
	base, step := h.h0, h.h2
	if i&1 != 0 {
		base = h.h1
	}
	if (i+i&1)&2 != 0 {
		step = h.h3
	}
	return base + i*step
}

// modulus reduces by a fixed m without a division (Barrett): with inv = ⌊2⁶⁴/m⌋ the
// estimated quotient is at most one too small. The correction has no branch, which would
// be mispredicted one time in four.
type modulus struct{ m, inv uint64 }

func newModulus(m uint64) modulus {
	inv, _ := bits.Div64(1, 0, m)
	return modulus{m, inv}
}

func (d modulus) reduce(x uint64) uint64 {
	q, _ := bits.Mul64(x, d.inv)
	r, borrow := bits.Sub64(x-q*d.m, d.m, 0)
	return r + d.m&-borrow
}
