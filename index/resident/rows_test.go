package resident

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/zeebo/xxh3"

	"jianguo/compare"
	"jianguo/index/bands/buckets"
	"jianguo/internal/testbed"
)

// outlineOf returns an outline that identifies its ordinal and is not blank.
func outlineOf(ordinal uint32) (o compare.Outline) {
	o.Shingles = ordinal%1000 + 1
	for i := 0; i < len(o.Minima); i += 4 {
		binary.LittleEndian.PutUint32(o.Minima[i:], ordinal+uint32(i))
	}
	return o
}

// TestFlagsBesideOutlines: the writer and the reader of outlines after a start do not
// overwrite each other's changes. Other readers see a complete outline or none.
func TestFlagsBesideOutlines(t *testing.T) {
	const items = 20_000
	v := new(Rows)
	for ordinal := uint32(1); ordinal <= items; ordinal++ {
		v.Set(ordinal, Exemplar, ordinal, ordinal)
	}
	wrote, outlined, read := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(wrote)
		for ordinal := uint32(1); ordinal <= items; ordinal++ {
			v.SetFlags(ordinal, Swept|Blocked)
			v.SetFlags(ordinal, Flags(ordinal%256))
			v.SetCluster(ordinal, ordinal-1)
			v.Touch(ordinal, ordinal+1)
		}
	}()
	go func() {
		defer close(outlined)
		for ordinal := uint32(1); ordinal <= items; ordinal++ {
			o := outlineOf(ordinal)
			v.SetOutline(ordinal, &o)
		}
	}()
	go func() {
		defer close(read)
		for ordinal := uint32(1); ordinal <= items; ordinal++ {
			if o, ok := v.Outline(ordinal); ok && o != outlineOf(ordinal) {
				t.Errorf("the outline of ordinal %d was met as %v", ordinal, o)
				return
			}
			if f := v.Flags(ordinal); f != Exemplar && f != Swept|Blocked && f != Flags(ordinal%256) {
				t.Errorf("the flags of ordinal %d were met as %x", ordinal, f)
				return
			}
		}
	}()
	<-wrote
	<-outlined
	<-read
	for ordinal := uint32(1); ordinal <= items; ordinal++ {
		if v.Flags(ordinal) != Flags(ordinal%256) || outlineAt(v, ordinal) != outlineOf(ordinal) ||
			v.Cluster(ordinal) != ordinal-1 || v.Arrived(ordinal) != ordinal || v.Touched(ordinal) != ordinal+1 {
			t.Fatalf("ordinal %d: flags %x, outline %v, cluster %d, arrived %d, touched %d", ordinal,
				v.Flags(ordinal), outlineAt(v, ordinal), v.Cluster(ordinal), v.Arrived(ordinal), v.Touched(ordinal))
		}
	}
}

// filled returns versions with a third chunk that has values of all kinds.
func filled() *Rows {
	v := new(Rows)
	r := rand.New(rand.NewPCG(11, 12))
	at := uint32(1_700_000_000)
	for i := range uint32(chunkRows) {
		ordinal := 2*chunkRows + i
		at += r.Uint32N(3)
		arrived := at - r.Uint32N(2)*r.Uint32N(100) // clocks go back
		cluster := ordinal
		switch r.Uint32N(8) {
		case 0:
			cluster = r.Uint32N(ordinal)
		case 1:
			cluster = ordinal + 1 + r.Uint32N(1000)
		}
		v.Set(ordinal, Flags(r.Uint32N(256)), cluster, arrived)
		if r.Uint32N(4) == 0 {
			v.Touch(ordinal, arrived+r.Uint32N(1<<20))
		}
	}
	return v
}

