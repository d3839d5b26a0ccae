package console

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

// queueLength is how many rows the queue shows.
const queueLength = 40

type suspectsView struct {
	Rows    []browse.SuspectRow
	Waiting int64  // suspects, on all pages and of all sources
	Source  string // only of this source
	From    string // where the page begins; empty: at the first row
	More    string // address of the next page; empty: there is none
	At      string // id of the one that is open
	Row     *browse.SuspectRow
	Item    *itemView
	Next    string // address of the page after this one is decided or passed over
	After   string // and after its whole row is
	Upto    uint64 // the last event when the row was read
	Before  string
}

// Address is that of the queue with an item of it open, of the same source.
func (v *suspectsView) Address(id string, more ...string) string {
	return queueURL("/console/suspects", id, append(more, "source", v.Source)...)
}

func (c *Console) suspects(ctx context.Context, p *page) string {
	p.notices(ctx)
	p.Title, p.Section = p.T("待审", "Suspects"), "suspects"
	v := &suspectsView{At: p.e.QueryParam("at"), Source: strings.TrimSpace(p.e.QueryParam("source")), From: p.e.QueryParam("from")}
	_, v.Upto = c.cfg.Index.Applied()
	rows := must.Get(c.cfg.Browse.Suspects(ctx, browse.SuspectQuery{Source: v.Source, Cursor: v.From, Limit: queueLength}))
	v.Rows = rows.Rows
	if rows.Next != "" {
		v.More = v.Address("", "from", rows.Next)
	}
	v.Waiting = must.Get(c.cfg.Browse.Totals(ctx)).Waiting
	p.Data = v
	if len(v.Rows) == 0 {
		return "suspects"
	}
	isOpen := func(b index.Brief) bool { return b.ID == v.At }
	at := max(0, slices.IndexFunc(v.Rows, func(r browse.SuspectRow) bool { return slices.ContainsFunc(r.Items, isOpen) }))
	v.Row = &v.Rows[at]
	items := v.Row.Items
	k := max(0, slices.IndexFunc(items, isOpen))
	v.At = items[k].ID
	// The keys go from member to member, then to the next row.
	address := func(b *index.Brief) string { return v.Address(b.ID, "from", v.From) }
	switch {
	case at+1 < len(v.Rows):
		v.After = address(&v.Rows[at+1].Items[0])
	case v.More != "":
		v.After = v.More
	default: // again from the first
		v.After = v.Address("")
	}
	if v.Next = v.After; k+1 < len(items) {
		v.Next = address(&items[k+1])
	}
	if k > 0 {
		v.Before = address(&items[k-1])
	} else if at > 0 {
		before := v.Rows[at-1].Items
		v.Before = address(&before[len(before)-1])
	}
	v.Item = c.itemView(ctx, p, v.At)
	return "suspects"
}

type reviewView struct {
	Drawn   string
	Day     time.Time
	Rows    []index.Brief
	At      string
	Item    *itemView
	Next    string
	All     browse.Precision
	Weeks   []browse.Precision
	Last    []index.Review
	Earlier string
	Later   string
}

func (c *Console) review(ctx context.Context, p *page) string {
	p.notices(ctx)
	p.Title, p.Section = p.T("抽检", "Sample of rejections"), "review"
	v := &reviewView{Drawn: p.e.QueryParam("drawn"), At: p.e.QueryParam("at"), Day: c.now()}
	if v.Drawn != index.DrawnDoubt {
		v.Drawn = index.DrawnRandom
	}
	if day, err := time.ParseInLocation("2006-01-02", p.e.QueryParam("day"), location); err == nil {
		v.Day = day
	}
	v.Earlier = v.Day.AddDate(0, 0, -1).Format("2006-01-02")
	if later := v.Day.AddDate(0, 0, 1); later.Before(c.now()) {
		v.Later = later.Format("2006-01-02")
	}
	p.Data = v
	v.Rows = must.Get(c.cfg.Browse.Draw(ctx, v.Drawn, v.Day, 20))
	var err error
	v.All, v.Weeks, err = c.cfg.Browse.Precision(ctx)
	must.Do(err)
	if v.Last = must.Get(c.cfg.Index.Reviews(ctx, 8)); len(v.Rows) == 0 {
		return "review"
	}
	at := max(0, slices.IndexFunc(v.Rows, func(b index.Brief) bool { return b.ID == v.At }))
	v.At = v.Rows[at].ID
	v.Next = queueURL("/console/review", v.Rows[(at+1)%len(v.Rows)].ID, "drawn", v.Drawn, "day", v.Day.Format("2006-01-02"))
	v.Item = c.itemView(ctx, p, v.At)
	return "review"
}

// confirm records an editor's review of a rejection, and releases the item if
// the rejection was wrong.
func (c *Console) confirm(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	r := index.Review{At: c.cfg.Now(), By: p.Name, Item: form.Get("item"), Drawn: form.Get("drawn"), Finding: form.Get("finding"), Reason: limited(form.Get("reason"))}
	back, next := inside(form.Get("to")), inside(form.Get("next"))
	if r.Finding == index.FoundUndone {
		// The release that came with the review is undone too.
		back = and(back, "at", r.Item)
		next = back
		if number, err := strconv.ParseUint(form.Get("undo"), 10, 64); err == nil {
			_, err := c.cfg.Index.Decide(ctx, index.DecisionRequest{Kind: index.Undo, Undo: number, By: r.By, At: r.At})
			if number := c.conflict(ctx, err); number != "" {
				return with(back, "conflict", number)
			}
		}
	} else if by := c.changed(ctx, r.Item, form.Get("seen")); by != "" {
		return with(back, "conflict", by)
	}
	must.Do(c.cfg.Index.Confirm(ctx, r))
	if r.Finding == index.FoundWrong {
		form.Set("kind", index.Release)
		return c.decide(ctx, p)
	}
	return and(with(next, "saved", r.Finding), "of", r.Item)
}

// labelsTSV is the decisions of editors in the format of `jianguo eval`.
func (c *Console) labelsTSV(ctx context.Context, p *page) string {
	out := []byte("id_a\tid_b\tlabel\tconfidence\treason\n")
	for _, l := range must.Get(c.cfg.Index.Labels(ctx)) {
		for i, field := range []string{l.A, l.B, l.Label, "high", l.Reason} {
			if i > 0 {
				out = append(out, '\t')
			}
			out = append(out, oneLine(field)...)
		}
		out = append(out, '\n')
	}
	return p.download("text/tab-separated-values", "jianguo-labels.tsv", out)
}
