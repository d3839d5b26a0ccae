package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// The policies a source can have.
const (
	SourceNormal    = "normal"
	SourceLicensed  = "licensed"  // it may republish: never rejected, stays linked
	SourcePreferred = "preferred" // its articles are the originals
	SourceWatched   = "watched"   // its suspects come first
)

// SourcePolicy is what editors hold of a source.
type SourcePolicy struct {
	Number         uint64
	At             time.Time
	By             string
	Source, Policy string
	Reason         string
}

// SourcePolicies returns the policies in force, by source; sources that are
// not in it are normal.
func (x *Index) SourcePolicies(ctx context.Context) (map[string]SourcePolicy, error) {
	out := map[string]SourcePolicy{}
	log, err := x.sourcePolicies(ctx, `ORDER BY number`)
	for _, p := range log {
		out[p.Source] = p
	}
	return out, err
}

// SourcePolicyLog returns the last changes of policies, the newest first.
func (x *Index) SourcePolicyLog(ctx context.Context, limit int) ([]SourcePolicy, error) {
	return x.sourcePolicies(ctx, `ORDER BY number DESC LIMIT ?`, limit)
}

func (x *Index) sourcePolicies(ctx context.Context, order string, args ...any) ([]SourcePolicy, error) {
	var out []SourcePolicy
	err := each(ctx, x.reader, `SELECT number, at, by, source, policy, reason FROM source_policies `+order, func(r *sql.Rows) error {
		var p SourcePolicy
		var at int64
		err := r.Scan(&p.Number, &at, &p.By, &p.Source, &p.Policy, &p.Reason)
		p.At = time.UnixMilli(at).UTC()
		out = append(out, p)
		return err
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("index: source policies: %w", err)
	}
	return out, nil
}

// SetSourcePolicy records a source's policy. Setting what is in force already
// records nothing.
func (x *Index) SetSourcePolicy(ctx context.Context, p SourcePolicy) error {
	switch p.Policy {
	case SourceNormal, SourceLicensed, SourcePreferred, SourceWatched:
	default:
		return fmt.Errorf("policy %q: want normal, licensed, preferred or watched: %w", p.Policy, ErrQuery)
	}
	if p.Source == "" || p.By == "" {
		return fmt.Errorf("source, by: neither may be empty: %w", ErrQuery)
	}
	if p.At.IsZero() {
		p.At = time.Now()
	}
	x.write.Lock()
	defer x.write.Unlock()
	err := x.transaction(ctx, func() error {
		var now string
		err := x.w.conn.QueryRowContext(ctx, `SELECT policy FROM source_policies WHERE source = ? ORDER BY number DESC LIMIT 1`, p.Source).Scan(&now)
		if errors.Is(err, sql.ErrNoRows) {
			now, err = SourceNormal, nil
		}
		if err != nil || now == p.Policy {
			return err
		}
		_, err = x.w.conn.ExecContext(ctx, `INSERT INTO source_policies (at, by, source, policy, reason) VALUES (?,?,?,?,?)`, millis(p.At), p.By, p.Source, p.Policy, p.Reason)
		return err
	})
	if err != nil {
		return fmt.Errorf("index: policy of source %q: %w", p.Source, err)
	}
	return nil
}
