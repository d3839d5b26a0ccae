package browse

import (
	"errors"
	"testing"

	"jianguo/index/verdict"
)

// FuzzDecodeCursor: a cursor is read, or refused as one that no page gave.
func FuzzDecodeCursor(f *testing.F) {
	c, err := encodeCursor(struct{ At, Cluster int64 }{7, 9})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(c)
	f.Add("!")
	f.Fuzz(func(t *testing.T, cursor string) {
		var position struct{ At, Cluster int64 }
		if err := decodeCursor(cursor, &position); err != nil {
			if !errors.Is(err, verdict.ErrQuery) {
				t.Fatal(err)
			}
			return
		}
		again, err := encodeCursor(position)
		if err != nil {
			t.Fatal(err)
		}
		before := position
		if err := decodeCursor(again, &position); err != nil || position != before {
			t.Fatalf("%v and then %v: %v", before, position, err)
		}
	})
}
