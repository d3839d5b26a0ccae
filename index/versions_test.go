package index

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"

	"jianguo/sketch"
)

// outlineOf is an outline that tells its ordinal and is not blank.
func outlineOf(ordinal uint32) (o sketch.Outline) {
	o.Shingles = ordinal%1000 + 1
	for i := 0; i < len(o.Minima); i += 4 {
		binary.LittleEndian.PutUint32(o.Minima[i:], ordinal+uint32(i))
	}
	return o
}

// TestFlagsBesideOutlines: the writer and who reads outlines after a start take
// nothing away from each other, and a reader meets an outline whole or not at all.
func TestFlagsBesideOutlines(t *testing.T) {
	const items = 20_000
	v := new(versions)
	for ordinal := uint32(1); ordinal <= items; ordinal++ {
		v.set(ordinal, flagExemplar, ordinal, ordinal)
	}
	wrote, outlined, read := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(wrote)
		for ordinal := uint32(1); ordinal <= items; ordinal++ {
			v.setFlags(ordinal, flagSwept|flagBlocked)
			v.setFlags(ordinal, flags(ordinal%256))
			v.setCluster(ordinal, ordinal-1)
			v.touch(ordinal, ordinal+1)
		}
	}()
	go func() {
		defer close(outlined)
		for ordinal := uint32(1); ordinal <= items; ordinal++ {
			o := outlineOf(ordinal)
			v.setOutline(ordinal, &o)
		}
	}()
	go func() {
		defer close(read)
		for ordinal := uint32(1); ordinal <= items; ordinal++ {
			if o := v.outline(ordinal); o.Shingles > 0 && o != outlineOf(ordinal) {
				t.Errorf("the outline of ordinal %d was met as %v", ordinal, o)
				return
			}
			if f := v.flags(ordinal); f != flagExemplar && f != flagSwept|flagBlocked && f != flags(ordinal%256) {
				t.Errorf("the flags of ordinal %d were met as %x", ordinal, f)
				return
			}
		}
	}()
	<-wrote
	<-outlined
	<-read
	for ordinal := uint32(1); ordinal <= items; ordinal++ {
		if v.flags(ordinal) != flags(ordinal%256) || v.outline(ordinal) != outlineOf(ordinal) ||
			v.cluster(ordinal) != ordinal-1 || v.arrived(ordinal) != ordinal || v.touched(ordinal) != ordinal+1 {
			t.Fatalf("ordinal %d: flags %x, outline %v, cluster %d, arrived %d, touched %d", ordinal,
				v.flags(ordinal), v.outline(ordinal), v.cluster(ordinal), v.arrived(ordinal), v.touched(ordinal))
		}
	}
}

// TestWiden: what a start has read becomes wide while the writer changes it and
// others read it, and nothing is lost, nor that a snapshot wants it.
func TestWiden(t *testing.T) {
	const items = 3 * chunkRows
	v := new(versions)
	v.grow(items-1, brief)
	for ordinal := range uint32(items) {
		v.set(ordinal, flagExemplar, ordinal, ordinal)
	}
	if got, want := v.bytes(), int64(items)<<brief; got != want {
		t.Errorf("brief rows take %d bytes, want %d", got, want)
	}
	var write sync.Mutex
	var all sync.WaitGroup
	for from := range uint32(2) { // a writer, and who reads
		all.Go(func() {
			for ordinal := from + 1; ordinal < items; ordinal += 7 {
				if from == 1 {
					if f := v.flags(ordinal); f != flagExemplar {
						t.Errorf("ordinal %d is met with flags %x", ordinal, f)
						return
					}
					continue
				}
				write.Lock()
				v.setFlags(ordinal, flagBlocked)
				v.setCluster(ordinal, ordinal-1)
				v.touch(ordinal, ordinal+1)
				write.Unlock()
			}
		})
	}
	all.Go(func() {
		for n := len(v.all()) - 1; n > 0; n-- {
			into := newChunk(wide)
			write.Lock()
			v.widen(n, into)
			write.Unlock()
			for i := range uint32(chunkRows) {
				o := outlineOf(uint32(n)*chunkRows + i)
				v.setOutline(uint32(n)*chunkRows+i, &o)
			}
		}
	})
	all.Wait()
	if got, want := v.bytes(), int64(chunkRows<<brief+2*chunkRows<<wide); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	none := outlineOf(5)
	v.setOutline(5, &none) // there is no room for it
	v.all()[0].swept = true
	v.widen(0, newChunk(wide)) // nobody changes this one any more
	if ch := v.all()[0]; !ch.dirty.Load() || !ch.swept {
		t.Errorf("a chunk that a snapshot wants, and a sweep: %v, %v once it is wide", ch.dirty.Load(), ch.swept)
	}
	for ordinal := range uint32(items) {
		f, cluster, touched, outline := flagExemplar, ordinal, ordinal, sketch.Outline{}
		if ordinal%7 == 1 {
			f, cluster, touched = flagBlocked, ordinal-1, ordinal+1
		}
		if ordinal >= chunkRows {
			outline = outlineOf(ordinal)
		}
		if v.flags(ordinal) != f || v.cluster(ordinal) != cluster || v.arrived(ordinal) != ordinal || v.touched(ordinal) != touched || v.outline(ordinal) != outline {
			t.Fatalf("ordinal %d: flags %x, cluster %d, arrived %d, touched %d, outline %v", ordinal,
				v.flags(ordinal), v.cluster(ordinal), v.arrived(ordinal), v.touched(ordinal), v.outline(ordinal))
		}
	}
}

