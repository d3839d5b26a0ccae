package console

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

const queueLength = 40

type suspectsView struct {
	*browse.SuspectPage
	Source string // only its
	Sort   string // new: those that add most first
	From   string // where the page begins; empty: at the first row
	More   string // address of the next page; empty: there is none
	At     string // id of the one that is open
	Row    *browse.SuspectRow
	Item   *itemView
	Skip   string // address of the page after this one is decided or passed over
	After  string // and after its whole row is
	Back   string
	Place  int // of the row, among All
	All    int

	c  *Console
	by string
}

// Address is that of the queue with an item of it open, with the same filters. If that one is decided by then, or
// another editor looks at it, the first one past a row is open.
func (v *suspectsView) Address(id, from, past string) string {
	return address("/console/suspects", "at", id, "from", from, "past", past, "source", v.Source, "sort", v.Sort)
}

func (c *Console) suspects(ctx context.Context, p *page) string {
	v := &suspectsView{c: c, by: p.Name, At: p.e.QueryParam("at"), From: p.e.QueryParam("from"),
		Source: p.Parameter("source"), Sort: p.Parameter("sort")}
	q := browse.SuspectQuery{Source: v.Source, New: v.Sort == "new", Cursor: v.From, Limit: queueLength}
	v.SuspectPage = must.Get(c.cfg.Browse.Suspects(ctx, q))
	p.show("suspects", "suspects", "待审", "Suspects", v)
	at := v.row(v.At)
	past := p.e.QueryParam("past")
	if p.e.QueryParam("conflict") != "" {
		past = "" // what another editor decided stays open
	}
	if past != "" && (at < 0 || v.Looking(&v.Rows[at]) != "") || v.At == "" {
		v.openNext(ctx, q, past)
		at = v.row(v.At)
	}
	if v.Next != "" {
		v.More = v.Address("", v.Next, "")
	}
	if at < 0 { // there is none, or it is not in the list any more, or on another page
		if v.Skip = v.Address("", "", ""); v.At != "" {
			v.Item = c.itemView(ctx, p, v.At)
		}
		return "suspects"
	}
	v.Row = &v.Rows[at]
	var err error
	v.Place, v.All, err = c.cfg.Browse.Place(ctx, q, v.Row)
	must.Do(err)
	c.claims.take(p.Name, v.Row)
	items := v.Row.Items
	k := slices.IndexFunc(items, func(b index.Brief) bool { return b.ID == v.At })
	// The keys go from member to member, then to the next row.
	open := func(b *index.Brief) string { return v.Address(b.ID, v.From, v.Row.Cursor) }
	v.After = v.Address("", v.From, v.Row.Cursor)
	if v.Skip = v.After; k+1 < len(items) {
		v.Skip = open(&items[k+1])
	}
	if k > 0 {
		v.Back = open(&items[k-1])
	} else if at > 0 {
		before := v.Rows[at-1].Items
		v.Back = v.Address(before[len(before)-1].ID, v.From, "")
	}
	v.Item = c.itemView(ctx, p, v.At)
	return "suspects"
}

// row is the row of the page that has an item; negative: none has.
func (v *suspectsView) row(id string) int {
	return slices.IndexFunc(v.Rows, func(r browse.SuspectRow) bool {
		return slices.ContainsFunc(r.Items, func(b index.Brief) bool { return b.ID == id })
	})
}

// openNext opens the first row after one (from the first again after the last one) that no other editor looks at, and
// claims it.
func (v *suspectsView) openNext(ctx context.Context, q browse.SuspectQuery, past string) {
	v.At = ""
	for _, q.Cursor = range []string{cmp.Or(past, v.From), ""} {
		page := must.Get(v.c.cfg.Browse.Suspects(ctx, q))
		at := slices.IndexFunc(page.Rows, func(r browse.SuspectRow) bool {
			// The editor that had claimed it may have decided since the list was read.
			return v.c.claims.take(v.by, &r) &&
				must.Get(v.c.cfg.Index.BriefByID(ctx, r.Items[0].ID)).Verdict == index.Suspect
		})
		if at < 0 {
			continue
		}
		if v.At = page.Rows[at].Items[0].ID; v.row(v.At) < 0 {
			v.SuspectPage, v.From = page, q.Cursor
		}
		return
	}
	if len(v.Rows) > 0 { // others look at all of them
		v.At = v.Rows[0].Items[0].ID
	}
}

