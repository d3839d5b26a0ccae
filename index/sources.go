package index

import (
	"context"
	"database/sql"
	"errors"
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

// SourcePolicies returns the policies in force, by source; sources that are
// not in it are normal.
func (x *Index) SourcePolicies(ctx context.Context) (map[string]SourcePolicy, error) {
	return x.sourcePoliciesAt(ctx, -1)
}

// sourcePoliciesAt returns the policies as they were after a change; -1: the
// last one.
func (x *Index) sourcePoliciesAt(ctx context.Context, number int64) (map[string]SourcePolicy, error) {
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

// SourcePolicyLog returns the last changes of policies, the newest first.
func (x *Index) SourcePolicyLog(ctx context.Context, limit int) ([]SourcePolicy, error) {
	return x.sourcePolicies(ctx, `ORDER BY number DESC LIMIT ?`, limit)
}

func (x *Index) sourcePolicies(ctx context.Context, order string, args ...any) ([]SourcePolicy, error) {
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

// SetSourcePolicy gives a source a policy, for all messages that are applied
// from now on, and writes it into the sources file. Setting what is in force
// already changes nothing.
func (x *Index) SetSourcePolicy(ctx context.Context, p SourcePolicy) error {
	if p.By == "" {
		return fmt.Errorf("by: is missing: %w", ErrQuery)
	}
	if p.At.IsZero() {
		p.At = time.Now()
	}
	x.write.Lock()
	defer x.write.Unlock()
	if err := x.setSourcePolicies(ctx, []SourcePolicy{p}); err != nil {
		return fmt.Errorf("index: policy of source %q: %w", p.Source, err)
	}
	if err := x.writeSources(ctx); err != nil {
		// The catalogue holds it, and the next start brings the file up to date.
		x.log.ErrorContext(ctx, "the policy is in force, but the sources file could not be written", "source", p.Source, "policy", p.Policy, "error", err)
	}
	return nil
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
func (x *Index) setSourcePolicies(ctx context.Context, changes []SourcePolicy) error {
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
func (x *Index) sourcePolicyMap() map[string]string {
	if m := x.sourcePolicy.Load(); m != nil {
		return *m
	}
	return nil
}

// takeOver makes the new version r of a preferred source the lead of its
// cluster, in the place of what it is a copy of.
func (b *batch) takeOver(r *itemRow) error {
	old, err := b.version(uint32(r.of.Int64))
	if err != nil {
		return err
	}
	source, _, err := b.x.w.standing(b.ctx, old.ordinal)
	if err != nil {
		return err
	}
	previous := old.state.verdict
	next := old.state
	next.rule, next.of = ByPreference, r.ordinal
	if b.x.sourcePolicyMap()[source] != SourceLicensed {
		if err := errors.Join(b.join(r.cluster, r.ordinal, r.arrivedAt), b.setLead(r.cluster, r.ordinal)); err != nil {
			return err
		}
		next.verdict = Duplicate
	} else {
		// It is never rejected: it goes on as the lead of a cluster that bears the
		// newcomer's number, which nothing else will ever found.
		if err := b.join(r.cluster, r.ordinal, r.arrivedAt); err != nil {
			return err
		}
		if err := errors.Join(b.leave(r.cluster, old.ordinal), b.setLead(r.cluster, r.ordinal)); err != nil {
			return err
		}
		at := old.arrivedAt
		if err := b.setCluster(clusterRow{id: r.ordinal, lead: old.ordinal, size: 1, first: at, last: at}); err != nil {
			return err
		}
		next.verdict, next.rule, next.cluster = Unique, ByLicence, r.ordinal
	}
	if err := b.setState(old, old.flags, next); err != nil {
		return err
	}
	_, err = b.emit(eventRow{at: r.arrivedAt, verdict: next.verdict, previous: previous, cause: CausePromotion, rule: next.rule,
		of: ordinalOrNull(next.of), cluster: next.cluster, revision: next.revision}, &old.itemRow)
	return err
}
