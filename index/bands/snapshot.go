package bands

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"jianguo/index/bands/buckets"
)

// PageID names a page: the posting family above the first of its 64 keys, 16 bits
// each. A snapshot holds each page once; a newer page replaces the older one of the
// same id.
type PageID uint32

// The posting families. Their numbers are stored.
const (
	// fingerprints are the postings of band 0, which hold whole fingerprints.
	// Derive makes the other bands from them: a quarter of the bytes to write and
	// to read.
	fingerprints = 1
	// keys are the postings of AddKeys.
	keys = 2
)

// ErrPage says that a page is torn, foreign or of another format version: the
// snapshot has to be rebuilt from the catalogue.
var ErrPage = buckets.ErrPage

// Snapshot calls emit with every page that changed since the last Snapshot
// that succeeded (all of them after New), in the order of their ids, while
// look-ups and the writer go on. The bytes are valid until emit returns.
//
// A page is not of one moment: it holds every posting that stood all through
// the call, and may or may not hold one that was added or removed meanwhile.
// After loading, the caller therefore replays, with Set and Remove, what was changed
// since the watermark noted before Snapshot was called. Both do nothing where
// nothing is to do, so pages may be newer than the watermark, and a snapshot
// interrupted half way harms nothing, as long as only what is already durable
// is added.
func (b *Bands) Snapshot(emit func(id PageID, page []byte) error) error {
	b.snapshot.Lock()
	defer b.snapshot.Unlock()
	changed, changedKeys := b.bands[0].TakeDirty(), b.keys.TakeDirty()
	err := b.emit(fingerprints, b.bands[0], changed, emit)
	if err == nil {
		err = b.emit(keys, b.keys, changedKeys, emit)
	}
	if err != nil {
		b.bands[0].MarkDirty(changed)
		b.keys.MarkDirty(changedKeys)
		return fmt.Errorf("bands: snapshot: %w", err)
	}
	return nil
}

func (b *Bands) emit(family uint8, t *buckets.Table, numbers []int, emit func(PageID, []byte) error) error {
	var page []byte
	for _, n := range numbers {
		id := PageID(family)<<16 | PageID(n*buckets.PageKeys)
		page = t.AppendPage(page[:0], n, family)
		if err := emit(id, page); err != nil {
			return fmt.Errorf("page %x: %w", id, err)
		}
	}
	return nil
}

// MarkChanged makes the next Snapshot write every page.
func (b *Bands) MarkChanged() {
	b.bands[0].MarkAllDirty()
	b.keys.MarkAllDirty()
}

// LoadPage adds the postings of one page to empty Bands, each page once; Derive
// completes them. Several goroutines may load pages at once, and nothing else may
// run meanwhile. The page does not count as changed. An error wraps ErrPage, and
// leaves the postings as they were.
func (b *Bands) LoadPage(id PageID, page []byte) error {
	family := uint8(id >> 16)
	into := b.bands[0]
	switch family {
	case fingerprints:
	case keys:
		into = b.keys
	default:
		return fmt.Errorf("bands: page %x: %w: no such family", id, ErrPage)
	}
	if err := into.LoadPage(page, family, uint16(id)); err != nil {
		return fmt.Errorf("bands: page %x: %w", id, err)
	}
	return nil
}

// Derive makes the other bands from band 0, on all cores, once every page has been
// loaded. Nothing else may run meanwhile.
func (b *Bands) Derive() {
	for _, empty := range b.bands[1:] {
		empty.Close() // the tables share their retired blocks: one at a time
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for band := 1; band < bandCount; band++ {
		g.Go(func() error { b.bands[band] = b.bands[0].Rotated(band); return nil })
	}
	_ = g.Wait() // none fails
}
