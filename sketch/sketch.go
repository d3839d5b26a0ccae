// Package sketch keeps of a text what is needed to judge it against another:
// resemblance, containment both ways, sizes, and the facts.
package sketch

// Input is what a sketch is made from: segment.Text without its fingerprint.
type Input struct {
	Title, Body string   // normal forms, clauses separated by '\n'
	Names       []string // place, company and person names
}

// Sketch is at most 200 bytes when encoded. The zero Sketch is that of a blank
// text.
type Sketch struct{}

// Make builds the sketch of a text.
func Make(in Input) Sketch { return Sketch{} }

// AppendBinary appends the versioned encoding of s to b (at most 200 bytes).
func (s *Sketch) AppendBinary(b []byte) []byte { return b }

// Decode reads what AppendBinary wrote. Hostile bytes give an error, never a
// panic or a large allocation.
func Decode(b []byte) (Sketch, error) { return Sketch{}, nil }

// Keys are the banded MinHash keys by which a short text is met. Empty for a
// text long enough for its fingerprint to serve, and for a blank one.
func (s *Sketch) Keys() []uint64 { return nil }

// Facts says how the facts of two texts go together.
type Facts struct {
	Numbers, NumbersShared int      // distinct figures of the smaller side, and how many the other has
	Agree, Conflict        []string // for people, at most a few; only from Compare with texts
}

// Comparison is how a query and an earlier text go together.
type Comparison struct {
	Resemblance float32 // Jaccard of shingles, 0…1
	ContainedA  float32 // share of the query's shingles that the earlier text has
	ContainedB  float32 // share of the earlier text's shingles that the query has
	Facts       Facts
	Exact       bool // measured on the texts, not estimated from sketches
}

// Compare estimates from two sketches; q is the later text.
func Compare(q, c *Sketch) Comparison { return Comparison{} }

// CompareTexts measures on the texts themselves.
func CompareTexts(q, c Input) Comparison { return Comparison{Exact: true} }

// Thresholds are the numbers that judgement is made of, all in one place; they
// are part of the policy hash.
type Thresholds struct{}

// DefaultThresholds were chosen by cross-validation, see docs/QUALITY.md.
func DefaultThresholds() Thresholds { return Thresholds{} }

// Kind is what a judgement says of a pair.
type Kind uint8

// The kinds of judgement, from weakest to strongest.
const (
	Unrelated Kind = iota
	Series         // same form, other facts: another member of a series
	Suspect        // agreeing text with a large one-sided rest, or in doubt
	Duplicate      // agreeing text, agreeing facts
)

// Judgement is the kind and a code that names why; package index puts the code
// into words.
type Judgement struct {
	Kind   Kind
	Reason string  // a short code, e.g. "same-text", "one-sided", "other-facts"
	Score  float32 // probability-like, 0…1: how sure the judge is of Duplicate
}

// Judge decides a comparison. s is the margin distance S of the pair, or a
// negative number where there is none.
func Judge(c Comparison, s float32, t Thresholds) Judgement { return Judgement{} }
