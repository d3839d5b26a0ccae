package sketch

import "slices"

// compareFacts compares figures as sets, and figures at the same place.
func (w *workspace) compareFacts(r *Comparison) {
	r.Facts.Numbers = min(len(w.q.numbers), len(w.c.numbers))
	for _, v := range w.q.numbers {
		if _, ok := slices.BinarySearch(w.c.numbers, v); ok {
			r.Facts.NumbersShared++
		}
	}
	r.Facts.OnlyA = len(w.q.numbers) - r.Facts.NumbersShared
	r.Facts.OnlyB = len(w.c.numbers) - r.Facts.NumbersShared
	r.Facts.LeadA, r.Facts.LeadB = w.lead(w.q.facts, w.c.numbers), w.lead(w.c.facts, w.q.numbers)
	fq, fc := w.q.placed, w.c.placed
	for len(fq) > 0 && len(fc) > 0 {
		a, b := samePlace(fq), samePlace(fc)
		switch p, o := fq[0].place, fc[0].place; {
		case p < o:
			fq = fq[a:]
		case p > o:
			fc = fc[b:]
		default:
			compareSlot(&r.Facts, fq[:a], fc[:b])
			fq, fc = fq[a:], fc[b:]
		}
	}
}

// leadTokens is the length of the lead of a text.
const leadTokens = 100

// lead counts the distinct figures of a lead that the other text has nowhere; facts are in the order of the text.
func (w *workspace) lead(facts []fact, others []uint64) int {
	w.lacking = w.lacking[:0]
	for _, f := range facts {
		if f.token >= leadTokens {
			break
		}
		if _, ok := slices.BinarySearch(others, f.value); !ok && !slices.Contains(w.lacking, f.value) {
			w.lacking = append(w.lacking, f.value)
		}
	}
	return len(w.lacking)
}

// samePlace is the number of facts at the place of the first one.
func samePlace(facts []fact) int {
	n := 1
	for n < len(facts) && facts[n].place == facts[0].place {
		n++
	}
	return n
}

// slotMost bounds the figures at one place that are compared: more of them are a table.
const slotMost = 16

// compareSlot compares the figures of two texts at one place: the place is the same if any two are equal.
func compareSlot(f *Facts, a, b []fact) {
	a, b = a[:min(len(a), slotMost)], b[:min(len(b), slotMost)]
	for _, x := range a {
		for _, y := range b {
			if x.value == y.value {
				f.SameSlot++
				return
			}
		}
	}
	f.OtherSlot++
}
