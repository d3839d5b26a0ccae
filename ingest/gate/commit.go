package gate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Bounds of a batch. JetStream takes 1,000 messages; it writes them twice, and
// makes and removes a store for them with four syncs and some thirty other calls
// to the file system, which takes as long as a dozen single messages.
const (
	minBatch   = 12
	maxBatch   = 1000
	batchBytes = 4 << 20
)

// together is how many of the messages that wait, one at least, may go on
// together: of those that go as they are, or of those that may be one batch.
func together(held []message) int {
	ids := map[string]struct{}{}
	bytes := 0
	for i := range held {
		m := &held[i]
		if m.alone != held[0].alone || i == maxBatch || i > 0 && bytes+len(m.body) > batchBytes {
			return i
		}
		if m.id != "" && !m.alone {
			if _, twice := ids[m.id]; twice {
				return i
			}
			ids[m.id] = struct{}{}
		}
		bytes += len(m.body)
	}
	return len(held)
}

// commit takes what waits to the stream, one group after the other.
func (g *Gate) commit() {
	defer g.passed.Done()
	for {
		group := g.take()
		if group == nil {
			return
		}
		start := time.Now()
		if group[0].alone {
			g.pass(group)
		} else {
			g.store(group)
			g.stats.commit.Observe(time.Since(start).Seconds())
		}
		g.mu.Lock()
		g.busy = false
		g.changed.Broadcast()
		g.mu.Unlock()
	}
}

// pass publishes messages as they are; the stream answers to their publishers.
// Nothing is done again, so nothing need be waited for.
func (g *Gate) pass(group []message) {
	g.build = g.build[:0]
	for i := range group {
		g.build = group[i].appendAs(g.build, g.cfg.Out, group[i].reply)
	}
	g.send()
	g.stats.alone.Add(float64(len(group)))
}

// store publishes a group and returns once each message has its answer, or none
// will come.
func (g *Gate) store(group []message) {
	if len(group) < minBatch {
		g.storeEach(group)
		return
	}
	a := g.storeBatch(group)
	if a == nil {
		return
	}
	var ack struct {
		Error *server.ApiError `json:"error"`
		Seq   uint64           `json:"seq"`
		Count int              `json:"count"`
	}
	err := json.Unmarshal(a.data, &ack)
	switch {
	case a.noResponders:
		g.answerAll(group, unavailable(g.cfg.Stream))
	case err != nil || ack.Error == nil && (ack.Count != len(group) || ack.Seq < uint64(len(group))):
		g.log.Error("the stream's answer to a batch was not understood: its publishers get none", "answer", string(a.data))
	case ack.Error == nil && g.cfg.Fail("stored") != nil:
	case ack.Error == nil:
		g.acknowledge(group, ack.Seq-uint64(len(group))+1)
		g.stats.batched.Add(float64(len(group)))
	case ack.Error.ErrCode == uint16(server.JSStreamStoreFailedF) || len(group) < 2*minBatch:
		// A stream that is full refuses each at no cost, and of a few each is
		// soon stored.
		g.next()
		g.storeEach(group)
	default:
		// One may be at fault, such as one that the stream has already.
		half := len(group) / 2
		g.next()
		g.store(group[:half])
		g.next()
		g.store(group[half:])
	}
}

// storeEach publishes messages one by one. The stream takes them in order, so
// the gate waits for the last only, and the others are answered directly.
func (g *Gate) storeEach(group []message) {
	last := len(group) - 1
	g.build = g.build[:0]
	for i := range group[:last] {
		g.build = group[i].appendAs(g.build, g.cfg.Out, group[i].reply)
	}
	g.build = group[last].appendAs(g.build, g.cfg.Out, g.replyTo())
	g.send()
	a := g.await()
	switch {
	case a == nil:
	case a.noResponders:
		// There is no stream, which those before it were not told.
		g.answerAll(group, unavailable(g.cfg.Stream))
	case g.cfg.Fail("stored") != nil:
	default:
		g.answerAll(group[last:], a.data)
		g.stats.single.Add(float64(len(group)))
	}
}

// storeBatch publishes an atomic batch and returns its answer, nil if none came.
func (g *Gate) storeBatch(group []message) *answer {
	g.batches++
	id := g.batchID + strconv.FormatUint(g.batches, 36)
	g.build = g.build[:0]
	for i := range group {
		reply := ""
		if i == len(group)-1 {
			reply = g.replyTo()
		}
		g.build = group[i].appendInBatch(g.build, g.cfg.Out, reply, id, i+1, i == len(group)-1)
	}
	g.send()
	return g.await()
}

// acknowledge answers as the stream does, to messages stored from sequence
// first on.
func (g *Gate) acknowledge(group []message, first uint64) {
	ack := fmt.Appendf(nil, `{"stream":%q,"seq":`, g.cfg.Stream)
	front := len(ack)
	g.build = g.build[:0]
	for i := range group {
		if group[i].reply == "" {
			continue
		}
		ack = append(strconv.AppendUint(ack[:front], first+uint64(i), 10), '}')
		g.build = appendPub(g.build, group[i].reply, ack)
	}
	g.send()
}

// answerAll gives messages the same answer.
func (g *Gate) answerAll(group []message, data []byte) {
	g.build = g.build[:0]
	for i := range group {
		if group[i].reply != "" {
			g.build = appendPub(g.build, group[i].reply, data)
		}
	}
	g.send()
}

// send hands what was built to the connection, if there is one.
func (g *Gate) send() {
	g.mu.Lock()
	l := g.link
	g.mu.Unlock()
	if l != nil {
		l.write(g.build)
	}
	if cap(g.build) > 2*batchBytes {
		g.build = nil
	}
}

// next readies another acknowledgement to be awaited.
func (g *Gate) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.number++
	g.answer = nil
}

func (g *Gate) replyTo() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inbox + strconv.FormatUint(g.number, 10)
}

// await returns the answer to what was sent, nil if it was lost.
func (g *Gate) await() *answer {
	late := false
	timer := time.AfterFunc(patience, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		late = true
		g.changed.Broadcast()
	})
	defer timer.Stop()
	g.mu.Lock()
	for g.answer == nil && !g.lost && !late {
		g.changed.Wait()
	}
	a := g.answer
	g.mu.Unlock()
	if a == nil {
		g.log.Error("the stream did not answer: publishers are left without an acknowledgement", "late", late)
		return nil
	}
	return a
}

// problem is an answer in JetStream's form.
func problem(stream string, e *server.ApiError) []byte {
	b, err := json.Marshal(&server.JSPubAckResponse{PubAck: &server.PubAck{Stream: stream}, Error: e})
	if err != nil {
		panic(err) // of plain fields
	}
	return b
}

func tooMany(stream string) []byte { return problem(stream, server.NewJSStreamTooManyRequestsError()) }

func unavailable(stream string) []byte { return problem(stream, server.NewJSClusterNotAvailError()) }
