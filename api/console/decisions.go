package console

import (
	"context"
	"strconv"
	"strings"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/internal/must"
)

type decisionsView struct {
	Decisions []index.Decision
	Next      uint64
	Editors   []browse.Editor
	Weeks     []browse.Week
}

// decisionQuery is what the filters ask for; the last day is included.
func (p *page) decisionQuery(limit int) index.DecisionQuery {
	q := index.DecisionQuery{By: p.Given("by"), Kind: p.Given("kind"), Before: p.number("before"), Since: p.moment("since", dayForm), Until: p.moment("until", dayForm), Limit: limit}
	if !q.Until.IsZero() {
		q.Until = q.Until.AddDate(0, 0, 1)
	}
	return q
}

func (c *Console) decisions(ctx context.Context, p *page) string {
	const limit = 50
	v := &decisionsView{Decisions: must.Get(c.cfg.Index.Decisions(ctx, p.decisionQuery(limit+1)))}
	if len(v.Decisions) > limit {
		v.Decisions, v.Next = v.Decisions[:limit], v.Decisions[limit-1].Number
	}
	var err error
	v.Editors, v.Weeks, err = c.cfg.Browse.Overruled(ctx, p.Given("by"))
	must.Do(err)
	return p.show("decisions", "decisions", "决定", "Decisions", v)
}

// Export is the address of the list as a file.
func (p *page) Export() string {
	return strings.Replace(p.Here("before", ""), "/console/decisions", "/console/decisions.csv", 1)
}

// decisionsCSV is the decisions that the filters ask for, at most 50,000.
func (c *Console) decisionsCSV(ctx context.Context, p *page) string {
	list := must.Get(c.cfg.Index.Decisions(ctx, p.decisionQuery(50_000)))
	rows := [][]string{{p.T("编号", "decision"), p.T("时间", "time"), p.T("编辑", "editor"), p.T("决定", "kind"), p.T("稿件", "item"), p.T("标题", "headline"), p.T("篇数", "items"), p.T("故事", "story"), p.T("理由", "reason"), p.T("已撤销", "undone")}}
	for _, d := range list {
		title, undone := "", ""
		if b := p.Brief(d.Item); b != nil {
			title = p.Line(b.Title)
		}
		if d.Undone {
			undone = p.T("是", "yes")
		}
		rows = append(rows, []string{strconv.FormatUint(d.Number, 10), p.Time(d.At), d.By, p.Kind(d.Kind), d.Item, title, strconv.Itoa(max(1, d.Count)), strconv.FormatUint(uint64(d.Cluster), 10), d.Reason, undone})
	}
	return p.csv("jianguo-decisions.csv", rows)
}
