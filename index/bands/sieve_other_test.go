//go:build !amd64

package bands

func sifted([]uint32, uint32, *sieveTables, sieveBounds) map[string]*sieveMasks { return nil }
