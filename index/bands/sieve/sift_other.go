//go:build !amd64 || purego

package sieve

func sift(masks *Masks, hi []uint32, query uint32, tables *Tables, bounds Bounds) {
	plain(masks, hi, 0, query, tables, bounds)
}
