package segment

import (
	"slices"
	"unsafe"
)

// A span is a stretch of text, in bytes. Lists of spans are in order and do not overlap.
type span struct{ start, end int }

// merge adds s, which ends behind all spans or overlaps the last ones.
func merge(spans []span, s span) []span {
	for len(spans) > 0 && spans[len(spans)-1].end >= s.start {
		last := spans[len(spans)-1]
		s = span{min(s.start, last.start), max(s.end, last.end)}
		spans = spans[:len(spans)-1]
	}
	return append(spans, s)
}

// insert adds s wherever it belongs.
func insert(spans []span, s span) []span {
	i := len(spans)
	for i > 0 && spans[i-1].start > s.start {
		i--
	}
	after := slices.Clone(spans[i:])
	spans = merge(spans[:i], s)
	for _, s := range after {
		spans = merge(spans, s)
	}
	return spans
}

// outside returns how many of the bytes before and after an offset lie outside the spans.
func outside(spans []span, offset, length int) (before, after int) {
	before, after = offset, length-offset
	for _, s := range spans {
		before -= max(0, min(s.end, offset)-s.start)
		after -= max(0, s.end-max(s.start, offset))
	}
	return before, after
}

// separator reports whether a byte of a normal form separates words or clauses.
func separator(b byte) bool { return b == '\n' || b == ' ' }

// view is b as a string, without a copy: valid as long as b does not change.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
