// Package data holds the tables jianguo ships with, and no logic: dictionaries,
// document frequencies, variant tables, page residue, and the sample corpus.
package data

import "embed"

// FS holds the tables and the sample corpus; see README.md beside it for what
// each file is, where it came from and under which licence.
//
//go:embed all:tables all:sample
var FS embed.FS