// TestColumnPage: the format of a page never changes and does not depend on the form of
// rows in memory. A page can be read back. One that is too short or too long is refused.
func TestColumnPage(t *testing.T) {
	v := filled()
	for i := range uint32(chunkRows) {
		o := outlineOf(i)
		v.SetOutline(2*chunkRows+i, &o) // not in the page
	}
	page := v.all()[2].page(2)
	raw, err := decoder.DecodeAll(page, nil)
	testbed.OK(t, err)
	if got, want := xxh3.Hash(raw), uint64(0xa6c3d90829a959ca); got != want || len(raw) != pageBytes {
		t.Errorf("the page holds %d bytes of hash %x, want %x", len(raw), got, want)
	}
	back := new(Rows)
	back.grow(3*chunkRows - 1)
	testbed.OK(t, back.LoadPage(2, page))
	for i := range uint32(chunkRows) {
		o := 2*chunkRows + i
		if v.Flags(o) != back.Flags(o) || v.Cluster(o) != back.Cluster(o) || v.Arrived(o) != back.Arrived(o) || v.Touched(o) != back.Touched(o) {
			t.Fatalf("ordinal %d came back as %x %d %d %d", o, back.Flags(o), back.Cluster(o), back.Arrived(o), back.Touched(o))
		}
		if outlineAt(back, o) != (compare.Outline{}) {
			t.Fatalf("ordinal %d came back with an outline", o)
		}
	}
	for _, n := range []int{0, 1, chunkRows, pageBytes - 1} {
		if err := back.LoadPage(2, encoder.EncodeAll(raw[:n], nil)); !errors.Is(err, buckets.ErrPage) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if err := back.LoadPage(2, encoder.EncodeAll(append(raw, 0), nil)); !errors.Is(err, buckets.ErrPage) {
		t.Errorf("with a byte more: %v", err)
	}
	for _, number := range []int{-1, 3} {
		if err := back.LoadPage(number, page); !errors.Is(err, buckets.ErrPage) {
			t.Errorf("page %d was taken: %v", number, err)
		}
	}
	page[0] ^= 1
	if err := back.LoadPage(2, page); !errors.Is(err, buckets.ErrPage) {
		t.Errorf("a byte changed: %v", err)
	}
}

func BenchmarkColumnPage(b *testing.B) {
	v := filled()
	for range b.N {
		v.all()[2].page(2)
	}
}

func BenchmarkColumnPageLoad(b *testing.B) {
	page := filled().all()[2].page(2)
	v := new(Rows)
	v.grow(3*chunkRows - 1)
	for b.Loop() {
		if err := v.LoadPage(2, page); err != nil {
			b.Fatal(err)
		}
	}
}

// outlineAt returns the outline of a version, or a blank one if it has none.
func outlineAt(r *Rows, ordinal uint32) compare.Outline {
	o, _ := r.Outline(ordinal)
	return o
}

// TestRowsOutliveTheirChunks: a reader that is still running when the rows are
// dropped reads the row as it was.
func TestRowsOutliveTheirChunks(t *testing.T) {
	r := new(Rows)
	o := outlineOf(7)
	r.Set(3*chunkRows, Blocked, 5, 6)
	r.SetOutline(3*chunkRows, &o)
	held := *r.chunks.Load() // by the reader
	r.chunks.Store(nil)
	for range 3 {
		runtime.GC()
	}
	late := new(Rows)
	late.chunks.Store(&held)
	if f, c := late.Flags(3*chunkRows), late.Cluster(3*chunkRows); f != Blocked || c != 5 || outlineAt(late, 3*chunkRows) != o {
		t.Errorf("flags %x, cluster %d", f, c)
	}
}

// TestOutlineOfLongTexts: an outline keeps any number of shingles. A version that is
// rolled back has no outline.
func TestOutlineOfLongTexts(t *testing.T) {
	r := new(Rows)
	for _, shingles := range []uint32{1, 1<<24 - 1, 1 << 24, 1<<32 - 1} {
		r.Set(7, Exemplar|Swept, 7, 1)
		if o, ok := r.Outline(7); ok {
			t.Fatalf("a new version has the outline %v", o)
		}
		o := outlineOf(7)
		o.Shingles = shingles
		r.SetOutline(7, &o)
		if got, ok := r.Outline(7); !ok || got != o {
			t.Errorf("%d shingles: %v, %v", shingles, got, ok)
		}
		if f := r.Flags(7); f != Exemplar|Swept {
			t.Fatalf("%d shingles: flags %x", shingles, f)
		}
	}
}
