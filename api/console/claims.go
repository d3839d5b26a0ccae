package console

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index/browse"
)

// claimed is how long a row of the queue counts as looked at by the editor who opened it.
const claimed = time.Minute

// claim is the row of the queue that an editor has open. A claim forbids nothing: the queue leads other editors past
// its row, and shows who is there.
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

// put claims a row for an editor. If another one has it, it does so only if forced, and returns who that is.
func (c *claims) put(one claim, force bool) (other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for by, old := range c.by {
		switch {
		case c.now().After(old.end):
			delete(c.by, by)
		case by != one.By && old.Row == one.Row:
			other = by
		}
	}
	if other == "" || force {
		one.end = c.now().Add(claimed)
		c.by[one.By] = one
	}
	return other
}

// take claims a row for an editor, unless another one has it.
func (c *claims) take(by string, row *browse.SuspectRow) bool {
	one := claim{By: by, Row: rowOf(row)}
	if c.put(one, false) != "" {
		return false
	}
	// If it is lost, another service leads an editor here, who then sees the other's decision.
	payload, _ := json.Marshal(one)
	_ = c.conn.Publish(bus.SubjectClaims, payload)
	return true
}

// another is the name of another editor with a row open; empty: there is none.
func (c *claims) another(than string, row *browse.SuspectRow) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for by, one := range c.by {
		if by != than && one.Row == rowOf(row) && !c.now().After(one.end) {
			return by
		}
	}
	return ""
}

func rowOf(row *browse.SuspectRow) uint32 {
	if row.Family != 0 {
		return row.Family
	}
	return row.Items[0].Ordinal
}
