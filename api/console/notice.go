package console

import (
	"context"
	"strconv"

	"jianguo/index"
)

// notices reads what the last step did from the address.
func (p *page) notices(ctx context.Context) {
	decision := func(number string) *index.Decision {
		n, err := strconv.ParseUint(number, 10, 64)
		if err == nil {
			if d, err := p.c.cfg.Index.Decision(ctx, n); err == nil {
				return d
			}
		}
		return nil
	}
	q := p.e.QueryParams()
	v := &notice{Done: decision(q.Get("done"))}
	if q.Get("conflict") != "" {
		if v.Conflict = decision(q.Get("conflict")); v.Conflict == nil {
			v.Text = p.T("未能执行：这一条的状态已经变了，请看当前内容再决定。", "Not done: this has changed in the meantime. See how it stands now, then decide.")
		}
	} else if v.Done == nil && q.Get("saved") != "" {
		v.Text, v.Of = p.T("已记录", "Recorded"), q.Get("of")
		if name := p.Finding(q.Get("saved")); name != "" {
			v.Text += p.T("：", ": ") + name
		}
		v.Found = v.Of != "" && q.Get("saved") != index.FoundUndone
		if v.Of == "" {
			v.Text += p.T("。", ".")
		}
	}
	if v.Done != nil || v.Conflict != nil || v.Text != "" {
		p.Notice = v
	}
}

// Count is how many items the decision was about.
func (n *notice) Count() int { return max(1, n.Done.Count) }

// Undoable reports whether the last step can be undone.
func (n *notice) Undoable() bool { return n.Done.Kind != index.Undo && !n.Done.Undone }
