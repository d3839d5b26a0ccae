// Package read reads what people ask of a catalogue, beside the writer: versions,
// clusters, decisions and reviews.
package read

import (
	"database/sql"

	"jianguo/index/resident"
)

// Reader reads a catalogue. It is safe for concurrent use.
type Reader struct {
	db       *sql.DB
	language string
	clusters *resident.Clusters
	tables   resident.Tables
}

// New returns a Reader over read-only connections to a catalogue, and what is
// resident of it. Language is that of Member.Why.
func New(db *sql.DB, language string, clusters *resident.Clusters, tables resident.Tables) *Reader {
	return &Reader{db, language, clusters, tables}
}
