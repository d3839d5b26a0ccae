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

// decisionOf is the decision that a form asks for.
func (c *Console) decisionOf(p *page) (req index.DecisionRequest) {
	form := p.e.Request().PostForm
	number := func(key string, bits int) uint64 {
		n, _ := strconv.ParseUint(form.Get(key), 10, bits) // 0 and the highest are refused where one is needed
		return n
	}
	req = index.DecisionRequest{Kind: form.Get("kind"), Item: form.Get("item"), Cluster: uint32(number("cluster", 32)),
		Into: uint32(number("into", 32)), Undo: number("undo", 64), Seen: number("seen", 64),
		By: p.Name, Reason: limitedReason(form.Get("reason")), At: c.cfg.Now()}
	if was := form.Get("was"); was != "" && req.Expect.UnmarshalText([]byte(was)) != nil {
		must.Do(fmt.Errorf("was %q: %w", was, index.ErrQuery))
	}
	// The items picked from a list, each with its last event at that time.
	for _, value := range form["pick"] {
		seen, id, _ := strings.Cut(value, " ")
		n, err := strconv.ParseUint(seen, 10, 64)
		if err != nil {
			must.Do(fmt.Errorf("pick %q: %w", value, index.ErrQuery))
		}
		req.Items = append(req.Items, index.DecisionItem{Item: id, Seen: n})
	}
	if len(req.Items) == 1 {
		req.Item, req.Seen, req.Items = req.Items[0].Item, req.Items[0].Seen, nil
	}
	return req
}

// decide applies a decision of the signed-in editor and returns to where it
// was made. If another editor was first, the page shows that decision.
func (c *Console) decide(ctx context.Context, p *page) string { return c.decideAfter(ctx, p, nil) }

// decideAfter applies a decision together with the review that led to it.
func (c *Console) decideAfter(ctx context.Context, p *page, review *index.Review) string {
	form := p.e.Request().PostForm
	back := ownAddress(form.Get("to"))
	req := c.decisionOf(p)
	if n := len(form["pick"]); form.Has("several") && (n == 0 || n > 1 && req.Kind == index.MakeLead) {
		return returnTo(back, "said", map[bool]string{true: "none", false: "many"}[n == 0])
	}
	d, err := c.cfg.Ingest.Edit(ctx, index.Edit{Decision: &req, Review: review})
	if number := c.conflict(ctx, err); number != "" {
		return returnTo(back, "at", form.Get("again"), "conflict", number)
	}
	if next := form.Get("next"); next != "" {
		back = ownAddress(next)
	}
	if d.Kind == index.Undo && form.Has("again") {
		back = address(back, "at", form.Get("again"))
	}
	return returnTo(back, "done", strconv.FormatUint(d.Number, 10))
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

// decisionsView is what people changed. Without a filter it has the last changes of sources, too.
type decisionsView struct {
	Decisions []index.Decision
	Next      uint64
	Policies  []index.SourcePolicy
	Passages  []index.SourcePassage
}

func (c *Console) decisions(ctx context.Context, p *page) string {
	const limit = 50
	q := index.DecisionQuery{By: p.Parameter("by"), Kind: p.Parameter("kind"), Before: p.number("before"),
		Since: p.day("since"), Until: p.day("until"), Limit: limit + 1}
	if !q.Until.IsZero() {
		q.Until = q.Until.AddDate(0, 0, 1) // the last day is included
	}
	v := &decisionsView{Decisions: must.Get(c.cfg.Index.Decisions(ctx, q))}
	if len(v.Decisions) > limit {
		v.Decisions, v.Next = v.Decisions[:limit], v.Decisions[limit-1].Number
	}
	if q == (index.DecisionQuery{Limit: limit + 1}) {
		v.Policies = must.Get(c.cfg.Index.SourcePolicyLog(ctx, limit))
		v.Passages = must.Get(c.cfg.Index.DecidedPassages(ctx, limit))
	}
	return p.show("decisions", "decisions", "决定", "Decisions", v)
}
