package bands

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"jianguo/index/bands/buckets"
	"jianguo/simhash"
)

// PageID names a page: which posting family, which keys. A snapshot holds each
// page once; a newer page replaces the older one of the same id.
type PageID struct {
	Family Family
	First  uint16 // its first 16-bit key; a page covers 64 of them
}

func (id PageID) String() string { return fmt.Sprintf("page %d/%d", id.Family, id.First) }

// Family is a posting family. Its numbers are stored.
type Family uint8

// The posting families.
const (
	// Fingerprints are the postings of band 0, which hold whole fingerprints.
	// The other bands are made from them at load: a quarter of the bytes to
	// write and to read.
	Fingerprints Family = 1
	// Keys are the postings of AddKeys.
	Keys Family = 2
)

// ErrPage says that a page is torn, foreign or of another format version: the
// snapshot has to be made anew from the catalogue.
var ErrPage = buckets.ErrPage

// Snapshot calls emit with every page that changed since the last Snapshot
// that succeeded (all of them after New), in the order of their ids, while
// look-ups and the writer go on. The bytes are emit's only until it returns.
//
// A page is not of one moment: it holds every posting that stood all through
// the call, and may or may not hold one that was added or removed meanwhile.
// Whoever loads it therefore replays, with Set and Remove, what was changed
// since the watermark noted before Snapshot was called. Both do nothing where
// nothing is to do, so pages may be newer than the watermark, and a snapshot
// interrupted half way harms nothing, as long as only what is already durable
// is added.
//
// After Load no page counts as changed.
func (b *Bands) Snapshot(emit func(id PageID, page []byte) error) error {
	b.snapshot.Lock()
	defer b.snapshot.Unlock()
	fingerprints, keys := b.bands[0].TakeDirty(), b.keys.TakeDirty()
	err := b.emit(Fingerprints, b.bands[0], fingerprints, emit)
	if err == nil {
		err = b.emit(Keys, b.keys, keys, emit)
	}
	if err != nil {
		b.bands[0].MarkDirty(fingerprints)
		b.keys.MarkDirty(keys)
		return fmt.Errorf("bands: snapshot: %w", err)
	}
	return nil
}

func (b *Bands) emit(f Family, t *buckets.Table, numbers []int, emit func(PageID, []byte) error) error {
	var page []byte
	for _, n := range numbers {
		id := PageID{f, uint16(n * buckets.PageKeys)}
		page = t.AppendPage(page[:0], n, uint8(f))
		if err := emit(id, page); err != nil {
			return fmt.Errorf("%v: %w", id, err)
		}
	}
	return nil
}

// Forget makes the next Snapshot write every page: for a caller whose last one
// was lost after all.
func (b *Bands) Forget() {
	b.bands[0].MarkAllDirty()
	b.keys.MarkAllDirty()
}

// Loader builds Bands from pages, from postings, or from both. Its methods
// may be called by several goroutines at once, where they do not say otherwise.
type Loader struct {
	config Config
	bands  *Bands // what pages made of band 0 and of the keys
	// Of Add and AddKeys.
	fingerprints, keys buckets.Batches
}

// NewLoader returns an empty Loader.
func NewLoader(c Config) *Loader { return &Loader{config: c, bands: New(c)} }

// Page adds the postings of one page: each page once, before anything is added
// otherwise. An error wraps ErrPage, and leaves the Loader as it was.
func (l *Loader) Page(id PageID, page []byte) error {
	into := l.bands.bands[0]
	switch id.Family {
	case Fingerprints:
	case Keys:
		into = l.bands.keys
	default:
		return fmt.Errorf("bands: %v: %w: no such family", id, ErrPage)
	}
	if err := into.LoadPage(page, uint8(id.Family), id.First); err != nil {
		return fmt.Errorf("bands: %v: %w", id, err)
	}
	return nil
}

// Add adds a fingerprint that no page holds.
func (l *Loader) Add(fp simhash.Fingerprint, ordinal uint32) {
	checkOrdinal(ordinal)
	l.fingerprints.With(func(b *buckets.Batch) { b.Append(uint64(fp), ordinal) })
}

// AddKeys adds keys that no page holds. They must differ from each other.
func (l *Loader) AddKeys(keys []uint64, ordinal uint32) {
	checkOrdinal(ordinal)
	l.keys.With(func(b *buckets.Batch) {
		for _, k := range keys {
			b.Append(k, ordinal)
		}
	})
}

// Close gives back the memory of a Loader that nothing was made of.
func (l *Loader) Close() {
	l.bands.Close()
	l.fingerprints.Release()
	l.keys.Release()
}

// Derive returns work that can be done once every page of Fingerprints has been
// read, and before Bands is called, where nothing is added otherwise: a function
// for each of the other bands, to be called once, by whom there is.
func (l *Loader) Derive() []func() {
	var work []func()
	for band := 1; band < bandCount; band++ {
		work = append(work, func() { l.derive(band) })
	}
	return work
}

func (l *Loader) derive(band int) {
	from := l.bands.bands[0]
	l.bands.bands[band] = from.Rotated(l.bands.config(l.config), band*bandBits)
}

// Bands builds what is not there yet, on all cores. The Loader is used up;
// while it builds, it needs 12 bytes for each posting that was added by Add and
// AddKeys beside what Bands take.
func (l *Loader) Bands() *Bands {
	b := l.bands
	c := b.config(l.config)
	var build errgroup.Group
	build.SetLimit(runtime.GOMAXPROCS(0))
	work := func(f func()) {
		build.Go(func() error { f(); return nil })
	}
	paged := b.Len() > 0
	if paged {
		l.fingerprints.AppendTo(b.bands[0])
	}
	for band, t := range b.bands {
		switch {
		case !paged:
			work(func() { b.bands[band] = l.fingerprints.Build(c, band*bandBits) })
		case t.Len() < b.Len():
			work(func() { l.derive(band) })
		}
	}
	if b.keys.Len() > 0 {
		work(func() { l.keys.AppendTo(b.keys) })
	} else {
		work(func() { b.keys = l.keys.Build(narrow(c), 0) })
	}
	_ = build.Wait() // none of them can fail
	l.fingerprints.Release()
	l.keys.Release()
	return b
}
