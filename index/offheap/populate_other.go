//go:build !linux

package offheap

const populate = 0

func adviseHuge([]byte) {}
