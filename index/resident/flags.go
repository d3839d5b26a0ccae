package resident

import "jianguo/index/verdict"

// Flags are the state of a version. The low three bits are its verdict, the
// others are below. All but Swept are stored in the catalogue.
type Flags uint32

// The flags.
const (
	verdictBits Flags = 7

	Exemplar   Flags = 1 << 3 // it has postings: new items are compared with it
	Blocked    Flags = 1 << 4 // copies of it are rejected with rule `blocked`
	Superseded Flags = 1 << 5 // a later version of the same id exists
	Blank      Flags = 1 << 6 // it has neither fingerprint nor exact hash
	Swept      Flags = 1 << 7 // an exemplar whose postings were removed by the sweep

	// A snapshot has no bits for these: a start reads them from the catalogue.
	Exempt Flags = 1 << 8 // an editor said that its copies are no copies
	Aside  Flags = 1 << 9 // it has met too many suspects: there are no more of it
)

// Verdict is the verdict.
func (f Flags) Verdict() verdict.Verdict { return verdict.Verdict(f & verdictBits) }

// With replaces the verdict.
func (f Flags) With(v verdict.Verdict) Flags { return f&^verdictBits | Flags(v) }

// Arrival is the state of a version that has just been judged.
func Arrival(v verdict.Verdict, blank bool) Flags {
	f := Flags(v)
	if blank {
		f |= Blank
	}
	if v.Accepted() && !blank {
		f |= Exemplar
	}
	return f
}
