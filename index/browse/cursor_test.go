package browse

import (
	"errors"
	"testing"

	"jianguo/index/verdict"
	"jianguo/internal/must"
)

// FuzzDecodeCursor: a cursor is read, or refused as one that no page gave.
func FuzzDecodeCursor(f *testing.F) {
	type position struct{ At, Cluster int64 }
	decode := func(cursor string) (p position, err error) {
		err = must.Catch(func() { decodeCursor(cursor, "last", &p) })
		return p, err
	}
	f.Add(encodeCursor("last", position{7, 9}))
	f.Add("!")
	f.Fuzz(func(t *testing.T, cursor string) {
		before, err := decode(cursor)
		if err != nil {
			if !errors.Is(err, verdict.ErrQuery) {
				t.Fatal(err)
			}
			return
		}
		if again, err := decode(encodeCursor("last", before)); err != nil || again != before {
			t.Fatalf("%v and then %v: %v", before, again, err)
		}
	})
}
