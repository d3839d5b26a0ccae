// Package sources holds the policies of sources, in a log in the catalogue, and the passages that recur
// in the texts of each source.
package sources

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	// Before is the policy that it replaced. Only the log has it.
	Before string `json:"before,omitempty"`
}

// InForce returns the policies in force by source, as the log of a catalogue has them. It omits normal sources.
func InForce(ctx context.Context, db sqlite.Querier) (map[string]Policy, error) {
	force := map[string]Policy{}
	log, err := policies(ctx, db, `ORDER BY number`)
	for _, p := range log {
		force[p.Source] = p
		if p.Stored() == Normal {
			delete(force, p.Source)
		}
	}
	return force, err
}

// Last returns the last changes, the newest first.
func Last(ctx context.Context, db sqlite.Querier, limit int) ([]Policy, error) {
	return policies(ctx, db, `ORDER BY number DESC LIMIT ?`, limit)
}

func policies(ctx context.Context, db sqlite.Querier, order string, args ...any) ([]Policy, error) {
	out, err := sqlite.All(ctx, db, func(p *Policy) []any {
		return []any{(*sqlite.Millis)(&p.At), &p.By, &p.Source, &p.Policy, &p.Reason, &p.Before}
	}, `SELECT at, by, source, policy, reason,
		coalesce((SELECT policy FROM source_policies b WHERE b.source = p.source AND b.number < p.number
			ORDER BY b.number DESC LIMIT 1), 'normal')
		FROM source_policies p `+order, args...)
	for i := range out {
		p := &out[i]
		p.Policy, p.Strictness, _ = strings.Cut(p.Policy, "/")
	}
	return out, wrap.Err(err, "source policies")
}

// Stored is a policy as it is stored and listed: how the source is treated, and its strictness if it has one, such as
// `watched` or `watched/copies`.
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

// Insert appends a change to the log. applied is the applied sequence before it.
func Insert(ctx context.Context, db sqlite.Querier, p Policy, applied uint64) error {
	_, err := db.ExecContext(ctx, `INSERT INTO source_policies (at, by, source, policy, reason, applied)
		VALUES (?,?,?,?,?,?)`, p.At.UnixMilli(), p.By, p.Source, p.Stored(), p.Reason, applied)
	return err
}
