// Package sources holds the policies of sources, in a log in the catalogue, and the passages that recur
// in the texts of each source.
package sources

import (
	"context"
	"database/sql"
	"fmt"
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
// the stream.
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
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Source string    `json:"source"`
	Policy string    `json:"policy"`
	// Strictness is the dial for the texts of this source (verdict.Policy.At); empty: that of
	// the service.
	Strictness string `json:"strictness,omitempty"`
	Reason     string `json:"reason,omitempty"`
	// Before is the policy that it replaced. Only Last sets it.
	Before string `json:"before,omitempty"`
}

// Table is the log of policies and the policies in force. Calls of Open and Use must not overlap. The other
// methods are safe for concurrent use.
type Table struct {
	DB *sql.DB // read-only connections to the catalogue

	inForce atomic.Pointer[map[string]string] // nil before Open; the map does not change
}

// Open puts the policies of the catalogue in force.
func (t *Table) Open(ctx context.Context) error {
	all, err := t.All(ctx)
	force := map[string]string{}
	for source, p := range all {
		force[source] = p.Stored()
	}
	t.inForce.Store(&force)
	return err
}

// InForce returns the policies in force by source. It omits normal sources. The caller
// must not change the map.
func (t *Table) InForce() map[string]string { return *t.inForce.Load() }

// Last returns the last changes, the newest first.
func (t *Table) Last(ctx context.Context, limit int) ([]Policy, error) {
	return t.log(ctx, `ORDER BY number DESC LIMIT ?`, limit)
}

// All returns the last change of each source. It omits normal sources.
func (t *Table) All(ctx context.Context) (map[string]Policy, error) {
	out := map[string]Policy{}
	log, err := t.log(ctx, `ORDER BY number`)
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
		return []any{(*sqlite.Millis)(&p.At), &p.By, &p.Source, &p.Policy, &p.Reason, &p.Before}
	}, `SELECT at, by, source, policy, reason,
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

// Validate names the first field that makes no sense.
func (p Policy) Validate() error {
	wrong := ""
	switch treatments := []string{Normal, Licensed, Preferred, Watched}; {
	case p.By == "":
		wrong = "by: is missing"
	case p.Source == "":
		wrong = "source: is missing"
	case !slices.Contains(treatments, p.Policy):
		wrong = fmt.Sprintf("policy %q: want one of %s", p.Policy, strings.Join(treatments, ", "))
	case p.Strictness != "" && !slices.Contains(verdict.Strictnesses, p.Strictness):
		wrong = fmt.Sprintf("strictness %q: want one of %s", p.Strictness, strings.Join(verdict.Strictnesses, ", "))
	default:
		return nil
	}
	return fmt.Errorf("%s: %w", wrong, verdict.ErrQuery)
}

// Insert appends a change to the log, for Use to put in force once it is committed. applied is the applied
// sequence before it.
func Insert(ctx context.Context, db sqlite.Querier, p Policy, applied uint64) error {
	_, err := db.ExecContext(ctx, `INSERT INTO source_policies (at, by, source, policy, reason, applied)
		VALUES (?,?,?,?,?,?)`, p.At.UnixMilli(), p.By, p.Source, p.Stored(), p.Reason, applied)
	return err
}

// Use puts a change in force.
func (t *Table) Use(p Policy) {
	next := maps.Clone(t.InForce())
	if next[p.Source] = p.Stored(); p.Stored() == Normal {
		delete(next, p.Source)
	}
	t.inForce.Store(&next)
}
