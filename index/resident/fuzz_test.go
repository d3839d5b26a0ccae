package resident

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/zeebo/xxh3"
)

// FuzzLoadColumns: a page is loaded whole or refused, also one whose checksum is right.
func FuzzLoadColumns(f *testing.F) {
	rows := filled()
	page := rows.all()[0].page(0)
	raw, err := decoder.DecodeAll(page[:len(page)-8], nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(page, false)
	f.Add(raw[:chunkRows+100], true)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, data []byte, columns bool) {
		var into Rows
		into.grow(1)
		if columns {
			data = encoder.EncodeAll(data, nil)
			data = binary.LittleEndian.AppendUint64(data, xxh3.Hash(data))
		}
		if err := into.load(0, data); err != nil && !errors.Is(err, ErrPage) {
			t.Fatal(err)
		}
	})
}
