package state

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bits-and-blooms/bloom/v3"
	"pgregory.net/rapid"

	"github.com/zeebo/xxh3"

	"jianguo/exposure/kernel"
	"jianguo/internal/testbed"
)

func filterOf(m uint32, k uint8, words ...uint64) *bloom.BloomFilter {
	f := bloom.New(uint(m), uint(k))
	copy(f.BitSet().Words(), words)
	return f
}

// aState is a random state as a store may hold it.
func aState(t *rapid.T) *State {
	key := rapid.Uint32Range(1, 1<<32-1)
	s := &State{last: rapid.Int64Range(1, 1<<35).Draw(t, "last")}
	epoch := int32(24000)
	for range rapid.IntRange(0, 5).Draw(t, "shards") {
		epoch += int32(rapid.IntRange(0, 2).Draw(t, "epoch"))
		m := rapid.Uint32Range(64, 700).Draw(t, "m")
		capacity := rapid.Uint32Range(1, 5000).Draw(t, "capacity")
		s.shards = append(s.shards, Shard{id: rapid.Int64Range(1, 1<<40).Draw(t, "id"), epoch: epoch, capacity: capacity,
			count: rapid.Uint32Range(0, capacity).Draw(t, "count"), m: m, k: 9,
			filter: filterOf(m, 9, rapid.SliceOfN(rapid.Uint64(), int(m+63)/64, int(m+63)/64).Draw(t, "words")...)})
	}
	for range rapid.IntRange(0, 5).Draw(t, "exceptions") {
		s.excepted = append(s.excepted, key.Draw(t, "key"))
	}
	for range rapid.IntRange(0, RingSize).Draw(t, "ring") {
		s.ring = append(s.ring, delivered{key.Draw(t, "key"), rapid.Uint32().Draw(t, "minute")})
	}
	for range rapid.IntRange(0, 60).Draw(t, "tail") {
		s.tail = append(s.tail, dated{key.Draw(t, "key"), Day(rapid.IntRange(19000, 19003).Draw(t, "day"))})
	}
	return s
}

func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := aState(t)
		head := encodeHead(s, Address{"h", "u"})
		got, err := DecodeHead(head, Address{"h", "u"})
		testbed.OK(t, err)
		for i := range got.shards {
			testbed.OK(t, DecodeShard(encodeShard(&s.shards[i]), &got.shards[i]))
		}
		if !reflect.DeepEqual(got, s) {
			t.Fatalf("got %+v\nwant %+v", got, s)
		}
		if _, err := DecodeHead(head, Address{"h", "v"}); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("another user's row: %v", err)
		}
		bit := rapid.IntRange(8, 8*len(head)-1).Draw(t, "bit")
		head[bit/8] ^= 1 << (bit % 8)
		if _, err := DecodeHead(head, Address{"h", "u"}); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
	})
}

// TestWorkedExample is the one in the package comment.
func TestWorkedExample(t *testing.T) {
	at := time.Date(2024, 5, 20, 8, 2, 8, 0, shanghai)
	p, _ := Policy{}.WithDefaults()
	s := &State{}
	testbed.OK(t, s.see(&p, []uint32{0x11223344, 0x55667788}, at, at, nil))
	got := hex.EncodeToString(encodeHead(s, Address{User: "u"}))
	want := "01" + "80a6aab206" + "000000" + "01" + "aeb602" + "02" + "44332211" + "88776655" + "000000"
	if !strings.HasPrefix(got, want) || len(got) != len(want)+8 {
		t.Fatalf("got %s, want %s and a checksum", got, want)
	}
}

// resum gives bytes from a fuzzer a checksum that fits, so that it gets past it.
func resum(b []byte, seed uint64) []byte {
	if len(b) < 4 {
		return b
	}
	b = bytes.Clone(b)
	binary.LittleEndian.PutUint32(b[len(b)-4:], checksum(b[:len(b)-4], seed))
	return b
}

func FuzzDecodeHead(f *testing.F) {
	addr := Address{User: "u"}
	p, _ := Policy{Slots: 2, Capacity: 64, Tail: 8}.WithDefaults()
	s := &State{}
	for i := range uint32(200) {
		s.see(&p, []uint32{i*7919 + 1}, benchTime, benchTime, nil)
		s.deliver(&p, []uint32{i + 1}, benchTime, benchTime)
	}
	for i := range s.shards {
		s.shards[i].id = int64(i) + 1
	}
	f.Add(encodeHead(s, addr))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	s.Links = Links{From: []string{"phone", "x"}, Into: []string{"ann"}, Imported: true}
	f.Add(encodeHead(s, addr))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeHead(resum(b, xxh3.HashString(addr.String())), addr)
		if err != nil {
			return
		}
		// A decoded state can be used. Encoded and decoded again, it is the same.
		again, err := DecodeHead(encodeHead(s, addr), addr)
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%+v\n%+v\n%v", s, again, err)
		}
		fetch := func(shards []*Shard) error {
			for _, sh := range shards {
				if sh.m > 1<<16 {
					return errors.New("large")
				}
				sh.filter = bloom.New(uint(sh.m), uint(sh.k))
			}
			return nil
		}
		if s.Need(fetch) != nil {
			return
		}
		testbed.OK(t, s.see(&p, []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, benchTime, benchTime, fetch))
		var marks [10]byte
		s.View(&p, benchTime, 9).Mark([]uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, marks[:])
		if bytes.IndexByte(marks[:], kernel.Unseen) >= 0 {
			t.Fatalf("seen keys are not held: %v", marks)
		}
	})
}

func FuzzDecodeShard(f *testing.F) {
	sh := Shard{id: 7, m: 200, k: 9, filter: filterOf(200, 9, 1, 2, 3, 4)}
	f.Add(encodeShard(&sh), uint32(200))
	f.Fuzz(func(t *testing.T, b []byte, m uint32) {
		got := Shard{id: 7, m: max(m%(1<<28), 1), k: 9}
		if err := DecodeShard(resum(b, 7), &got); err == nil && !bytes.Equal(encodeShard(&got), resum(b, 7)) && b[2] == 0 && b[3] == 0 {
			t.Fatalf("%x decodes to %+v", b, got)
		}
	})
}
