package gate

import (
	"bytes"
	"encoding/json"
)

// What the stream says of a message.
type outcome int

const (
	refused   outcome = iota // it is not stored, or nothing is said of it
	duplicate                // it was stored before
	kept                     // it is stored
)

// sequence reads what the stream said, and of which sequence.
func (a *answer) sequence(stream string) (seq uint64, what outcome) {
	if a.head > 0 || len(a.body) == 0 {
		return 0, refused // no responders, too many requests; the beginning of a batch
	}
	// As it usually is.
	if rest, ok := bytes.CutPrefix(a.body, []byte(`{"stream":"`+stream+`","seq":`)); ok {
		for i, c := range rest {
			if c < '0' || c > '9' {
				if i > 0 && i < 20 && c == '}' {
					return seq, kept
				}
				break
			}
			seq = 10*seq + uint64(c-'0')
		}
	}
	var ack struct {
		Error     json.RawMessage `json:"error"`
		Seq       uint64          `json:"seq"`
		Duplicate bool            `json:"duplicate"`
	}
	switch err := json.Unmarshal(a.body, &ack); {
	case err != nil || ack.Error != nil:
		return 0, refused
	case ack.Duplicate:
		return ack.Seq, duplicate
	}
	return ack.Seq, kept
}

// stored is the last sequence that the stream has written of a group, 0 for none, and
// how many messages were. A duplicate counts for the first of the two, whose own
// answer may have been lost before it was synced.
func stored(stream string, group []answer) (last uint64, messages int) {
	var again uint64
	for i := range group {
		switch seq, what := group[i].sequence(stream); what {
		case kept:
			last = seq // they come in order, and begin anew where the stream does
			messages++
		case duplicate:
			again = max(again, seq)
		}
	}
	return max(last, again), messages
}
