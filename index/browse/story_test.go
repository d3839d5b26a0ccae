package browse

import (
	"database/sql"
	"testing"
)

// TestPresumedOriginal: times of publication are compared with each other, never with an arrival.
func TestPresumedOriginal(t *testing.T) {
	const day, arrived = 86_400_000, 1_750_000_000_000
	published := func(before int64) sql.NullInt64 { return sql.NullInt64{Int64: arrived - before, Valid: true} }
	for name, c := range map[string]struct {
		lead, copied sql.NullInt64
		want         uint32
	}{
		"the copy was published first": {published(day), published(2 * day), 2},
		"the lead was":                 {published(2 * day), published(day), 1},
		"the lead has no time":         {sql.NullInt64{}, published(2 * day), 1},
		"the copy has none":            {published(day), sql.NullInt64{}, 1},
	} {
		s := newStory(1)
		s.add(&member{ordinal: 1, published: c.lead, arrived: arrived})
		s.add(&member{ordinal: 2, published: c.copied, arrived: arrived + day})
		if got := s.presumed(); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
