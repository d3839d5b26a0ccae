package gate

import (
	"encoding/json"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ackOf reads an answer of the stream to one message: nil if it is not stored, or the answer does not say.
func ackOf(answer *nats.Msg) *server.PubAck {
	var ack server.JSPubAckResponse
	// With headers: no responders, or too many requests. The beginning of a batch has no data.
	if len(answer.Header) > 0 || json.Unmarshal(answer.Data, &ack) != nil || ack.Error != nil {
		return nil
	}
	return ack.PubAck
}

// storedUpTo is the last sequence that the stream has written of a group of answers, 0 for none, and
// the number of messages written. A duplicate counts with the sequence of the first
// message, whose own answer may have been lost before it was synced.
func storedUpTo(group []*nats.Msg) (last uint64, messages int) {
	var again uint64
	for _, answer := range group {
		switch ack := ackOf(answer); {
		case ack == nil:
		case ack.Duplicate:
			again = max(again, ack.Sequence)
		default:
			last = ack.Sequence // in order; lower again after the stream was created again
			messages++
		}
	}
	return max(last, again), messages
}
