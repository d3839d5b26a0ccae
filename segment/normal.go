package segment

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// A normalizer writes the normal form of the text that it is fed (feed.go, html.go). It remembers separators,
// and writes the strongest one when a letter or digit follows.
type normalizer struct {
	folds   *folds
	out     []byte
	pending class // the strongest separator since the last letter or digit
	// held is a joiner or comma behind a digit, or - behind % or a power, kept only if a digit follows; a minus,
	// which begins a clause; or a dot behind an ideograph, dropped only if an ideograph follows. 0: none.
	held    rune
	last    class // of the last byte of out
	number  int   // where the number at the end of out begins
	grouped bool  // that number has a comma in it
	signed  bool  // a minus stands before it
	raw     rune  // the character that is fed: a dash is no minus
	// headline: it is one, where _ stands before the name of a site.
	headline bool
	// converted is how many ideographs became others.
	converted int
	// breaks are the separators in out that are stronger than a clause.
	breaks []clauseBreak
	lines  linkLines
	titles []string // what stands between 《 and 》, the first titlesMost
	title  int      // where the open one begins in out; -1: none is open
	// unsettled are the offsets in out of characters that depend on the words around them (see variants).
	unsettled []int32
	origin    []span // where each byte of out comes from, if the text is traced (see Traced)
	base      int    // of the text that is fed, in all of it
}

// A clauseBreak is a '\n' of the normal form that ends a sentence or a paragraph.
type clauseBreak struct {
	at    int
	class class
}

func (n *normalizer) reset() {
	n.out, n.breaks, n.titles, n.title = n.out[:0], n.breaks[:0], n.titles[:0], -1
	n.unsettled, n.converted = n.unsettled[:0], 0
	n.lines = linkLines{}
	n.pending, n.held, n.last, n.number, n.grouped, n.signed = drop, 0, drop, 0, false, false
}

// separate feeds a separator, as a character or the end of an HTML block.
func (n *normalizer) separate(c class) {
	n.unhold()
	n.lines.ended = n.lines.ended || c == paragraph
	n.pending = max(n.pending, c)
}

func (n *normalizer) unhold() {
	if n.held != 0 {
		n.held = 0
		n.pending = max(n.pending, clause)
	}
}

func (n *normalizer) feedRune(r rune) {
	f := n.folds.of(r)
	n.raw = r
	if f.r != r && f.class == ideograph {
		n.converted++
	}
	if f.class == ideograph && n.last == ideograph && n.pending == drop && n.held == 0 { // most runes
		n.out = utf8.AppendRune(n.out, f.r)
		return
	}
	if f.more != "" {
		for _, r := range f.more {
			n.feedFolded(n.folds.of(r))
		}
		return
	}
	n.feedFolded(f)
}

func (n *normalizer) feedFolded(f fold) {
	switch f.class {
	case drop:
	case space, clause, sentence, paragraph, stop:
		if n.raw == '_' && n.headline && n.last == ideograph {
			f.class = clause
		}
		n.markTitle()
		n.separate(f.class)
	case cross:
		if n.last == digit && n.pending == drop {
			f.class = clause // 3×5
		}
		n.separate(f.class)
	case joiner, comma:
		// A dot between ideographs hides a word: a sentence that ends in a dot is followed by a space.
		if n.pending == drop && n.held == 0 &&
			(n.last == digit || f.r == '.' && n.last == ideograph || f.r == '-' && n.measured()) {
			n.held = f.r
			return
		}
		minus := strings.ContainsRune("-−－﹣", n.raw) && (n.last != word || n.pending != drop)
		if n.separate(clause); minus {
			n.held = '-'
		}
	case percent:
		if n.last == digit && n.pending == drop && n.held == 0 {
			n.endNumber(true)
			n.out = utf8.AppendRune(n.out, f.r)
			n.last = word
			return
		}
		n.separate(clause)
	default:
		n.letter(f)
	}
}

// titlesMost bounds how many titles of works are sought in a text: more of them are a catalogue.
const titlesMost = 100

// markTitle begins or ends the title of a work.
func (n *normalizer) markTitle() {
	switch {
	case n.raw == '《':
		n.title = len(n.out)
	case n.raw == '》' && n.title >= 0 && len(n.titles) < titlesMost:
		n.titles = append(n.titles, string(n.out[min(n.title, len(n.out)):]))
		n.title = -1
	}
}

