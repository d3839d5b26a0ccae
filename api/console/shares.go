package console

import (
	"cmp"
	"fmt"

	"jianguo/index"
	"jianguo/index/browse"
)

// shares are how much of an item and of the earlier one the other has.
func (l locale) shares(b *index.Brief) (later, earlier string) {
	switch f := b.Facts; {
	case f != nil && f.Coverage != nil:
		return l.Whole(float64(f.Coverage.Later)), l.Whole(float64(f.Coverage.Earlier))
	case b.Rule == index.ByExact:
		return "100%", "100%"
	}
	return "—", "—"
}

// Shared says how much of an item and of the earlier one the other has.
func (l locale) Shared(b *index.Brief) string {
	if b.Rule == index.ByExact && b.Verdict == index.Suspect {
		return l.T("正文相同，标题不同", "the same body, another headline")
	}
	later, earlier := l.shares(b)
	return fmt.Sprintf(l.T("本稿 %s · 先到稿 %s", "this %s · earlier %s"), later, earlier)
}

// SharedBy says how much of a copy and of its origin the other has, whichever arrived first.
func (l locale) SharedBy(c *browse.Copy) string {
	copier, origin := l.shares(c.Copier)
	if c.Origin.Against == c.Copier.Ordinal {
		origin, copier = l.shares(c.Origin)
	}
	return fmt.Sprintf(l.T("转载 %s · 原创 %s", "copy %s · origin %s"), copier, origin)
}

// Ahead says how long before another item one was published, and which was first: 1 the one, -1
// the other, 0 if that is not known. Only times of publication are compared.
func (l locale) Ahead(a, b *index.Item) (when string, first int) {
	c := browse.Copy{Origin: &index.Brief{Published: a.Published, Arrived: a.Arrived},
		Copier: &index.Brief{Published: b.Published, Arrived: b.Arrived}}
	behind, known := c.Behind()
	switch {
	case !known:
		return l.T("时间不足，先后不明", "a time of publication is missing"), 0
	case behind < 0:
		return l.T("晚 ", "later by ") + l.Span(-behind), -1
	case behind == 0:
		return l.T("同时", "at the same time"), 0
	}
	return l.T("早 ", "earlier by ") + l.Span(behind), 1
}

// Behind says how long after the origin a copy was published.
func (l locale) Behind(c *browse.Copy) string {
	behind, known := c.Behind()
	if !known {
		return l.T("时间不足", "unknown")
	}
	return l.T("晚 ", "+") + l.Span(behind)
}

// Or is a source, or the word for none.
func (l locale) Or(source string) string {
	return cmp.Or(source, l.T("来源不明", "source unknown"))
}
