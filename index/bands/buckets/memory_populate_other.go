//go:build unix && !linux && !race

package buckets

const populate = 0
