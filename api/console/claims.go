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
	conn *nats.Conn // nil: this service is alone
	now  func() time.Time

	mu sync.Mutex
	by map[string]claim // the last one of an editor; guarded by mu
}

func newClaims(conn *nats.Conn, now func() time.Time) (*claims, error) {
	c := &claims{conn: conn, now: now, by: map[string]claim{}}
	if conn == nil {
		return c, nil
	}
	_, err := conn.Subscribe(bus.SubjectClaims, func(m *nats.Msg) {
		var one claim
		if json.Unmarshal(m.Data, &one) == nil && len(one.By) <= maxProxyName {
			c.keep(one)
		}
	})
	return c, err
}

func (c *claims) keep(one claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(one)
}

func (c *claims) put(one claim) {
	for by, old := range c.by {
		if c.now().After(old.end) {
			delete(c.by, by)
		}
	}
	one.end = c.now().Add(claimed)
	c.by[one.By] = one
}

// take claims a row for an editor, unless another one has it.
func (c *claims) take(by string, row *browse.SuspectRow) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := claim{By: by, Row: rowOf(row)}
	if c.other(one) != "" {
		return false
	}
	c.put(one)
	if c.conn != nil {
		// If it is lost, another service leads an editor here, who then sees the other's decision.
		payload, _ := json.Marshal(one)
		_ = c.conn.Publish(bus.SubjectClaims, payload)
	}
	return true
}

// another is the name of another editor with a row open; empty: there is none.
func (c *claims) another(by string, row *browse.SuspectRow) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.other(claim{By: by, Row: rowOf(row)})
}

func (c *claims) other(than claim) string {
	for by, one := range c.by {
		if by != than.By && one.Row == than.Row && !c.now().After(one.end) {
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
