package segment

// An origin records, for each byte of a normal form, which bytes of the original it comes from.
type origin struct{ spans []span }

// upTo records that what was appended to out since the last call comes from the original's bytes in from.
func (o *origin) upTo(out []byte, from span) {
	for len(o.spans) < len(out) {
		o.spans = append(o.spans, from)
	}
}

// ungroup drops the commas of a grouped number that begins at start and ends the normal form.
func (o *origin) ungroup(start int, number []byte) {
	kept := o.spans[:start]
	for i, b := range number {
		if b != ',' {
			kept = append(kept, o.spans[start+i])
		}
	}
	o.spans = kept
}
