package state

import "fmt"

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
