package buckets

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jianguo/internal/testbed"
)

// held returns every posting of the table, bucket by bucket.
func held(t *Table) map[uint64][]uint32 {
	all := map[uint64][]uint32{}
	for k := range Keys {
		if t.pages[k/PageKeys].Load() == nil {
			continue
		}
		v := t.Bucket(uint16(k))
		for i := range v.Hi {
			if o, ok := v.Ordinal(i); ok {
				key := uint64(k)<<48 | uint64(v.Hi[i])<<16 | uint64(v.Lo(i))
				all[key] = append(all[key], o)
			}
		}
	}
	return all
}

func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, want, got map[uint64][]uint32) {
	t.Helper()
	for k, os := range want {
		if !slices.Equal(slices.Sorted(slices.Values(os)), slices.Sorted(slices.Values(got[k]))) {
			t.Fatalf("key %016x: %v, want %v", k, got[k], os)
		}
	}
	for k, os := range got {
		if len(want[k]) == 0 {
			t.Fatalf("key %016x: %v, want none", k, os)
		}
	}
}

// check checks the invariants of the table.
func check(t *rapid.T, table *Table) {
	for i := range table.pages {
		p := table.pages[i].Load()
		if p == nil {
			continue
		}
		dead := 0
		for slot := range PageKeys {
			v, last := p.view(slot), uint32(0)
			for j := range v.Hi {
				switch o, ok := v.Ordinal(j); {
				case !ok:
					dead++
				case o < last && v.Rising && table.narrow:
					t.Fatalf("page %d: ordinal %d follows %d in a bucket that is said to rise", i, o, last)
				default:
					last = o
				}
			}
		}
		if dead != p.dead {
			t.Fatalf("page %d: %d tombstones, %d counted", i, dead, p.dead)
		}
	}
}

func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		narrow := rapid.Bool().Draw(t, "narrow")
		table := New(narrow)
		want := map[uint64][]uint32{}
		total := 0
		// Two pages, two buckets each, few keys in a bucket.
		key := rapid.Map(rapid.SliceOfN(rapid.Uint64Range(0, 3), 4, 4), func(p []uint64) uint64 {
			return p[0]<<62 | p[1]<<48 | p[2]<<16 | p[3]
		})
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				k := key.Draw(t, "key")
				for range rapid.SampledFrom([]int{1, 7, 100}).Draw(t, "times") {
					o := rapid.Uint32Range(0, 50).Draw(t, "ordinal")
					table.Append(k, o)
					want[table.kept(k)] = append(want[table.kept(k)], o)
					total++
				}
			},
			"remove": func(t *rapid.T) {
				k, o := key.Draw(t, "key"), rapid.Uint32Range(0, 50).Draw(t, "ordinal")
				kept := table.kept(k)
				n := len(want[kept])
				want[kept] = slices.DeleteFunc(want[kept], func(x uint32) bool { return x == o })
				total -= n - len(want[kept])
				if got := table.Remove(k, o); got != n-len(want[kept]) {
					t.Fatalf("removed %d, want %d", got, n-len(want[kept]))
				}
			},
			"load pages": func(t *rapid.T) {
				loaded := New(narrow)
				for i := 0; i < Pages; i += 64 { // all pages of the keys
					page := table.appendPage(nil, i)
					testbed.OK(t, loaded.LoadPage(i, page))
					if err := loaded.LoadPage(i, page); (err != nil) != (loaded.pages[i].Load() != nil) {
						t.Fatalf("the same page again: %v", err)
					}
				}
				table = loaded
			},
			"": func(t *rapid.T) {
				check(t, table)
				same(t, want, held(table))
				if table.Len() != total {
					t.Fatalf("length %d, want %d", table.Len(), total)
				}
			},
		})
	})
}

// TestViewsKeepBlocks: a view is as it was, however often its page was replaced since, and
// the collector ran.
func TestViewsKeepBlocks(t *testing.T) {
	table := New(false)
	added := uint32(0)
	fill := func(to uint32) {
		for ; added < to; added++ {
			table.Append(0, added)
		}
	}
	fill(5000) // blocks as large as these are mapped
	v := table.Bucket(0)
	first := v.page
	for range 4 {
		fill(added + 15000) // many rebuilds
		runtime.GC()
	}
	if table.pages[0].Load() == first {
		t.Fatal("the page was not replaced")
	}
	for i := range v.Hi {
		if o, ok := v.Ordinal(i); !ok || o != uint32(i) || v.Hi[i] != 0 {
			t.Fatalf("posting %d became %d %v", i, o, ok)
		}
	}
	v.KeepAlive()
}

