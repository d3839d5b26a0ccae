package state

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/zeebo/xxh3"

	"jianguo/internal/must"
)

// Storage format, version 1. See doc.go for a worked example.
//
// A head is everything of a user but the bits of the shards:
//
//	u8      version (1)
//	uvarint last: unix seconds of the newest exposure
//	uvarint number of shards, then for each, oldest first
//	        uvarint row, uvarint capacity, uvarint count, uvarint m, u8 k, varint epoch
//	uvarint number of exceptions, then u32 each
//	uvarint number of ring entries, then for each u32 key, varint minute − the one before
//	uvarint number of runs of the tail, then for each varint day − the one before, uvarint keys
//	u32 ×   the keys of the tail, oldest first
//	u8      1 if the user has been imported
//	twice   users whose histories count, and those for whom this one does: uvarint number, then for each uvarint
//	        length and bytes
//	u32     checksum: the low half of XXH3-64 of all before it, seeded with that of
//	        the row's address (history, zero byte, user): a row under another user's name is refused too
//
// A shard is
//
//	u8      version (1)
//	u8      k
//	u16     0
//	u32     m
//	u64 ×   ⌈m/64⌉ words, bit i of the filter being bit i%64 of word i/64
//	u32     checksum, as above, seeded with the row's number
//
// Integers are little-endian; uvarint and varint (zig-zag) are those of
// encoding/binary. A reader refuses every other version.
const (
	formatVersion = 1
	shardOverhead = 12
)

// ErrCorrupt is wrapped by every error about stored bytes that cannot be right.
var ErrCorrupt = errors.New("corrupt")

// ShardBytes is what a shard of m bits takes in the file.
func ShardBytes(m uint32) int { return shardOverhead + int(m+63)/64*8 }

func checksum(b []byte, seed uint64) uint32 { return uint32(xxh3.HashSeed(b, seed)) }

// appendHead encodes the head of a state.
func appendHead(b []byte, s *State, addr Address) []byte {
	start := len(b)
	le := binary.LittleEndian
	b = append(b, formatVersion)
	b = binary.AppendUvarint(b, uint64(s.last))
	b = binary.AppendUvarint(b, uint64(len(s.shards)))
	for i := range s.shards {
		sh := &s.shards[i]
		b = binary.AppendUvarint(b, uint64(sh.id))
		b = binary.AppendUvarint(b, uint64(sh.capacity))
		b = binary.AppendUvarint(b, uint64(sh.count))
		b = binary.AppendUvarint(b, uint64(sh.m))
		b = append(b, sh.k)
		b = binary.AppendVarint(b, int64(sh.epoch))
	}
	b = binary.AppendUvarint(b, uint64(len(s.excepted)))
	for _, k := range s.excepted {
		b = le.AppendUint32(b, k)
	}
	b = binary.AppendUvarint(b, uint64(len(s.ring)))
	prev := int64(0)
	for _, d := range s.ring {
		b = le.AppendUint32(b, d.key)
		b = binary.AppendVarint(b, int64(d.minute)-prev)
		prev = int64(d.minute)
	}
	var runs []byte
	n, from := uint64(0), 0
	prev = 0
	for i, t := range s.tail {
		if i+1 == len(s.tail) || s.tail[i+1].day != t.day {
			runs = binary.AppendVarint(runs, int64(t.day)-prev)
			runs = binary.AppendUvarint(runs, uint64(i+1-from))
			n, from, prev = n+1, i+1, int64(t.day)
		}
	}
	b = append(binary.AppendUvarint(b, n), runs...)
	for _, t := range s.tail {
		b = le.AppendUint32(b, t.key)
	}
	b = append(b, 0)
	if s.Links.Imported {
		b[len(b)-1] = 1
	}
	for _, users := range [][]string{s.Links.From, s.Links.Into} {
		b = binary.AppendUvarint(b, uint64(len(users)))
		for _, u := range users {
			b = append(binary.AppendUvarint(b, uint64(len(u))), u...)
		}
	}
	return le.AppendUint32(b, checksum(b[start:], xxh3.HashString(addr.String())))
}

// reader reads bytes that may be damaged. Package must ends its methods.
type reader struct{ b []byte }

func (r *reader) fail(what string) { must.Do(fmt.Errorf("exposure: %s: %w", what, ErrCorrupt)) }

