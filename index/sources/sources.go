// Package sources holds the policies of sources: the log in the catalogue, the policies
// in force, and a file with a copy of them. Operators may edit the file while the
// service is stopped.
package sources

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// The policies a source can have. They take effect with the next message:
// verdicts are those of the policies that the catalogue held at that place of
// the stream (Policy.Applied).
const (
	Normal = "normal"
	// Licensed may republish: what would be a duplicate or a suspect is
	// unique, by the rule verdict.ByLicence, with Of saying what it is a copy of. Only a
	// copy of something blocked is rejected all the same.
	Licensed = "licensed"
	// Preferred has the originals: its copy of another source's lead takes
	// the lead over, by the rule verdict.ByPreference, and the earlier lead becomes a copy
	// of it. A lead that an editor chose stays, as does one of another preferred
	// source, and a blocked text; a licensed lead stays accepted, in a cluster of
	// its own.
	Preferred = "preferred"
	Watched   = "watched" // its suspects come first
)

// Policy is what editors decided about a source.
type Policy struct {
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Source string    `json:"source"`
	Policy string    `json:"policy"`
	// Strictness is the dial for the texts of this source (verdict.Policy.At); empty: that of
	// the service.
	Strictness string `json:"strictness,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Applied    uint64 `json:"applied"` // the applied sequence after which it took effect
	// Before is the policy that it replaced. Only Last sets it.
	Before string `json:"before,omitempty"`
}

// Table is the log of policies, the policies in force, and the file. Every exported field is required. Calls of Open,
// Set and WriteFile must not overlap. The other methods are safe for concurrent use.
type Table struct {
	DB  *sql.DB // read-only connections to the catalogue
	Dir string  // the data directory
	Log *slog.Logger
	// Transact runs f in a transaction of the catalogue's one writer, which is rolled back if f returns an error.
	Transact func(ctx context.Context, f func(conn *sql.Conn) error) error
	// Applied returns the applied sequence of the last message.
	Applied func() uint64

	inForce atomic.Pointer[map[string]string] // nil before Open; the map does not change
}

// InForce returns the policies in force by source. It omits normal sources. The caller
// must not change the map.
func (t *Table) InForce() map[string]string {
	if force := t.inForce.Load(); force != nil {
		return *force
	}
	return nil
}

// Last returns the last changes, the newest first.
func (t *Table) Last(ctx context.Context, limit int) ([]Policy, error) {
	return t.log(ctx, `ORDER BY number DESC LIMIT ?`, limit)
}

// At returns the last change of each source, as of a change; -1: the last one. It omits normal sources.
func (t *Table) At(ctx context.Context, number int64) (map[string]Policy, error) {
	out := map[string]Policy{}
	log, err := t.log(ctx, `WHERE ? < 0 OR number <= ? ORDER BY number`, number, number)
	for _, p := range log {
		out[p.Source] = p
		if p.Stored() == Normal {
			delete(out, p.Source)
		}
	}
	return out, err
}

func (t *Table) log(ctx context.Context, order string, args ...any) ([]Policy, error) {
	out, err := sqlite.All(ctx, t.DB, func(p *Policy) []any {
		return []any{&p.Number, (*sqlite.Millis)(&p.At), &p.By, &p.Source, &p.Policy, &p.Reason, &p.Applied, &p.Before}
	}, `SELECT number, at, by, source, policy, reason, applied,
		coalesce((SELECT policy FROM source_policies b WHERE b.source = p.source AND b.number < p.number
			ORDER BY b.number DESC LIMIT 1), 'normal')
		FROM source_policies p `+order, args...)
	for i := range out {
		p := &out[i]
		p.Policy, p.Strictness = Parts(p.Policy)
	}
	return out, wrap.Err(err, "source policies")
}

// Parts splits a policy as it is stored and listed, such as `watched` or `watched/copies`, into
// how the source is treated and its strictness, which may be empty.
func Parts(policy string) (treatment, strictness string) {
	treatment, strictness, _ = strings.Cut(policy, "/")
	return treatment, strictness
}

// Stored is the inverse of Parts.
func (p Policy) Stored() string {
	if p.Strictness == "" {
		return p.Policy
	}
	return p.Policy + "/" + p.Strictness
}

func check(source, policy string) error {
	treatment, strictness := Parts(policy)
	switch treatment {
	case Normal, Licensed, Preferred, Watched:
	default:
		return fmt.Errorf("policy %q: want normal, licensed, preferred or watched: %w", policy, verdict.ErrQuery)
	}
	if strictness != "" && !slices.Contains(verdict.Strictnesses, strictness) {
		return fmt.Errorf("strictness %q: want %s: %w", strictness, strings.Join(verdict.Strictnesses, ", "),
			verdict.ErrQuery)
	}
	if source == "" {
		return fmt.Errorf("source: is missing: %w", verdict.ErrQuery)
	}
	return nil
}

// Set appends changes to the catalogue in one transaction, and puts them in force. It
// skips a change to the policy that a source already has.
func (t *Table) Set(ctx context.Context, changes []Policy) error {
	applied, next := t.Applied(), maps.Clone(t.InForce())
	err := t.Transact(ctx, func(conn *sql.Conn) error {
		for _, p := range changes {
			policy := p.Stored()
			if err := check(p.Source, policy); err != nil {
				return err
			}
			if policy == cmp.Or(next[p.Source], Normal) {
				continue
			}
			_, err := conn.ExecContext(ctx, `INSERT INTO source_policies (at, by, source, policy, reason, applied)
				VALUES (?,?,?,?,?,?)`,
				p.At.UnixMilli(), p.By, p.Source, policy, p.Reason, applied)
			if err != nil {
				return err
			}
			if next[p.Source] = policy; policy == Normal {
				delete(next, p.Source)
			}
		}
		return nil
	})
	if err == nil {
		t.inForce.Store(&next)
	}
	return err
}
