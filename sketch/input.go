package sketch

import "time"

// Input is what a sketch is made from: segment.Text without its fingerprint.
type Input struct {
	Title, Body string   // normal forms, clauses separated by '\n'
	Names       []string // place, company and person names
	// Published is the day it was published, in days since 1970; 0 is unknown. Only comparisons of texts use
	// it.
	Published int32
	// Residue are clauses of the text that carry no weight in comparisons of texts.
	Residue *Residue
}

// Day is the day of a time for Input.Published; unknown for the zero time.
func Day(t time.Time) int32 {
	if t.IsZero() {
		return 0
	}
	return int32(t.Unix() / (24 * 60 * 60))
}

// shortBody is the length in bytes (a Han character is three) below which a body says too little alone, and is
// compared with its headline before it.
const shortBody = 180

// headed reports that the headline is compared with the body.
func (in *Input) headed() bool { return len(in.Body) < shortBody && in.Title != in.Body }

// text is what is compared.
func (in *Input) text() string {
	if in.headed() {
		return in.Title + "\n" + in.Body
	}
	return in.Body
}
