// Package data holds the tables jianguo ships with, and no logic: dictionaries,
// document frequencies, variant tables, page residue, and the sample corpus.
package data

import "embed"

// FS holds the tables and the sample corpus; see README.md beside it for what
// each file is, where it came from and under which licence.
//
//go:embed all:tables all:sample
var FS embed.FS

// The tables of the judge: words that deny a sentence, words of the grammar of quantities, and their units. Package
// compare hashes them into the policy.
var (
	//go:embed tables/denials.txt
	Denials string
	//go:embed tables/numerals.tsv
	Numerals string
	//go:embed tables/units.tsv
	Units string
)
