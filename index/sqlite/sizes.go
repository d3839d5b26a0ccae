package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Part is a table or an index of a file, its free pages, or the rest.
type Part struct {
	Name  string
	Bytes int64
}

// Sizes counts the pages of each table and index of a SQLite file
// (https://www.sqlite.org/fileformat2.html), which must not have a log. The
// largest part comes first, the schema and the rest last. SQLite itself counts pages
// only if it was built with that option.
func Sizes(ctx context.Context, db *sql.DB, path string) ([]Part, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	w := pageWalker{file: f}
	var head [100]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	w.size = int64(binary.BigEndian.Uint16(head[16:]))
	if w.size == 1 {
		w.size = 1 << 16
	}
	w.usable = w.size - int64(head[20])
	free := int64(binary.BigEndian.Uint32(head[36:]))
	parts := []Part{{"free pages", free * w.size}}
	rest := info.Size() - free*w.size
	err = Each(ctx, db, `SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0 ORDER BY rootpage`, func(r *sql.Rows) error {
		var name string
		var root uint32
		if err := r.Scan(&name, &root); err != nil {
			return err
		}
		pages, err := w.tree(root)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		parts = append(parts, Part{name, pages * w.size})
		rest -= pages * w.size
		return nil
	})
	slices.SortStableFunc(parts, func(a, b Part) int { return int(b.Bytes - a.Bytes) })
	return append(parts, Part{"schema and rest", rest}), err
}

// pageWalker counts the pages of trees in a SQLite file.
type pageWalker struct {
	file         *os.File
	size, usable int64
}

var errTree = errors.New("not a page of a tree")

// The kinds of page of a tree.
const (
	innerIndex = 2
	innerTable = 5
	leafIndex  = 10
	leafTable  = 13
)

// tree counts the pages below root, and root.
func (w *pageWalker) tree(root uint32) (int64, error) {
	page := make([]byte, w.size)
	if _, err := w.file.ReadAt(page, int64(root-1)*w.size); err != nil {
		return 0, err
	}
	head := 0
	if root == 1 {
		head = 100
	}
	kind, cells := page[head], int(binary.BigEndian.Uint16(page[head+3:]))
	pointers := head + 8
	var below []uint32
	switch kind {
	case innerIndex, innerTable:
		below = append(below, binary.BigEndian.Uint32(page[head+8:]))
		pointers += 4
	case leafIndex, leafTable:
	default:
		return 0, errTree
	}
	n := int64(1)
	for i := range cells {
		if pointers+2*i+2 > len(page) {
			return 0, errTree
		}
		at := int(binary.BigEndian.Uint16(page[pointers+2*i:]))
		cell := page[min(at, len(page)):]
		if kind == innerIndex || kind == innerTable {
			if len(cell) < 4 {
				return 0, errTree
			}
			below = append(below, binary.BigEndian.Uint32(cell))
			cell = cell[4:]
		}
		if kind != innerTable {
			n += w.overflow(kind, varint(cell))
		}
	}
	for _, child := range below {
		m, err := w.tree(child)
		if err != nil {
			return 0, err
		}
		n += m
	}
	return n, nil
}

// overflow returns the number of overflow pages of a cell.
func (w *pageWalker) overflow(kind byte, payload int64) int64 {
	u := w.usable
	most := u - 35
	if kind != leafTable {
		most = (u-12)*64/255 - 23
	}
	if payload <= most {
		return 0
	}
	least := (u-12)*32/255 - 23
	local := least + (payload-least)%(u-4)
	if local > most {
		local = least
	}
	return (payload - local + u - 5) / (u - 4)
}

// varint is big-endian, seven bits a byte.
func varint(b []byte) int64 {
	var v int64
	for i := 0; i < min(len(b), 9); i++ {
		if i == 8 {
			return v<<8 | int64(b[i])
		}
		v = v<<7 | int64(b[i]&0x7f)
		if b[i] < 0x80 {
			break
		}
	}
	return v
}
