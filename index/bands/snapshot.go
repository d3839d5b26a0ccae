package bands

import (
	"encoding/binary"
	"errors"

	"jianguo/simhash"
)

// PageID names a page: which posting family, which keys. A snapshot holds each
// page once; a newer page replaces the older one of the same id.
type PageID struct {
	Family Family
	First  uint16 // its first 16-bit key
}

// Family is a posting family. Its numbers are stored.
type Family uint8

// The posting families.
const (
	// Fingerprints: the postings of band 0, which hold whole fingerprints.
	// The other bands are made from them at load.
	Fingerprints Family = 1
	// Keys: the postings of AddKeys.
	Keys Family = 2
)

// ErrPage says that a page is torn, foreign or of another format version: the
// snapshot has to be made anew from the catalogue.
var ErrPage = errors.New("bands: not a whole page")

// Snapshot calls emit with every page that changed since the last Snapshot
// that succeeded (all of them after New), in the order of their ids, while look-ups and the
// writer go on. The bytes are emit's only until it returns.
//
// A page is not of one moment: it holds every posting that stood all through
// the call, and may or may not hold one that was added or removed meanwhile.
// Whoever loads it therefore replays, with Set and Remove, what was changed
// since the watermark noted before Snapshot was called; since both do nothing where
// nothing is to do, pages may be newer than the watermark, and a snapshot
// interrupted half way harms nothing.
func (b *Bands) Snapshot(emit func(id PageID, page []byte) error) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var page []byte
	for o, fp := range b.fps {
		page = binary.LittleEndian.AppendUint64(page, uint64(fp))
		page = binary.LittleEndian.AppendUint32(page, o)
	}
	if err := emit(PageID{Fingerprints, 0}, page); err != nil {
		return err
	}
	page = nil
	for k, os := range b.keys {
		for _, o := range os {
			page = binary.LittleEndian.AppendUint64(page, k)
			page = binary.LittleEndian.AppendUint32(page, o)
		}
	}
	return emit(PageID{Keys, 0}, page)
}

// Loader builds Bands from pages, from postings, or from both. Its methods
// may be called by several goroutines at once.
type Loader struct{ b *Bands }

// NewLoader returns an empty Loader.
func NewLoader(c Config) *Loader { return &Loader{New(c)} }

// Page adds the postings of one page. An error wraps ErrPage.
func (l *Loader) Page(id PageID, page []byte) error {
	if len(page)%12 != 0 {
		return ErrPage
	}
	for ; len(page) > 0; page = page[12:] {
		v, o := binary.LittleEndian.Uint64(page), binary.LittleEndian.Uint32(page[8:])
		if id.Family == Keys {
			l.b.AddKeys([]uint64{v}, o)
		} else {
			l.b.Add(simhash.Fingerprint(v), o)
		}
	}
	return nil
}

// Add adds one posting that no page holds.
func (l *Loader) Add(fp simhash.Fingerprint, ordinal uint32) { l.b.Add(fp, ordinal) }

// Bands returns what was loaded. The Loader is used up.
func (l *Loader) Bands() (*Bands, error) { return l.b, nil }
