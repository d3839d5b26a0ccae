package gate

import (
	"encoding/binary"
	"os"
	"path/filepath"
)

// A block is a row of records. Each begins with its length (4 bytes, little endian),
// whose highest bit says that the message has headers, and its sequence (8 bytes), whose
// two highest bits say that it is no message: it was erased, or it records an erasure.
const (
	recordHead  = 12
	hasHeaders  = 1 << 31
	noMessage   = 3 << 62
	maxLeading  = 1 << 16 // records that are read
	leastRecord = 22 + 8
)

// firstOfBlock is the sequence of the first message of the block that holds seq or would
// hold it; 0: unknown.
func firstOfBlock(dir string, seq uint64) (first uint64) {
	msgs := filepath.Join(dir, blockDir)
	names, err := blocks(msgs)
	if err != nil {
		return 0
	}
	for _, name := range names {
		begins := firstMessage(filepath.Join(msgs, name))
		if begins > seq {
			break
		}
		first = max(first, begins)
	}
	return first
}

// firstMessage is the sequence of the first message of a block, 0 for none.
func firstMessage(path string) uint64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var head [recordHead]byte
	for at := int64(0); ; {
		if _, err := f.ReadAt(head[:], at); err != nil {
			return 0
		}
		size, seq := binary.LittleEndian.Uint32(head[:])&^hasHeaders, binary.LittleEndian.Uint64(head[4:])
		switch {
		case size < leastRecord:
			return 0
		case seq != 0 && seq&noMessage == 0:
			return seq
		}
		if at += int64(size); at > maxLeading*leastRecord {
			return 0
		}
	}
}
