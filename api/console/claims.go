package console

import (
	"cmp"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index/browse"
)

// claimTime is how long a row of the queue counts as looked at by the editor that opened it.
const claimTime = time.Minute

// claim is the row of the queue that an editor has open. A claim forbids nothing: the queue leads other editors past
// its row, and shows them the editor's name.
type claim struct {
	By  string `json:"by"`
	Row uint32 `json:"row"` // the family; of none, the ordinal
	end time.Time
}

// claims are those of all services on the bus.
type claims struct {
	conn *nats.Conn
	now  func() time.Time

	mu sync.Mutex
	by map[string]claim // the last one of an editor; guarded by mu
}

func newClaims(conn *nats.Conn, now func() time.Time) (*claims, error) {
	c := &claims{conn: conn, now: now, by: map[string]claim{}}
	_, err := conn.Subscribe(bus.SubjectClaims, func(m *nats.Msg) {
		var one claim
		if json.Unmarshal(m.Data, &one) == nil && len(one.By) <= maxProxyName {
			c.put(one, true)
		}
	})
	return c, err
}

// put claims a row for an editor. If another one has it, it does so only if forced.
func (c *claims) put(one claim, force bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.by, func(_ string, old claim) bool { return c.now().After(old.end) })
	if !force && c.holder(one) != "" {
		return false
	}
	one.end = c.now().Add(claimTime)
	c.by[one.By] = one
	return true
}

// holder is the name of another editor with a row open; empty: there is none. It needs mu.
func (c *claims) holder(one claim) string {
	for by, other := range c.by {
		if by != one.By && other.Row == one.Row && !c.now().After(other.end) {
			return by
		}
	}
	return ""
}

// take claims a row for an editor, unless another one has it.
func (c *claims) take(by string, row *browse.SuspectRow) bool {
	one := claim{By: by, Row: rowOf(row)}
	if !c.put(one, false) {
		return false
	}
	// If the message is lost, another service leads an editor to this row, where the first one's decision shows.
	payload, _ := json.Marshal(one)
	_ = c.conn.Publish(bus.SubjectClaims, payload)
	return true
}

// otherHolder is the name of another editor with a row open; empty: there is none.
func (c *claims) otherHolder(than string, row *browse.SuspectRow) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holder(claim{By: than, Row: rowOf(row)})
}

func rowOf(row *browse.SuspectRow) uint32 { return cmp.Or(row.Family, row.Items[0].Ordinal) }