// Looking is the name of another editor with a row open; empty: there is none.
func (v *suspectsView) Looking(row *browse.SuspectRow) string {
	return v.c.claims.otherHolder(v.by, row)
}

type reviewView struct {
	Day            time.Time // zero: those that may be originals, of all days
	Rows           []index.Brief
	Left           int // to be looked at, of at most 100
	At             string
	Item           *itemView
	Skip, Back     string
	All            browse.Precision
	Earlier, Later string // the days before and after
}

// Address is that of the draw with an item of it open.
func (v *reviewView) Address(id string) string {
	if v.Day.IsZero() {
		return address("/console/review", "at", id, "original", "1")
	}
	return address("/console/review", "at", id, "day", v.Day.Format(dayForm))
}

// review is the second and third tab of the queue: a draw of a day's rejections, and those that may be originals.
func (c *Console) review(ctx context.Context, p *page) string {
	v := &reviewView{At: p.e.QueryParam("at")}
	if p.e.QueryParam("original") == "" {
		if v.Day = p.day("day"); v.Day.IsZero() {
			v.Day = c.now()
		}
		v.Earlier = v.Day.AddDate(0, 0, -1).Format(dayForm)
		if later := v.Day.AddDate(0, 0, 1); later.Before(c.now()) {
			v.Later = later.Format(dayForm)
		}
	}
	v.Rows = must.Get(c.cfg.Browse.Draw(ctx, v.Day, 100))
	v.Left, v.Rows = len(v.Rows), v.Rows[:min(len(v.Rows), 20)]
	v.All = must.Get(c.cfg.Browse.Precision(ctx))
	at := slices.IndexFunc(v.Rows, func(b index.Brief) bool { return b.ID == v.At })
	if v.At == "" && len(v.Rows) > 0 {
		at, v.At = 0, v.Rows[0].ID
	}
	if len(v.Rows) > 0 {
		v.Skip = v.Address(v.Rows[(at+1)%len(v.Rows)].ID)
	}
	if at > 0 {
		v.Back = v.Address(v.Rows[at-1].ID)
	}
	if v.At != "" {
		v.Item = c.itemView(ctx, p, v.At)
	}
	if v.Day.IsZero() {
		return p.show("review", "review", "疑为原创", "May be the original", v)
	}
	return p.show("review", "review", "抽检", "Sample of rejections", v)
}

// confirm records an editor's review of a rejection, and releases the item if
// the rejection was wrong.
func (c *Console) confirm(ctx context.Context, p *page) string {
	form := p.e.Request().PostForm
	r := index.Review{At: c.cfg.Now(), By: p.Name, Item: form.Get("item"),
		Drawn: cmp.Or(form.Get("drawn"), index.DrawnRandom), Finding: cmp.Or(form.Get("finding"), index.FoundWrong),
		Reason: limitedReason(form.Get("reason"))}
	it := must.Get(c.cfg.Index.Item(ctx, r.Item))
	if seen := form.Get("seen"); seen != "" && seen != strconv.FormatUint(it.Event.Number, 10) {
		return returnTo(ownAddress(form.Get("to")), "at", r.Item, "conflict", noDecision)
	}
	if form.Has("kind") { // the item is released
		return c.decideAfter(ctx, p, &r)
	}
	must.Get(c.cfg.Ingest.Edit(ctx, index.Edit{Review: &r}))
	next := ownAddress(form.Get("next"))
	if r.Finding == index.FoundUndone {
		next = address(ownAddress(form.Get("to")), "at", r.Item)
	}
	return returnTo(next, "said", r.Finding, "of", r.Item)
}

// labelsTSV is the decisions of editors in the format of `jianguo eval`.
func (c *Console) labelsTSV(ctx context.Context, p *page) string {
	adds := map[string]int{"same": 0, "different": 2}
	out := bytes.NewBufferString("id_a\tid_b\tkind\tadds\tconf\tnote\n")
	for _, l := range must.Get(c.cfg.Index.Labels(ctx)) {
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\thigh\t%s\n", l.A, l.B, l.Label, adds[l.Label], oneLine(l.Reason))
	}
	h := p.e.Response().Header()
	h.Set(echo.HeaderContentDisposition, `attachment; filename="jianguo-labels.tsv"`)
	h.Set(echo.HeaderCacheControl, "no-store")
	must.Do(p.e.Blob(http.StatusOK, "text/tab-separated-values; charset=utf-8", out.Bytes()))
	return ""
}