func (r *reader) uvarint(what string, max uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > max {
		r.fail(what)
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint(what string, min, max int64) int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 || v < min || v > max {
		r.fail(what)
	}
	r.b = r.b[n:]
	return v
}

// count reads the length of a list whose elements take at least each bytes. A wrong length
// never allocates more than the input is long.
func (r *reader) count(what string, max, each int) int {
	n := int(r.uvarint(what, uint64(max)))
	if n*each > len(r.b) {
		r.fail(what)
	}
	return n
}

// DecodeHead reads a head. Any input gives a state that is safe to use, or an error.
func DecodeHead(b []byte, addr Address) (*State, error) {
	if len(b) < 5 {
		return nil, fmt.Errorf("exposure: head of %d bytes: %w", len(b), ErrCorrupt)
	}
	if b[0] != formatVersion {
		return nil, fmt.Errorf("exposure: head has format version %d, this program reads %d", b[0], formatVersion)
	}
	body := b[:len(b)-4]
	if binary.LittleEndian.Uint32(b[len(body):]) != checksum(body, xxh3.HashString(addr.String())) {
		return nil, fmt.Errorf("exposure: head checksum: %w", ErrCorrupt)
	}
	return must.Try(func() *State { return (&reader{body[1:]}).head() })
}

// head reads what follows the version.
func (r *reader) head() *State {
	s := &State{last: int64(r.uvarint("last", 1<<40))}
	if n := r.count("shards", MaxShards, 6); n > 0 {
		s.shards = make([]Shard, n)
	}
	for i := range s.shards {
		r.shard(&s.shards[i])
		if i > 0 && s.shards[i].epoch < s.shards[i-1].epoch {
			r.fail("shard order")
		}
	}
	for range r.count("exceptions", MaxExcepted, 4) {
		s.excepted = append(s.excepted, r.key("exception"))
	}
	if n := r.count("ring", RingSize, 5); n > 0 {
		s.ring = make([]delivered, n)
	}
	minute := int64(0)
	for i := range s.ring {
		s.ring[i].key = r.key("ring key")
		minute += r.varint("ring minute", -1<<32, 1<<32)
		if minute < 0 || minute >= 1<<32 {
			r.fail("ring minute")
		}
		s.ring[i].minute = uint32(minute)
	}
	r.tail(s)
	r.links(&s.Links)
	if len(r.b) != 0 {
		r.fail("rest")
	}
	return s
}

// key reads a key, which is never zero.
func (r *reader) key(what string) (k uint32) {
	if len(r.b) >= 4 {
		k = binary.LittleEndian.Uint32(r.b)
		r.b = r.b[4:]
	}
	if k == 0 {
		r.fail(what)
	}
	return k
}

// links reads the links.
func (r *reader) links(l *Links) {
	l.Imported = r.uvarint("imported", 1) == 1
	for _, users := range []*[]string{&l.From, &l.Into} {
		for n := r.count("links", len(r.b), 1); n > 0; n-- {
			size := r.count("link", len(r.b), 1)
			*users, r.b = append(*users, string(r.b[:size])), r.b[size:]
		}
	}
}

func (r *reader) shard(sh *Shard) {
	sh.id = int64(r.uvarint("shard row", 1<<62))
	sh.capacity = uint32(r.uvarint("shard capacity", MaxCapacity))
	sh.count = uint32(r.uvarint("shard count", uint64(sh.capacity)))
	sh.m = uint32(r.uvarint("shard m", 1<<28))
	sh.k = uint8(r.uvarint("shard k", 64))
	sh.epoch = int32(r.varint("shard epoch", 0, 1<<20))
	if sh.id == 0 || sh.m < 64 || sh.k < 4 {
		r.fail("shard")
	}
}

func (r *reader) tail(s *State) {
	runs := r.count("tail runs", MaxTail, 2)
	d, total := int64(0), 0
	tail := make([]dated, 0, min(MaxTail, len(r.b)/4))
	for ; runs > 0; runs-- {
		d += r.varint("tail day", -1<<31, 1<<31)
		n := int(r.uvarint("tail run", MaxTail))
		total += n
		if d < -1<<30 || d > 1<<30 || n == 0 || total*4 > len(r.b) || total > MaxTail {
			r.fail("tail run")
		}
		for ; n > 0; n-- {
			tail = append(tail, dated{day: Day(d)})
		}
	}
	for i := range tail {
		tail[i].key = r.key("tail key")
	}
	if len(tail) > 0 {
		s.tail = tail
	}
}

// appendShard encodes the bits of a shard.
func appendShard(b []byte, sh *Shard) []byte {
	start := len(b)
	le := binary.LittleEndian
	b = append(b, formatVersion, sh.k, 0, 0)
	b = le.AppendUint32(b, sh.m)
	for _, w := range sh.filter.BitSet().Words() {
		b = le.AppendUint64(b, w)
	}
	return le.AppendUint32(b, checksum(b[start:], uint64(sh.id)))
}

// DecodeShard fills in the filter of a shard whose head has been read. It copies b.
func DecodeShard(b []byte, sh *Shard) error {
	if len(b) != ShardBytes(sh.m) || b[0] != formatVersion || b[1] != sh.k ||
		binary.LittleEndian.Uint32(b[4:]) != sh.m {
		return fmt.Errorf("exposure: shard %d: %w", sh.id, ErrCorrupt)
	}
	body := b[:len(b)-4]
	if binary.LittleEndian.Uint32(b[len(body):]) != checksum(body, uint64(sh.id)) {
		return fmt.Errorf("exposure: shard %d checksum: %w", sh.id, ErrCorrupt)
	}
	sh.filter = bloom.New(uint(sh.m), uint(sh.k))
	words := sh.filter.BitSet().Words()
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(body[8+8*i:])
	}
	return nil
}

// Report is what a verification counted.
type Report struct {
	Users, Shards, Quarantined int64
	Forgotten                  int64 `json:",omitempty"` // records in a Redis without a history
}

// Verify returns what is wrong with the bytes of a shard, which its head describes: they do not decode, or more bits
// are set than its keys can have set.
func (s Shard) Verify(data []byte) error {
	if err := DecodeShard(data, &s); err != nil {
		return err
	}
	set := s.filter.BitSet().Count()
	if set > uint(s.count)*uint(s.k) || (s.count > 0) != (set > 0) {
		return fmt.Errorf("shard %d has %d bits set for %d keys of %d", s.id, set, s.count, s.k)
	}
	return nil
}
