package resident

import (
	"errors"
	"testing"

	"jianguo/index/bands/buckets"
)

// FuzzLoadColumns: a page is loaded whole or refused.
func FuzzLoadColumns(f *testing.F) {
	page := filled().all()[0].page(0)
	f.Add(page, false)
	f.Add(make([]byte, 100), true)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, data []byte, columns bool) {
		var into Rows
		into.grow(1)
		if columns {
			data = encoder.EncodeAll(data, nil)
		}
		if err := into.LoadPage(0, data); err != nil && !errors.Is(err, buckets.ErrPage) {
			t.Fatal(err)
		}
	})
}
