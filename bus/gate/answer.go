package gate

import (
	"encoding/json"

	"github.com/nats-io/nats.go"
)

// answer is an answer of the stream to one message, addressed to the publisher. It has no
// subject if the publisher wants none.
type answer = *nats.Msg

// outcome is what an answer of the stream says of a message.
type outcome int

const (
	refused   outcome = iota // it is not stored, or the answer does not say
	duplicate                // it was stored before
	kept                     // it is stored
)

// sequence reads an answer of the stream.
func sequence(a answer) (seq uint64, what outcome) {
	if len(a.Header) > 0 || len(a.Data) == 0 {
		return 0, refused // no responders, too many requests; the beginning of a batch
	}
	var ack struct {
		Error     json.RawMessage `json:"error"`
		Seq       uint64          `json:"seq"`
		Duplicate bool            `json:"duplicate"`
	}
	switch err := json.Unmarshal(a.Data, &ack); {
	case err != nil || ack.Error != nil:
		return 0, refused
	case ack.Duplicate:
		return ack.Seq, duplicate
	}
	return ack.Seq, kept
}

// stored is the last sequence that the stream has written of a group, 0 for none, and
// the number of messages written. A duplicate counts with the sequence of the first
// message, whose own answer may have been lost before it was synced.
func stored(group []answer) (last uint64, messages int) {
	var again uint64
	for i := range group {
		switch seq, what := sequence(group[i]); what {
		case kept:
			last = seq // in order; lower again after the stream was created again
			messages++
		case duplicate:
			again = max(again, seq)
		}
	}
	return max(last, again), messages
}
