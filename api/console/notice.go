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
	} else if why := q.Get("refused"); why != "" {
		v.Text = p.T("没有勾选任何一篇，什么也没有改。", "Nothing was picked, and nothing changed.")
		if why == "many" {
			v.Text = p.T("首发只有一篇：请只勾选一篇。", "One item leads a story: pick one.")
		}
	} else if v.Done != nil && v.Done.Kind == index.Undo {
		v.Before = p.last(ctx)
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

// last is the editor's last decision that still stands.
func (p *page) last(ctx context.Context) *index.Decision {
	list, err := p.c.cfg.Index.Decisions(ctx, index.DecisionQuery{By: p.Name, Limit: 100})
	if err != nil {
		return nil // a notice without it is better than no page
	}
	for i := range list {
		if list[i].Kind != index.Undo && !list[i].Undone {
			return &list[i]
		}
	}
	return nil
}

// Count is how many items the decision was about.
func (n *notice) Count() int { return max(1, n.Done.Count) }

// Undoable reports whether the last step can be undone.
func (n *notice) Undoable() bool { return n.Done.Kind != index.Undo && !n.Done.Undone }
