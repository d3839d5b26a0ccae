package index

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// The policies a source can have. They take effect with the next message:
// verdicts are those of the policies that the catalogue held at that place of
// the stream (SourcePolicy.Applied).
const (
	SourceNormal = "normal"
	// SourceLicensed may republish: what would be a duplicate or a suspect is
	// unique, by the rule ByLicence, with Of saying what it is a copy of. Only a
	// copy of something blocked is rejected all the same.
	SourceLicensed = "licensed"
	// SourcePreferred has the originals: its copy of another source's lead takes
	// the lead over, by the rule ByPreference, and the earlier lead becomes a copy
	// of it. A lead that an editor chose stays, as does one of another preferred
	// source, and a blocked text; a licensed lead stays accepted, in a cluster of
	// its own.
	SourcePreferred = "preferred"
	SourceWatched   = "watched" // its suspects come first
)

// SourcePolicy is what editors hold of a source.
type SourcePolicy struct {
	Number  uint64    `json:"number"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Source  string    `json:"source"`
	Policy  string    `json:"policy"`
	Reason  string    `json:"reason,omitempty"`
	Applied uint64    `json:"applied"` // the applied sequence after which it took effect
	// Before is the policy it took the place of. Only in a log.
	Before string `json:"before,omitempty"`
}

// sourceTable is the log of the policies of sources, and their file.
type sourceTable struct{ *catalogue }

// sourcePoliciesAt returns the policies as they were after a change; -1: the
// last one.
func (x sourceTable) sourcePoliciesAt(ctx context.Context, number int64) (map[string]SourcePolicy, error) {
	out := map[string]SourcePolicy{}
	log, err := x.sourcePolicies(ctx, `WHERE ? < 0 OR number <= ? ORDER BY number`, number, number)
	for _, p := range log {
		out[p.Source] = p
		if p.Policy == SourceNormal {
			delete(out, p.Source)
		}
	}
	return out, err
}

func (x sourceTable) sourcePolicies(ctx context.Context, order string, args ...any) ([]SourcePolicy, error) {
	var out []SourcePolicy
	err := each(ctx, x.reader, `SELECT number, at, by, source, policy, reason, applied,
		coalesce((SELECT policy FROM source_policies b WHERE b.source = p.source AND b.number < p.number ORDER BY b.number DESC LIMIT 1), 'normal')
		FROM source_policies p `+order, func(r *sql.Rows) error {
		var p SourcePolicy
		var at int64
		err := r.Scan(&p.Number, &at, &p.By, &p.Source, &p.Policy, &p.Reason, &p.Applied, &p.Before)
		p.At = time.UnixMilli(at).UTC()
		out = append(out, p)
		return err
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("index: source policies: %w", err)
	}
	return out, nil
}

func checkSourcePolicy(source, policy string) error {
	switch policy {
	case SourceNormal, SourceLicensed, SourcePreferred, SourceWatched:
	default:
		return fmt.Errorf("policy %q: want normal, licensed, preferred or watched: %w", policy, ErrQuery)
	}
	if source == "" {
		return fmt.Errorf("source: is missing: %w", ErrQuery)
	}
	return nil
}

// setSourcePolicies appends changes to the catalogue, in one transaction, and
// puts them in force. Guarded by Index.write.
func (x sourceTable) setSourcePolicies(ctx context.Context, changes []SourcePolicy) error {
	applied, _ := x.Applied()
	next := map[string]string{}
	for source, policy := range x.sourcePolicyMap() {
		next[source] = policy
	}
	err := x.transaction(ctx, func() error {
		for _, p := range changes {
			if err := checkSourcePolicy(p.Source, p.Policy); err != nil {
				return err
			}
			now, ok := next[p.Source]
			if p.Policy == now || !ok && p.Policy == SourceNormal {
				continue
			}
			_, err := x.w.conn.ExecContext(ctx, `INSERT INTO source_policies (at, by, source, policy, reason, applied) VALUES (?,?,?,?,?,?)`,
				millis(p.At), p.By, p.Source, p.Policy, p.Reason, applied)
			if err != nil {
				return err
			}
			next[p.Source] = p.Policy
			if p.Policy == SourceNormal {
				delete(next, p.Source)
			}
		}
		return nil
	})
	if err == nil {
		x.sourcePolicy.Store(&next)
	}
	return err
}

// sourcePolicyMap is the policies in force, those that are normal left out. It
// is not to be changed.
func (x *catalogue) sourcePolicyMap() map[string]string {
	if m := x.sourcePolicy.Load(); m != nil {
		return *m
	}
	return nil
}
