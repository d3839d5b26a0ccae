package console

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/index/browse"
)

// queueLength is how many rows the queue shows.
const queueLength = 40

type suspectsView struct {
	Rows    []browse.SuspectRow
	Of      map[uint32]*index.Brief
	Waiting int64
	At      string // id of the one that is open
	Row     *browse.SuspectRow
	Item    *itemView
	Next    string // address of the page after this one is decided or passed over
	After   string // and after its whole row is
	Upto    uint64 // the last event when the row was read
	Before  string
}

func queueURL(path, id string, more ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	if id != "" {
		q.Set("at", id)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func (c *Console) suspects(ctx context.Context, p *page) (string, error) {
	p.notices(ctx)
	p.Title, p.Section = p.T("待审", "Suspects"), "suspects"
	_, upto := c.cfg.Index.Applied()
	queue, err := c.cfg.Browse.Suspects(ctx, browse.SuspectQuery{Limit: queueLength})
	if err != nil {
		return "", err
	}
	rows := queue.Rows
	totals, err := c.cfg.Browse.Totals(ctx)
	if err != nil {
		return "", err
	}
	v := &suspectsView{Rows: rows, At: p.e.QueryParam("at"), Waiting: totals.Waiting, Upto: upto}
	p.Data = v
	at := 0
	for i := range rows {
		for j := range rows[i].Items {
			if rows[i].Items[j].ID == v.At {
				at = i
			}
		}
	}
	if len(rows) == 0 {
		return "suspects", nil
	}
	v.Row = &rows[at]
	open := v.Row.Items[0].ID
	for j := range v.Row.Items {
		if v.Row.Items[j].ID == v.At {
			open = v.At
		}
	}
	v.At = open
	v.Next = queueURL("/console/suspects", rows[(at+1)%len(rows)].Items[0].ID)
	if len(rows) == 1 {
		v.Next = "/console/suspects"
	}
	v.After = v.Next
	if at > 0 {
		before := rows[at-1].Items
		v.Before = queueURL("/console/suspects", before[len(before)-1].ID)
	}
	// Within a row, the keys go from member to member.
	for j, items := 0, v.Row.Items; j < len(items); j++ {
		if items[j].ID != open {
			continue
		}
		if j+1 < len(items) {
			v.Next = queueURL("/console/suspects", items[j+1].ID)
		}
		if j > 0 {
			v.Before = queueURL("/console/suspects", items[j-1].ID)
		}
	}
	it, err := c.cfg.Index.Item(ctx, open)
	if err != nil {
		return "", err
	}
	if v.Item, err = c.itemView(ctx, p, it); err != nil {
		return "", err
	}
	return "suspects", nil
}

type reviewView struct {
	Drawn    string
	Day      time.Time
	Rows     []index.Brief
	At       string
	Item     *itemView
	Next     string
	All      browse.Precision
	Weeks    []browse.Precision
	Last     []index.Review
	Earlier  string
	Later    string
	Selected *index.Brief
}

func (c *Console) review(ctx context.Context, p *page) (string, error) {
	p.notices(ctx)
	p.Title, p.Section = p.T("抽检", "Sample of rejections"), "review"
	v := &reviewView{Drawn: p.e.QueryParam("drawn"), At: p.e.QueryParam("at"), Day: c.now()}
	if v.Drawn != index.DrawnDoubt {
		v.Drawn = index.DrawnRandom
	}
	if day, err := time.ParseInLocation("2006-01-02", p.e.QueryParam("day"), c.cfg.Location); err == nil {
		v.Day = day
	}
	v.Earlier, v.Later = v.Day.AddDate(0, 0, -1).Format("2006-01-02"), ""
	if v.Day.AddDate(0, 0, 1).Before(c.now()) {
		v.Later = v.Day.AddDate(0, 0, 1).Format("2006-01-02")
	}
	p.Data = v
	var err error
	if v.Rows, err = c.cfg.Browse.Draw(ctx, v.Drawn, v.Day, 20); err != nil {
		return "", err
	}
	if v.All, v.Weeks, err = c.cfg.Browse.Precision(ctx); err != nil {
		return "", err
	}
	if v.Last, err = c.cfg.Index.Reviews(ctx, 8); err != nil || len(v.Rows) == 0 {
		return "review", err
	}
	at := 0
	for i := range v.Rows {
		if v.Rows[i].ID == v.At {
			at = i
		}
	}
	v.Selected, v.At = &v.Rows[at], v.Rows[at].ID
	day := v.Day.Format("2006-01-02")
	v.Next = queueURL("/console/review", v.Rows[(at+1)%len(v.Rows)].ID, "drawn", v.Drawn, "day", day)
	it, err := c.cfg.Index.Item(ctx, v.At)
	if err != nil {
		return "", err
	}
	v.Item, err = c.itemView(ctx, p, it)
	return "review", err
}

// confirm records an editor's review of a rejection, and releases the item if
// the rejection was wrong.
func (c *Console) confirm(ctx context.Context, p *page) (string, error) {
	form := p.e.Request().PostForm
	r := index.Review{At: c.cfg.Now(), By: p.Name, Item: form.Get("item"), Drawn: form.Get("drawn"), Finding: form.Get("finding"), Reason: limited(form.Get("reason"))}
	back := inside(form.Get("to"))
	if r.Finding == index.FoundUndone {
		return c.takeBack(ctx, p, r, and(back, "at", r.Item))
	}
	if by, changed, err := c.changed(ctx, r.Item, form.Get("seen")); err != nil {
		return "", err
	} else if changed {
		return with(back, "conflict", by), nil
	}
	if err := c.cfg.Index.Confirm(ctx, r); err != nil {
		return "", err
	}
	if r.Finding == index.FoundWrong {
		form.Set("kind", index.Release)
		return c.decide(ctx, p)
	}
	return and(with(inside(form.Get("next")), "saved", r.Finding), "of", r.Item), nil
}

// takeBack undoes a review, and the release that came with it.
func (c *Console) takeBack(ctx context.Context, p *page, r index.Review, back string) (string, error) {
	if number, err := strconv.ParseUint(p.e.Request().PostForm.Get("undo"), 10, 64); err == nil {
		_, err := c.cfg.Index.Decide(ctx, index.DecisionRequest{Kind: index.Undo, Undo: number, By: r.By, At: r.At})
		c.follow(ctx)
		var conflict *index.ConflictError
		if errors.As(err, &conflict) {
			return with(back, "conflict", conflictNumber(conflict)), nil
		}
		if err != nil {
			return "", err
		}
	}
	if err := c.cfg.Index.Confirm(ctx, r); err != nil {
		return "", err
	}
	return and(with(back, "saved", r.Finding), "of", r.Item), nil
}

// labelsTSV is the decisions of editors in the format of `jianguo eval`.
func (c *Console) labelsTSV(ctx context.Context, p *page) error {
	labels, err := c.cfg.Index.Labels(ctx)
	if err != nil {
		return err
	}
	h := p.e.Response().Header()
	h.Set(echo.HeaderContentType, "text/tab-separated-values; charset=utf-8")
	h.Set(echo.HeaderContentDisposition, `attachment; filename="jianguo-labels.tsv"`)
	h.Set(echo.HeaderCacheControl, "no-store")
	out := []byte("id_a\tid_b\tlabel\tconfidence\treason\n")
	for _, l := range labels {
		for i, field := range []string{l.A, l.B, l.Label, "high", l.Reason} {
			if i > 0 {
				out = append(out, '\t')
			}
			out = append(out, oneLine(field)...)
		}
		out = append(out, '\n')
	}
	return p.e.Blob(200, "text/tab-separated-values; charset=utf-8", out)
}
