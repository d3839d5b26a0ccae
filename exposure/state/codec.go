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

func encodeHead(s *State, addr Address) []byte {
	c := &coder{b: []byte{formatVersion}}
	c.head(s)
	return binary.LittleEndian.AppendUint32(c.b, checksum(c.b, xxh3.HashString(addr.String())))
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
	return must.Try(func() *State {
		s, c := new(State), &coder{body[1:], true}
		if c.head(s); len(c.b) != 0 {
			c.fail("rest")
		}
		return s
	})
}

// coder writes a head, or reads one, which may be damaged. Its methods panic on errors (must).
type coder struct {
	b     []byte // written, or not read yet
	reads bool
}

func (c *coder) fail(what string) { must.Do(fmt.Errorf("exposure: %s: %w", what, ErrCorrupt)) }

// head codes what follows the version.
func (c *coder) head(s *State) {
	uvarint(c, "last", &s.last, 1<<40)
	var oldest int32
	list(c, "shards", &s.shards, MaxShards, 6, func(sh *Shard) {
		if c.shard(sh); sh.epoch < oldest {
			c.fail("shard order")
		}
		oldest = sh.epoch
	})
	list(c, "exceptions", &s.excepted, MaxExcepted, 4, c.key)
	var minute int64
	list(c, "ring", &s.ring, RingSize, 5, func(d *delivered) {
		c.key(&d.key)
		varint(c, "ring minute", &d.minute, &minute, 0, 1<<32-1)
	})
	c.tail(s)
	imported := 0
	if s.Links.Imported {
		imported = 1
	}
	uvarint(c, "imported", &imported, 1)
	s.Links.Imported = imported == 1
	list(c, "links", &s.Links.From, len(c.b), 1, c.user)
	list(c, "links", &s.Links.Into, len(c.b), 1, c.user)
}

func (c *coder) shard(sh *Shard) {
	uvarint(c, "shard row", &sh.id, 1<<62)
	uvarint(c, "shard capacity", &sh.capacity, MaxCapacity)
	uvarint(c, "shard count", &sh.count, uint64(sh.capacity))
	uvarint(c, "shard m", &sh.m, 1<<28)
	uvarint(c, "shard k", &sh.k, 64)
	var zero int64
	varint(c, "shard epoch", &sh.epoch, &zero, 0, 1<<20)
	if c.reads && (sh.id == 0 || sh.m < 64 || sh.k < 4) {
		c.fail("shard")
	}
}

// tail codes the days of the tail in runs, and then its keys.
func (c *coder) tail(s *State) {
	type run struct {
		day  Day
		keys int
	}
	var runs []run
	for i, t := range s.tail {
		if i == 0 || t.day != s.tail[i-1].day {
			runs = append(runs, run{day: t.day})
		}
		runs[len(runs)-1].keys++
	}
	day, total := int64(0), 0
	list(c, "tail runs", &runs, MaxTail, 2, func(r *run) {
		varint(c, "tail day", &r.day, &day, -1<<30, 1<<30)
		uvarint(c, "tail run", &r.keys, MaxTail)
		total += r.keys
		if c.reads && (r.keys == 0 || total*4 > len(c.b) || total > MaxTail) {
			c.fail("tail run")
		}
	})
	if c.reads && total > 0 {
		s.tail = make([]dated, 0, total)
		for _, r := range runs {
			for range r.keys {
				s.tail = append(s.tail, dated{day: r.day})
			}
		}
	}
	for i := range s.tail {
		c.key(&s.tail[i].key)
	}
}

func uvarint[T ~int | ~int64 | ~uint32 | ~uint8](c *coder, what string, v *T, most uint64) {
	if !c.reads {
		c.b = binary.AppendUvarint(c.b, uint64(*v))
		return
	}
	got, n := binary.Uvarint(c.b)
	if n <= 0 || got > most {
		c.fail(what)
	}
	*v, c.b = T(got), c.b[n:]
}

// varint codes a number by its difference to the one before.
func varint[T ~int32 | ~uint32](c *coder, what string, v *T, before *int64, least, most int64) {
	if !c.reads {
		c.b = binary.AppendVarint(c.b, int64(*v)-*before)
	} else {
		got, n := binary.Varint(c.b)
		if n <= 0 || got < least-*before || got > most-*before {
			c.fail(what)
		}
		*v, c.b = T(*before+got), c.b[n:]
	}
	*before = int64(*v)
}

// list codes a list whose elements take at least each bytes. A wrong length never allocates more than the input is
// long.
func list[T any](c *coder, what string, v *[]T, most, each int, code func(*T)) {
	n := len(*v)
	if uvarint(c, what, &n, uint64(most)); c.reads && n > 0 {
		if n*each > len(c.b) {
			c.fail(what)
		}
		*v = make([]T, n)
	}
	for i := range *v {
		code(&(*v)[i])
	}
}

// key codes a key, which is never zero.
func (c *coder) key(k *uint32) {
	if !c.reads {
		c.b = binary.LittleEndian.AppendUint32(c.b, *k)
		return
	}
	if len(c.b) < 4 {
		c.fail("key")
	}
	if *k, c.b = binary.LittleEndian.Uint32(c.b), c.b[4:]; *k == 0 {
		c.fail("key")
	}
}

func (c *coder) user(name *string) {
	size := len(*name)
	if uvarint(c, "link", &size, uint64(len(c.b))); !c.reads {
		c.b = append(c.b, *name...)
		return
	}
	if size > len(c.b) {
		c.fail("link")
	}
	*name, c.b = string(c.b[:size]), c.b[size:]
}

func encodeShard(sh *Shard) []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, ShardBytes(sh.m)), formatVersion, sh.k, 0, 0)
	b = le.AppendUint32(b, sh.m)
	for _, w := range sh.filter.BitSet().Words() {
		b = le.AppendUint64(b, w)
	}
	return le.AppendUint32(b, checksum(b, uint64(sh.id)))
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
