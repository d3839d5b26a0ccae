package resident

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"sync"

	"github.com/zeebo/xxh3"
)

// SnapshotFileName is the file inside the data directory that holds what is
// resident, so that a start need not derive it from every row. It can be
// removed: the next start then takes longer, and writes it again.
const SnapshotFileName = "snapshot.db"

// snapshotFormat is the version of the file. Another version is discarded.
//
// The file is all pages, each behind a frame, and then a footer; numbers are little-endian. Tables.parts lists the
// parts; package buckets and page.go describe their pages. It is written as a whole: fingerprints are spread evenly, so
// that twenty thousand articles change all pages of postings.
const snapshotFormat = 2

// frame stands before a page.
type frame struct {
	ID   int64 // part << 32 | number
	Size int64
	Hash uint64 // xxh3 of the page, with the id as its seed
}

// footer is what a snapshot says of itself. Pages hold everything up to Low, and may hold more, up to High.
type footer struct {
	Format, Catalogue int64
	Low, High         Mark
	Pages             int64
	Sum               uint64 // xxh3 of the fields before
}

// Mark is a position in the catalogue: the last ordinal and the number of the last
// event up to there.
type Mark struct{ Ordinal, Event int64 }

// encode returns the bytes of a frame or a footer.
func encode(v any) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, v) // of a fixed size: no error
	return b
}

// check is the sum that the footer should carry.
func (f footer) check() uint64 {
	f.Sum = 0
	return xxh3.Hash(encode(f))
}

// ErrSnapshot says that a snapshot is missing, damaged, or not of this catalogue.
var ErrSnapshot = errors.New("no usable snapshot")

// Snapshot is the file of a data directory that holds Tables. The file holds nothing
// that the catalogue does not.
type Snapshot struct {
	path string
	mu   sync.Mutex // held while the file is read or written
}

func NewSnapshot(dir string) *Snapshot { return &Snapshot{path: filepath.Join(dir, SnapshotFileName)} }

// Exclude calls f while no snapshot is being written.
func (s *Snapshot) Exclude(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
