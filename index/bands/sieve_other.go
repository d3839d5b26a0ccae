//go:build !amd64

package bands

func sift(masks *sieveMasks, hi []uint32, query uint32, nibbles *[4][16]uint8, units uint8) {
	siftGeneric(masks, hi, 0, query, nibbles, units)
}