// example is the page of the package comment.
func example() []byte {
	table := New(false)
	table.Append(0x0001_0123_4567_89ab, 7)
	table.Append(0x0003_fedc_ba98_7654, 1)
	table.Append(0x0003_fedc_ba98_7654, 300)
	return table.appendPage(nil, 0)
}

func TestExamplePage(t *testing.T) {
	source, err := os.ReadFile("table.go")
	testbed.OK(t, err)
	_, after, ok := strings.Cut(string(source), "in 86 bytes:\n//\n")
	if !ok {
		t.Fatal("the package comment has no example")
	}
	var want []byte
	for line := range strings.Lines(after) {
		line, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		fields := strings.Fields(line)
		if fields[0] == "…" {
			want = append(want, make([]byte, PageKeys-len(want))...)
			continue
		}
		for _, f := range fields[1:slices.Index(fields, "|")] {
			b, err := hex.DecodeString(f)
			testbed.OK(t, err)
			want = append(want, b...)
		}
	}
	if got := example(); !slices.Equal(got, want) {
		t.Errorf("the example in the package comment is\n%x, but the page is\n%x", want, got)
	}
}

func TestLoadPageNamesWhatIsWrong(t *testing.T) {
	page := example()
	table := New(false)
	for name, change := range map[string]func(b []byte) []byte{
		"cut":              func(b []byte) []byte { return b[:len(b)-1] },
		"bucket too full":  func(b []byte) []byte { b[1]++; return b },
		"far too full":     func(b []byte) []byte { b[1] = 0x7f; return b },
		"bytes over":       func(b []byte) []byte { return append(b, 0) },
		"a long number":    func(b []byte) []byte { return slices.Insert(b, 1, 0xff, 0xff, 0xff, 0xff, 0xff) },
		"tombstone inside": func(b []byte) []byte { return slices.Replace(b, 70, 71, 0xff, 0xff, 0xff, 0xff, 0x0f) },
	} {
		if err := table.LoadPage(0, change(slices.Clone(page))); !errors.Is(err, ErrPage) {
			t.Errorf("%s: %v", name, err)
		}
		if n := table.Len(); n > 0 || table.Bytes() > 0 {
			t.Errorf("%s: %d postings of it were kept", name, n)
		}
	}
	for _, number := range []int{-1, Pages} {
		if err := table.LoadPage(number, page); !errors.Is(err, ErrPage) {
			t.Errorf("page %d: %v", number, err)
		}
	}
	if err := table.LoadPage(0, page); err != nil || table.Len() != 3 {
		t.Errorf("a whole page: %v, %d postings", err, table.Len())
	}
}

// FuzzLoadPage: what can be loaded is written again as the same postings.
func FuzzLoadPage(f *testing.F) {
	f.Add(example(), false)
	f.Add([]byte{}, true)
	table := New(true)
	for i := range uint32(40) {
		table.Append(uint64(i*i)<<40, i)
	}
	f.Add(table.appendPage(nil, 0), true)
	f.Fuzz(func(t *testing.T, page []byte, narrow bool) {
		table, second := New(narrow), New(narrow)
		if err := table.LoadPage(3, page); err != nil {
			if !errors.Is(err, ErrPage) || table.Len() > 0 {
				t.Fatal(table.Len(), err)
			}
			return
		}
		testbed.OK(t, second.LoadPage(3, table.appendPage(nil, 3)))
		same(t, held(table), held(second))
	})
}

// TestUvarints reads numbers of every length at every position, and refuses a number
// that is cut or too long.
func TestUvarints(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		want := make([]uint32, r.IntN(12))
		var b []byte
		for i := range want {
			want[i] = r.Uint32() >> r.IntN(33)
			b = binary.AppendUvarint(b, uint64(want[i]))
		}
		after := make([]byte, r.IntN(10))
		got := make([]uint32, len(want))
		rest, err := uvarints(got, append(b[:len(b):len(b)], after...))
		if err != nil || !slices.Equal(got, want) || len(rest) != len(after) {
			t.Fatalf("%v came back as %v, %d bytes after it as %d, error %v", want, got, len(after), len(rest), err)
		}
		if len(b) > 0 {
			if _, err := uvarints(got, b[:r.IntN(len(b))]); err == nil {
				t.Fatalf("%x was taken, cut short", b)
			}
		}
	}
	for _, b := range [][]byte{{0x80, 0x80, 0x80, 0x80, 0x10}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, slices.Repeat([]byte{0x80}, 20)} {
		if _, err := uvarints(make([]uint32, 1), append(b, make([]byte, 8)...)); err == nil {
			t.Errorf("%x was taken for a number of 32 bits", b)
		}
	}
}