// measures end the first number of a range: 10%-20%, 2.4亿-2.8亿元. Behind any other ideograph - is a mark: 歼-16 is 歼16.
const measures = "%‰百千万亿元"

func (n *normalizer) measured() bool {
	r, _ := utf8.DecodeLastRune(n.out)
	return (n.last == word || n.last == ideograph) && strings.ContainsRune(measures, r)
}

// letter writes a letter or digit, and the separator before it.
func (n *normalizer) letter(f fold) {
	minus := n.held == '-' && n.pending >= clause && f.class == digit
	switch {
	case n.held == 0 || minus:
	case n.held == '.' && n.last == ideograph:
		if f.class >= ideograph {
			n.held = 0
		}
	case f.class == digit:
		if n.held == '\u2044' {
			n.held = '/'
		}
		n.out = append(n.out, byte(n.held))
		n.grouped = n.grouped || n.held == ','
		n.held = 0
	}
	n.unhold()
	if n.last == digit && (f.class != digit || n.pending != drop) {
		n.endNumber(false)
	}
	if n.lines.ended {
		n.lines.end(len(n.out))
	}
	switch {
	case len(n.out) == 0 || n.pending == drop:
	case n.pending == space:
		if n.last != ideograph && f.class < ideograph {
			n.out = append(n.out, ' ')
			n.last = space
		}
	default:
		if n.pending > clause {
			n.breaks = append(n.breaks, clauseBreak{len(n.out), n.pending})
		}
		n.out = append(n.out, '\n')
		n.last = space
	}
	n.pending = drop
	if minus {
		n.out, n.signed, n.last = append(n.out, '-'), true, word
	}
	if f.class == unsettled {
		n.unsettled = append(n.unsettled, int32(len(n.out)))
		f.class = ideograph
	}
	if f.class == digit && n.last != digit {
		n.number = len(n.out)
	}
	n.out = utf8.AppendRune(n.out, f.r)
	n.last = f.class
}

// endNumber settles the minus and the commas of the number at the end of out: that of -2.11 and -5% belongs to it,
// but - before 3, or before 1,2,3, may be the mark of a list; 1,600,000 is one number, and 1,2,3 are three.
func (n *normalizer) endNumber(percent bool) {
	number := n.out[n.number:]
	if n.signed && (!percent && bytes.Count(number, []byte(".")) != 1 || n.grouped && !thousands(number)) {
		n.number--
		n.out = slices.Delete(n.out, n.number, n.number+1)
		if n.number < len(n.origin) {
			n.origin = slices.Delete(n.origin, n.number, n.number+1)
		}
	}
	n.signed = false
	if !n.grouped {
		return
	}
	n.grouped = false
	s := n.out[n.number:]
	if !thousands(s) {
		for i, b := range s {
			if b == ',' {
				s[i] = '\n'
			}
		}
		return
	}
	if n.origin != nil {
		i := -1
		kept := slices.DeleteFunc(n.origin[n.number:], func(span) bool { i++; return s[i] == ',' })
		n.origin = n.origin[:n.number+len(kept)]
	}
	digits := slices.DeleteFunc(s, func(b byte) bool { return b == ',' })
	n.out = n.out[:n.number+len(digits)]
}

// thousands reports whether s is digits grouped by three, with or without a fraction.
func thousands(s []byte) bool {
	group, groups := 0, 0
	for i, b := range s {
		switch {
		case b == ',':
			if group == 0 || group > 3 || groups > 0 && group != 3 {
				return false
			}
			group = 0
			groups++
		case b == '.':
			notDigit := func(b byte) bool { return b < '0' || b > '9' }
			return group == 3 && groups > 0 && !slices.ContainsFunc(s[i+1:], notDigit)
		case b < '0' || b > '9':
			return false
		default:
			group++
		}
	}
	return group == 3
}

// finish settles what is open, and returns the normal form.
func (n *normalizer) finish() []byte {
	if n.last == digit {
		n.endNumber(false)
	}
	n.lines.end(len(n.out))
	if n.pending > clause {
		n.breaks = append(n.breaks, clauseBreak{len(n.out), n.pending})
	}
	n.folds.variants.settle(n.out, n.unsettled)
	return n.out
}

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
