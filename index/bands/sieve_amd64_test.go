package bands

// sifted are the masks by each kind of instructions that the processor has.
func sifted(hi []uint32, query uint32, tables *sieveTables, bounds sieveBounds) map[string]*sieveMasks {
	defer func(narrow, wide bool) { vectors, wideVectors = narrow, wide }(vectors, wideVectors)
	all := map[string]*sieveMasks{}
	for _, kind := range []struct {
		name string
		wide bool
		have bool
	}{{"AVX-512", true, wideVectors}, {"AVX2", false, vectors}} {
		if kind.have {
			wideVectors = kind.wide
			all[kind.name] = new(sieveMasks)
			sift(all[kind.name], hi, query, tables, bounds)
		}
	}
	return all
}
