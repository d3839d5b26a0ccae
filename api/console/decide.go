package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"jianguo/index"
)

// notices reads what the last step did from the address.
func (p *page) notices(ctx context.Context) {
	decision := func(number string) *index.Decision {
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil
		}
		d, err := p.c.cfg.Index.Decision(ctx, n)
		if err != nil {
			return nil
		}
		return d
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

// request is the decision that a form asks for.
func (c *Console) request(ctx context.Context, p *page) (req index.DecisionRequest, err error) {
	form := p.e.Request().PostForm
	number := func(key string) uint64 {
		n, _ := strconv.ParseUint(form.Get(key), 10, 64) // 0 is refused where one is needed
		return n
	}
	req = index.DecisionRequest{Kind: form.Get("kind"), Item: form.Get("item"), Cluster: uint32(number("cluster")), Into: uint32(number("into")), Undo: number("undo"),
		Seen: number("seen"), By: p.Name, Reason: limited(form.Get("reason")), At: c.cfg.Now()}
	if was := form.Get("was"); was != "" {
		if err := req.Expect.UnmarshalText([]byte(was)); err != nil {
			return req, fmt.Errorf("was %q: %w", was, index.ErrQuery)
		}
	}
	if family := number("family"); family != 0 {
		req.Items, err = c.family(ctx, p, uint32(family), number("upto"), int(number("waiting")))
		return req, err
	}
	if !form.Has("several") {
		return req, nil
	}
	// The items picked from a list, each with its last event at that time.
	for _, value := range form["pick"] {
		seen, id, _ := strings.Cut(value, " ")
		n, err := strconv.ParseUint(seen, 10, 64)
		if err != nil {
			return req, fmt.Errorf("pick %q: %w", value, index.ErrQuery)
		}
		req.Items = append(req.Items, index.DecisionItem{Item: id, Seen: n})
	}
	switch {
	case len(req.Items) == 0:
		return req, fmt.Errorf("%s: %w", p.T("没有勾选任何一篇", "nothing was picked"), index.ErrQuery)
	case req.Kind == index.MakeLead && len(req.Items) > 1:
		return req, fmt.Errorf("%s: %w", p.T("首发只有一篇，请只勾选一篇", "one item leads a story: pick one"), index.ErrQuery)
	case len(req.Items) == 1:
		req.Item, req.Seen, req.Items = req.Items[0].Item, req.Items[0].Seen, nil
	}
	return req, nil
}

// decide applies a decision of the signed-in editor and returns to where it
// was made. If another editor was first, the page shows who decided what.
func (c *Console) decide(ctx context.Context, p *page) (string, error) {
	form := p.e.Request().PostForm
	back := inside(form.Get("to"))
	req, err := c.request(ctx, p)
	var d *index.Decision
	if err == nil {
		d, err = c.cfg.Index.Decide(ctx, req)
	}
	var conflict *index.ConflictError
	if errors.As(err, &conflict) {
		c.follow(ctx)
		return with(back, "conflict", conflictNumber(conflict)), nil
	}
	if err != nil {
		return "", err
	}
	c.follow(ctx)
	if next := form.Get("next"); next != "" {
		back = inside(next)
	}
	if d.Kind == index.Undo && form.Has("again") {
		back = and(back, "at", form.Get("again"))
	}
	return with(back, "done", strconv.FormatUint(d.Number, 10)), nil
}

// family lists the items of a row of the queue. The editor saw so many of them
// waiting when the last event was upto; if fewer wait now, another editor has
// decided about one of them.
func (c *Console) family(ctx context.Context, p *page, family uint32, upto uint64, waiting int) ([]index.DecisionItem, error) {
	items, err := c.cfg.Browse.FamilyWaiting(ctx, family, upto)
	if err != nil {
		return nil, err
	}
	if len(items) == waiting {
		return items[:min(len(items), index.MaxTogether)], nil
	}
	conflict := &index.ConflictError{Problem: p.T("这一组的状态已经变了", "some of these have changed")}
	list, err := c.cfg.Index.DecisionsBefore(ctx, 0, 50)
	if err != nil {
		return nil, err
	}
	for i := range list {
		it := p.Brief(list[i].Item)
		if it == nil {
			continue
		}
		of, err := c.cfg.Index.Briefs(ctx, []uint32{it.Against})
		if err != nil {
			return nil, err
		}
		var ofSeries uint32
		if b := of[it.Against]; b != nil {
			ofSeries = b.Series
		}
		if index.FamilyOf(it.Series, it.Against, ofSeries) == family {
			conflict.Decision = &list[i]
			break
		}
	}
	return nil, conflict
}

// conflictNumber is the parameter that names the earlier decision.
func conflictNumber(e *index.ConflictError) string {
	if e.Decision == nil {
		return noDecision
	}
	return strconv.FormatUint(e.Decision.Number, 10)
}

// follow brings the lists up to date with a decision.
func (c *Console) follow(ctx context.Context) {
	if err := c.cfg.Browse.FollowLists(ctx); err != nil {
		// The decision is made; the lists will show it soon.
		c.log.WarnContext(ctx, "console: lists are behind", "error", err)
	}
}

// noDecision says that no decision changed what an editor saw: a revision or a
// withdrawal arrived.
const noDecision = "state"

// changed reports whether an item has changed since an editor saw it, and by
// which decision.
func (c *Console) changed(ctx context.Context, id, seen string) (by string, changed bool, err error) {
	it, err := c.cfg.Index.Item(ctx, id)
	if err != nil || seen == "" || seen == strconv.FormatUint(it.Event.Number, 10) {
		return "", false, err
	}
	by = noDecision
	if it.Event.Cause == index.CauseEditor {
		list, err := c.cfg.Index.Decisions(ctx, index.DecisionQuery{Item: id, Limit: 1})
		if err != nil {
			return "", false, err
		}
		if len(list) > 0 {
			by = strconv.FormatUint(list[0].Number, 10)
		}
	}
	return by, true, nil
}
