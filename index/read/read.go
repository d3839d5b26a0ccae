// Package read reads versions, clusters, decisions and reviews from a catalogue, while
// the writer goes on.
package read

import (
	"database/sql"

	"jianguo/index/resident"
)

// Reader reads a catalogue. It is safe for concurrent use.
type Reader struct {
	db       *sql.DB
	clusters *resident.Clusters
	tables   resident.Tables
}

// New returns a Reader over read-only connections to a catalogue and its resident
// tables.
func New(db *sql.DB, clusters *resident.Clusters, tables resident.Tables) *Reader {
	return &Reader{db, clusters, tables}
}
