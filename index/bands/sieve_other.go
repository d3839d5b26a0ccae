//go:build !amd64

package bands

func sift(masks *sieveMasks, hi []uint32, query uint32, tables *sieveTables, bounds sieveBounds) {
	siftGeneric(masks, hi, 0, query, tables, bounds)
}

func match(masks *sieveMasks, hi []uint32, x uint32) { matchGeneric(masks, hi, 0, x) }
