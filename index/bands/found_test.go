package bands

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

// Cases that TestOperations found once.

// A split bucket is found by every query within distance 1, whichever bit it
// differs in.
func TestHotBucketIsFoundAtEveryBit(t *testing.T) {
	b := New(Config{Hot: 1})
	defer b.Close()
	var want []Hit
	for ordinal := range uint32(40) {
		b.Add(0, ordinal)
		want = append(want, Hit{0, ordinal})
	}
	for bit := range 64 {
		sameHits(t, "hamming", want, b.Hamming(nil, 1<<bit, 1))
	}
}

// Pages that a failed snapshot has emitted are not stored, however many there were. The
// next snapshot emits them again.
func TestFailedSnapshotStoresNoPage(t *testing.T) {
	const (
		key         = 1 << 16
		fingerprint = 0x3c6ef372fe94f82a
	)
	refused := true
	for allowed := 0; refused; allowed++ {
		pages := map[PageID][]byte{}
		b := New(Config{Hot: 1})
		b.AddKeys([]uint64{key}, 1)
		b.RemoveKeys([]uint64{key}, 1)
		b.Add(fingerprint, 2)
		b = saveAndLoad(t, b, pages)
		b.Remove(fingerprint, 2)
		b.Add(fingerprint, 3)
		b.AddKeys([]uint64{key}, 4)
		emitted := map[PageID][]byte{}
		err := b.Snapshot(func(id PageID, page []byte) error {
			if len(emitted) == allowed {
				return errRefused
			}
			emitted[id] = slices.Clone(page)
			return nil
		})
		if refused = errors.Is(err, errRefused); !refused {
			if err != nil || allowed < 2 {
				t.Fatalf("a snapshot of %d pages: %v", allowed, err)
			}
			maps.Copy(pages, emitted) // all of them are stored
		}
		b = saveAndLoad(t, b, pages)
		if n := b.RemoveKeys([]uint64{key}, 4); n != 1 {
			t.Errorf("after a snapshot that failed at page %d: %d postings of the key", allowed, n)
		}
		if !b.Remove(fingerprint, 3) {
			t.Errorf("after a snapshot that failed at page %d: the fingerprint is gone", allowed)
		}
		b.Close()
	}
}

// saveAndLoad stores a snapshot beside the pages of earlier ones, and loads all pages.
func saveAndLoad(t *testing.T, b *Bands, pages map[PageID][]byte) *Bands {
	t.Helper()
	err := b.Snapshot(func(id PageID, page []byte) error {
		pages[id] = slices.Clone(page)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	loaded := New(Config{Hot: 1})
	for id, page := range pages {
		if err := loaded.LoadPage(id, page); err != nil {
			t.Fatal(err)
		}
	}
	loaded.Derive()
	return loaded
}
