package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"jianguo/index"
	"jianguo/internal/must"
)

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
func (c *Console) decide(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	back := inside(form.Get("to"))
	req, err := c.request(ctx, p)
	var d *index.Decision
	if err == nil {
		d, err = c.cfg.Index.Decide(ctx, req)
	}
	if number := c.conflict(ctx, err); number != "" {
		return with(back, "conflict", number)
	}
	if next := form.Get("next"); next != "" {
		back = inside(next)
	}
	if d.Kind == index.Undo && form.Has("again") {
		back = and(back, "at", form.Get("again"))
	}
	return with(back, "done", strconv.FormatUint(d.Number, 10))
}

// family lists the items of a row of the queue. The editor saw so many of them
// waiting when the last event was upto; if fewer wait now, another editor has
// decided about one of them.
func (c *Console) family(ctx context.Context, p *page, family uint32, upto uint64, waiting int) ([]index.DecisionItem, error) {
	items := must.Get(c.cfg.Browse.FamilyWaiting(ctx, family, upto))
	if len(items) == waiting {
		return items[:min(len(items), index.MaxTogether)], nil
	}
	conflict := &index.ConflictError{Problem: p.T("这一组的状态已经变了", "some of these have changed")}
	list := must.Get(c.cfg.Index.DecisionsBefore(ctx, 0, 50))
	for i := range list {
		it := p.Brief(list[i].Item)
		if it == nil {
			continue
		}
		var ofSeries uint32
		if b := must.Get(c.cfg.Index.Briefs(ctx, []uint32{it.Against}))[it.Against]; b != nil {
			ofSeries = b.Series
		}
		if index.FamilyOf(it.Series, it.Against, ofSeries) == family {
			conflict.Decision = &list[i]
			break
		}
	}
	return nil, conflict
}

// conflict brings the lists up to date after a decision. If another editor was first, it
// returns the parameter that names the earlier decision.
func (c *Console) conflict(ctx context.Context, err error) string {
	var conflict *index.ConflictError
	if !errors.As(err, &conflict) {
		must.Do(err)
	}
	if err := c.cfg.Browse.FollowLists(ctx); err != nil {
		// The decision is made; the lists will show it soon.
		c.log.WarnContext(ctx, "console: lists are behind", "error", err)
	}
	switch {
	case conflict == nil:
		return ""
	case conflict.Decision == nil:
		return noDecision
	}
	return strconv.FormatUint(conflict.Decision.Number, 10)
}

// noDecision says that no decision changed what an editor saw: a revision or a
// withdrawal arrived.
const noDecision = "state"

// changed says by which decision an item has changed since an editor saw it; empty: it has
// not changed.
func (c *Console) changed(ctx context.Context, id, seen string) (by string) {
	it := must.Get(c.cfg.Index.Item(ctx, id))
	if seen == "" || seen == strconv.FormatUint(it.Event.Number, 10) {
		return ""
	}
	if it.Event.Cause == index.CauseEditor {
		for _, d := range must.Get(c.cfg.Index.Decisions(ctx, index.DecisionQuery{Item: id, Limit: 1})) {
			return strconv.FormatUint(d.Number, 10)
		}
	}
	return noDecision
}

type decisionsView struct {
	Decisions []index.Decision
	Policies  []index.SourcePolicy
	Next      uint64
}

func (c *Console) decisions(ctx context.Context, p *page) string {
	p.notices(ctx)
	p.Title, p.Section = p.T("决定", "Decisions"), "decisions"
	const limit = 50
	v := &decisionsView{Decisions: must.Get(c.cfg.Index.DecisionsBefore(ctx, p.number("before"), limit+1))}
	p.knowDecisions(ctx, v.Decisions)
	if len(v.Decisions) > limit {
		v.Decisions, v.Next = v.Decisions[:limit], v.Decisions[limit-1].Number
	}
	v.Policies = must.Get(c.cfg.Index.SourcePolicyLog(ctx, 20))
	p.Data = v
	return "decisions"
}