// TestOutlineOfTheLongest: as many shingles as there is room for are told as they
// are; of more there is no outline, so that the sketch is read.
func TestOutlineOfTheLongest(t *testing.T) {
	v := new(versions)
	q := outlineOf(5)
	for _, shingles := range []uint32{1, maxShingles - 1, maxShingles, maxShingles + 1, 1 << 28} {
		v.set(7, flagExemplar|flagSwept, 7, 1)
		o := outlineOf(7)
		o.Shingles = shingles
		v.setOutline(7, &o)
		resemblance, inQ, inO, ok := v.overlap(&q, 7)
		if ok != (shingles <= maxShingles) {
			t.Fatalf("%d shingles: there is an outline: %v", shingles, ok)
		}
		if f := v.flags(7); f != flagExemplar|flagSwept {
			t.Fatalf("%d shingles: flags %x", shingles, f)
		}
		if !ok {
			continue
		}
		if got := v.outline(7); got != o {
			t.Errorf("%d shingles: %v, want %v", shingles, got, o)
		}
		if r, a, b := q.Overlap(&o.Minima, o.Shingles); resemblance != r || inQ != a || inO != b {
			t.Errorf("%d shingles: overlap %v %v %v, want %v %v %v", shingles, resemblance, inQ, inO, r, a, b)
		}
	}
}

// TestVersionsOutliveClose: who is late reads what was there, not memory that is
// somebody else's by now, or nobody's.
func TestVersionsOutliveClose(t *testing.T) {
	x := openTest(t, t.TempDir(), nil)
	x.versions.set(3*chunkRows, flagBlocked, 5, 6)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		runtime.GC()
	}
	if f, c := x.versions.flags(3*chunkRows), x.versions.cluster(3*chunkRows); f != flagBlocked || c != 5 {
		t.Errorf("flags %x, cluster %d after Close", f, c)
	}
}

// filled are versions whose third chunk holds all sorts.
func filled() *versions {
	v := new(versions)
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
		v.set(ordinal, flags(r.Uint32N(256)), cluster, arrived)
		if r.Uint32N(4) == 0 {
			v.touch(ordinal, arrived+r.Uint32N(1<<20))
		}
	}
	return v
}

// TestColumnPage: a page holds what it held since there are pages, whatever rows
// look like in memory, and gives it back; one that was cut or went on does not pass.
func TestColumnPage(t *testing.T) {
	v := filled()
	for i := range uint32(chunkRows) {
		o := outlineOf(i)
		v.setOutline(2*chunkRows+i, &o) // not in the page
	}
	page := v.all()[2].page(2)
	raw, err := decoder.DecodeAll(page[:len(page)-8], nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := xxh3.Hash(raw), uint64(0xc72b9a7dfc08467d); got != want || len(raw) != 357179 {
		t.Errorf("the page holds %d bytes of hash %x, want %x", len(raw), got, want)
	}
	back := new(versions)
	back.grow(3*chunkRows-1, brief)
	if err := back.load(2, page); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(chunkRows) {
		o := 2*chunkRows + i
		if v.flags(o) != back.flags(o) || v.cluster(o) != back.cluster(o) || v.arrived(o) != back.arrived(o) || v.touched(o) != back.touched(o) {
			t.Fatalf("ordinal %d came back as %x %d %d %d", o, back.flags(o), back.cluster(o), back.arrived(o), back.touched(o))
		}
		if back.outline(o) != (sketch.Outline{}) {
			t.Fatalf("ordinal %d came back with an outline", o)
		}
	}
	seal := func(raw []byte) []byte {
		out := encoder.EncodeAll(raw, nil)
		return binary.LittleEndian.AppendUint64(out, xxh3.Hash(out))
	}
	for _, n := range []int{0, 1, chunkRows - 1, chunkRows, chunkRows + 1, 2 * chunkRows, 3 * chunkRows, len(raw) - 1} {
		if err := back.load(2, seal(raw[:n])); !errors.Is(err, errColumns) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if err := back.load(2, seal(append(raw, 0))); !errors.Is(err, errColumns) {
		t.Errorf("with a byte more: %v", err)
	}
	endless := append(raw[:chunkRows:chunkRows], 0x80)
	for range 20 {
		endless = append(endless, 0xff)
	}
	if err := back.load(2, seal(append(endless, raw[chunkRows:]...))); !errors.Is(err, errColumns) {
		t.Errorf("with a number that does not end: %v", err)
	}
	page[0] ^= 1
	if err := back.load(2, page); !errors.Is(err, errColumns) {
		t.Errorf("a byte changed: %v", err)
	}
	if err := back.load(3, page); err == nil {
		t.Error("a page beyond the end was taken")
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
	v := new(versions)
	v.grow(3*chunkRows-1, brief)
	for b.Loop() {
		if err := v.load(2, page); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWiden is what a writer waits for each time.
func BenchmarkWiden(b *testing.B) {
	v := new(versions)
	v.grow(chunkRows-1, brief)
	into := newChunk(wide)
	for b.Loop() {
		from := v.all()[0]
		v.widen(0, into)
		v.chunks.Store(&[]*chunk{from})
	}
}

// outline is that of a version, blank where it is not there.
func (v *versions) outline(ordinal uint32) (o sketch.Outline) {
	if ch, r := v.at(ordinal); ch != nil {
		if o.Shingles = r.state.Load() >> flagBits; o.Shingles > 0 {
			o.Minima = *r.minima()
		}
		runtime.KeepAlive(ch)
	}
	return o
}
