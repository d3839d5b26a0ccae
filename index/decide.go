package index

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"jianguo/index/verdict"
)

// Decide applies an editor's decision, as one durable transaction, and logs
// it. The errors wrap ErrQuery (a field is wrong), ErrNotFound, or are a
// *ConflictError.
func (x *Index) Decide(ctx context.Context, req DecisionRequest) (*Decision, error) {
	if req.By == "" {
		return nil, fmt.Errorf("by: is missing: a decision has a name: %w", ErrQuery)
	}
	if req.At.IsZero() {
		req.At = time.Now()
	}
	x.write.Lock()
	defer x.write.Unlock()
	var out *Decision
	applied, _ := x.Applied()
	err := x.apply(ctx, applied, func(b *batch) error {
		d := &decision{batch: b, req: req, note: req.By}
		if req.Reason != "" {
			d.note += verdict.NoteSeparator(x.cfg.Language) + req.Reason
		}
		if err := d.apply(); err != nil {
			return err
		}
		if err := d.tell(); err != nil {
			return err
		}
		var err error
		out, err = d.log()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("index: %s: %w", req.Kind, err)
	}
	if len(out.Events) > 0 {
		select {
		case x.decided <- struct{}{}:
		default:
		}
	}
	for i := range out.Events {
		x.metrics.observe([]Outcome{{Changed: true, Event: out.Events[i]}})
	}
	return out, nil
}

// Decided is sent to after decisions that made events, which wait to be
// published: one who publishes them may receive from it. Several decisions may
// be one signal.
func (x *Index) Decided() <-chan struct{} { return x.decided }

func (d *decision) apply() error {
	if len(d.req.Items) > 0 {
		return d.together()
	}
	switch d.req.Kind {
	case Release:
		return d.release()
	case Reject:
		return d.reject()
	case Block:
		return d.block()
	case Merge:
		return d.merge()
	case MakeLead:
		return d.lead()
	case Undo:
		return d.undoing()
	}
	return fmt.Errorf("kind %q: want %s, %s, %s, %s, %s or %s: %w", d.req.Kind, Release, Reject, Block, Merge, MakeLead, Undo, ErrQuery)
}

// log appends the decision to the catalogue.
func (d *decision) log() (*Decision, error) {
	var number uint64
	if err := d.x.w.conn.QueryRowContext(d.ctx, `SELECT coalesce(max(number), 0) + 1 FROM decisions`).Scan(&number); err != nil {
		return nil, err
	}
	effects, err := json.Marshal(d.effects)
	if err != nil {
		return nil, err
	}
	_, err = d.x.w.conn.ExecContext(d.ctx, `INSERT INTO decisions (number, at, by, kind, cluster, item, other, reason, effects) VALUES (?,?,?,?,?,?,nullif(?,0),?,?)`,
		number, millis(d.req.At), d.req.By, d.req.Kind, d.cluster, ordinalOrNull(d.item), d.other, d.req.Reason, string(effects))
	if err != nil {
		return nil, err
	}
	for _, item := range d.items {
		if _, err := d.x.w.conn.ExecContext(d.ctx, `INSERT INTO decision_items (item, decision) VALUES (?,?)`, item, number); err != nil {
			return nil, err
		}
	}
	return &Decision{Number: number, At: d.req.At.UTC().Truncate(time.Millisecond), By: d.req.By, Kind: d.req.Kind, Cluster: d.cluster,
		Item: d.req.Item, Count: len(d.items), Other: d.other, Reason: d.req.Reason, Events: d.events}, nil
}
