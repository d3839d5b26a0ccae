package sketch

// A text is met in two ways beside its fingerprint, both by postings.
//
// A short one, which SimHash cannot serve, has banded MinHash keys (Indyk &
// Motwani 1998): two texts of resemblance J share one of them with probability
// 1 − (1 − Jʳ)ᵇ, at two rows in twelve bands .97 for .5, .68 for .3 and .11
// for .1.
//
// Any other has passage keys: the lowest hashes of its long shingles. They are
// a sample without replacement of its passages, the same sample wherever the
// passage stands, so that an excerpt or a round-up is met although most of the
// text is other (bottom-k sampling, Broder 1997). A key that many texts have
// is boilerplate: look only at a few of its postings.
const (
	shortTokens   = 200 // most tokens of a text that has Keys
	rows          = 2
	passageTokens = 48 // least tokens of a text that has PassageKeys
	passageK      = 8  // tokens of a passage's shingle
	digestFigures = 4  // least figures that make a digest tell one text from others
)

// Keys are the banded MinHash keys by which a short text is met. Empty for a
// text long enough for its fingerprint to serve, and for a blank one. At most
// 12.
func (s *Sketch) Keys() []uint64 {
	return expand(nil, s.keys[:s.nkeys], 1)
}

// PassageKeys are the keys by which a text is met that has a long passage in
// common with another, or all its figures. At most 7: six of passages, and for
// a text with at least four figures one of its Digest, by which the copy of a
// bulletin is met among its siblings. Empty for texts of under 48 tokens, but
// for the Digest.
func (s *Sketch) PassageKeys() []uint64 {
	keys := expand(nil, s.passages[:s.npassages], 1+bands)
	if s.figures >= digestFigures {
		keys = append(keys, mix(s.Digest))
	}
	return keys
}

// expand spreads stored keys over 64 bits; keys of two bands never meet.
func expand(dst []uint64, stored []uint32, band int) []uint64 {
	step := 1
	if band > bands {
		step = 0
	}
	for i, v := range stored {
		dst = append(dst, mix(uint64(band+i*step)<<32|uint64(v)))
	}
	return dst
}

// keepKeys fills the keys; distinct holds the distinct shingles of the text.
func (s *Sketch) keepKeys(tokens []token, distinct *grams) {
	if len(tokens) <= shortTokens {
		var buf [shortTokens]uint64
		hashes := distinct.appendTo(buf[:0])
		for b := range bands {
			var h uint64
			for r := range rows {
				least, seed := ^uint64(0), mix(uint64(b*rows+r+1))
				for _, x := range hashes {
					least = min(least, mix(x^seed))
				}
				h = mix(h ^ least)
			}
			s.keys[b] = uint32(h >> 32)
		}
		s.nkeys = bands
	}
	if len(tokens) < passageTokens {
		return
	}
	var least [passages]uint64
	n := 0
	sh := newShingler(passageK)
	for i := range tokens {
		h, ok := sh.next(tokens, i)
		if !ok || n == passages && h >= least[n-1] {
			continue
		}
		at := n
		for at > 0 && least[at-1] > h {
			at--
		}
		if at > 0 && least[at-1] == h {
			continue
		}
		if n < passages {
			n++
		}
		copy(least[at+1:n], least[at:n-1])
		least[at] = h
	}
	for i, h := range least[:n] {
		s.passages[i] = uint32(h >> 8) // the top bits are low in all of them
	}
	s.npassages = uint8(n)
}
