package console

import (
	"fmt"
	"strings"

	"jianguo/api/console/locale"
	"jianguo/index"
)

// Reply is what an editor may answer to the author of an item.
func (p *page) Reply(v *itemView) string {
	named := func(it *index.Item) string {
		at := it.Arrived
		if index.Credible(it.Published, it.Arrived) {
			at = *it.Published
		}
		return fmt.Sprintf(p.T("《%s》（%s，%s）", "\"%s\" (%s, %s)"), p.Headline(it), p.Or(it.Source), at.In(locale.Location).Format("2006-01-02 15:04"))
	}
	state := p.T("没有发布，因为与更早的稿件重复", "was not published: it repeats an earlier article")
	switch v.Event.Verdict {
	case index.Suspect:
		state = p.T("正在复核，因为与更早的稿件相近", "is being looked at: it is like an earlier article")
	case index.Unique:
		state = p.T("经复核已经放行。此前被拦下，是因为与更早的稿件相近", "has been released. It was held back because it is like an earlier article")
	}
	said := []string{fmt.Sprintf(p.T("您好，您的稿件%s%s。", "Your article %s %s."), named(v.Item), state),
		fmt.Sprintf(p.T("更早的稿件：%s。", "The earlier article: %s."), named(v.Lead)),
		fmt.Sprintf(p.T("您的稿件有 %s 见于该稿，该稿有 %s 见于您的稿件。", "%s of your article is in it, and %s of it is in your article."), p.Whole(v.Compare.SharedB), p.Whole(v.Compare.SharedA))}
	if e := judged(v.Item, v.Lead.ID); e != nil && e.Facts != nil && e.Facts.New != nil && e.Facts.New.Text != "" {
		said = append(said, fmt.Sprintf(p.T("该稿没有的内容约 %d 字，如“%s”。", "About %d characters are not in it, such as “%s”."), e.Facts.New.Characters, e.Facts.New.Text))
	}
	if address := p.LinkOf(v.Lead.URL); address != "" {
		said = append(said, address)
	}
	if v.Event.Verdict == index.Duplicate {
		said = append(said, p.T("如果您是原作者，或已获授权，请回复说明。", "If you are its author, or have a licence, please tell us."))
	}
	return strings.Join(said, "\n")
}
