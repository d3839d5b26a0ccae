package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"jianguo/index"
)

// maxTogether is how many items one form may decide about.
const maxTogether = 200

// notices reads from the address what the last step did.
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
	v := &notice{}
	for i, number := range strings.Split(q.Get("done"), ".") {
		if d := decision(number); d != nil && i < maxTogether {
			v.All = append([]index.Decision{*d}, v.All...)
			v.Done = &v.All[0]
		}
	}
	if q.Get("conflict") != "" {
		if v.Conflict = decision(q.Get("conflict")); v.Conflict == nil {
			v.Text = p.T("未能执行：这一条的状态已经变了，请看当前内容再决定。", "Not done: this has changed in the meantime. See how it stands now, then decide.")
		}
	} else if v.Done == nil && q.Get("saved") != "" {
		v.Text = p.T("已记录。", "Recorded.")
	}
	if v.Done != nil || v.Conflict != nil || v.Text != "" {
		p.Notice = v
	}
}

// Together reports whether several things were decided at once.
func (n *notice) Together() bool { return n.Count() > 1 }

// Count is how many items were decided about.
func (n *notice) Count() (count int) {
	for _, d := range n.All {
		count += max(1, d.Count)
	}
	return count
}

// Undoable lists the decisions of the notice that can be taken back, the last
// one first.
func (n *notice) Undoable() (numbers []uint64) {
	for _, d := range n.All {
		if d.Kind != index.Undo && !d.Undone {
			numbers = append(numbers, d.Number)
		}
	}
	return numbers
}

// requests are the decisions that a form asks for.
func (c *Console) requests(ctx context.Context, p *page) ([]index.DecisionRequest, error) {
	form := p.e.Request().PostForm
	number := func(key string) uint64 {
		n, _ := strconv.ParseUint(form.Get(key), 10, 64) // 0 is refused where one is needed
		return n
	}
	req := index.DecisionRequest{Kind: form.Get("kind"), Cluster: uint32(number("cluster")), Into: uint32(number("into")), Undo: number("undo"),
		Seen: number("seen"), By: p.Name, Reason: limited(form.Get("reason")), At: c.cfg.Now()}
	if was := form.Get("was"); was != "" {
		if err := req.Expect.UnmarshalText([]byte(was)); err != nil {
			return nil, fmt.Errorf("was %q: %w", was, index.ErrQuery)
		}
	}
	if family := number("family"); family != 0 {
		var err error
		req.Items, err = c.family(ctx, p, uint32(family), number("upto"), int(number("waiting")))
		return []index.DecisionRequest{req}, err
	}
	several, each := form["item"], func(req *index.DecisionRequest, value string) { req.Item = value }
	if req.Kind == index.Undo {
		several, each = form["undo"], func(req *index.DecisionRequest, value string) { req.Undo, _ = strconv.ParseUint(value, 10, 64) }
	}
	if len(several) > maxTogether {
		return nil, fmt.Errorf("%d at once, %d are the limit: %w", len(several), maxTogether, index.ErrQuery)
	}
	if len(several) == 0 {
		if form.Has("several") {
			return nil, fmt.Errorf("%s: %w", p.T("没有勾选任何一篇", "nothing was picked"), index.ErrQuery)
		}
		return []index.DecisionRequest{req}, nil
	}
	if len(several) > 1 {
		req.Seen = 0
	}
	var list []index.DecisionRequest
	for _, value := range several {
		each(&req, value)
		list = append(list, req)
	}
	return list, nil
}

// decide applies decisions of the signed-in editor and returns to where they
// were made. Whoever comes second is shown who decided what.
func (c *Console) decide(ctx context.Context, p *page) (string, error) {
	form := p.e.Request().PostForm
	back := inside(form.Get("to"))
	requests, err := c.requests(ctx, p)
	var stale *index.ConflictError
	if errors.As(err, &stale) {
		return with(back, "conflict", conflictNumber(stale)), nil
	}
	if err != nil {
		return "", err
	}
	var done []string
	for i := range requests {
		d, err := c.cfg.Index.Decide(ctx, requests[i])
		var conflict *index.ConflictError
		if errors.As(err, &conflict) {
			c.follow(ctx)
			back = with(back, "conflict", conflictNumber(conflict))
			if len(done) > 0 {
				back = and(back, "done", strings.Join(done, "."))
			}
			return back, nil
		}
		if err != nil {
			return "", err
		}
		done = append(done, strconv.FormatUint(d.Number, 10))
	}
	c.follow(ctx)
	if next := form.Get("next"); next != "" {
		back = inside(next)
	}
	return with(back, "done", strings.Join(done, ".")), nil
}

// family is all of a row of the queue that an editor saw, who saw so many
// waiting when the last event was upto. Where there are fewer by now, somebody
// has decided about one of them.
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

// conflictNumber is how an address says who decided before.
func conflictNumber(e *index.ConflictError) string {
	if e.Decision == nil {
		return nobodyDecided
	}
	return strconv.FormatUint(e.Decision.Number, 10)
}

// follow brings the lists up to what was decided.
func (c *Console) follow(ctx context.Context) {
	if err := c.cfg.Browse.FollowLists(ctx); err != nil {
		// The decision stands; lists will show it in a moment.
		c.log.WarnContext(ctx, "console: lists are behind", "error", err)
	}
}

// nobodyDecided says that a state is other than an editor saw without a
// decision behind it: a revision or a withdrawal arrived.
const nobodyDecided = "state"

// changed reports whether an item has changed since an editor saw it, and by
// which decision.
func (c *Console) changed(ctx context.Context, id, seen string) (by string, changed bool, err error) {
	it, err := c.cfg.Index.Item(ctx, id)
	if err != nil || seen == "" || seen == strconv.FormatUint(it.Event.Number, 10) {
		return "", false, err
	}
	by = nobodyDecided
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
