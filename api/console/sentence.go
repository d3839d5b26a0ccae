package console

import (
	"cmp"
	"html"
	"strings"

	"jianguo/index"
)

// sentence is the reason of a verdict.
type sentence struct {
	Text string
	Of   *index.Brief // the other article; nil: it speaks of none
}

// titleShown bounds a headline, in characters.
const titleShown = 200

// Line is a headline on one line, shortened, without invisible characters and without the word that
// some sources put before it.
func (p *page) Line(title string) string {
	line := shortened(oneLine(visible(html.UnescapeString(title))), titleShown)
	for _, word := range []string{"原标题：", "原标题:", "（原标题）", "【原标题】"} {
		if rest := strings.TrimSpace(strings.TrimPrefix(line, word)); rest != "" {
			line = rest
		}
	}
	return line
}

// Headline is the headline of an item, or the beginning of its text.
func (p *page) Headline(it *index.Item) string {
	if b := p.Brief(it.ID); it.Title == "" && b != nil {
		return p.Line(b.Title)
	}
	return p.Line(it.Title)
}

// Cited is a headline as a sentence quotes it: without a full stop at the end.
func (p *page) Cited(b *index.Brief) string {
	return cmp.Or(strings.TrimRight(p.Line(b.Title), "。."), b.ID)
}

func (p *page) sentence(text string, of *index.Brief) sentence {
	if text != "" && !strings.HasSuffix(text, "。") && !strings.HasSuffix(text, ".") {
		text += p.T("。", ".")
	}
	// The badge next to the sentence says this already.
	return sentence{strings.TrimPrefix(text, p.T("存疑：", "in doubt: ")), of}
}

// Why is the reason of an event in one sentence.
func (p *page) Why(e index.Event) sentence {
	note, colon := p.c.cfg.Index.Note(&e), p.T("：", ": ")
	separator := map[bool]string{true: ": ", false: "："}[p.c.cfg.Index.Language() == index.English]
	if by, reason, hasReason := strings.Cut(note, separator); e.Cause == index.CauseEditor && by != "" {
		did := editorDid[e.Verdict]
		if e.Restores != 0 {
			did = [2]string{"撤销了决定", "took a decision back"}
		}
		by += p.T(" ", ": ") + p.T(did[0], did[1])
		if hasReason {
			by += colon + reason
		}
		return p.sentence(by, nil)
	}
	text := index.Why(&e, p.Language)
	if note != "" {
		text += colon + note
	}
	return p.sentence(text, p.Brief(e.Of))
}

// editorDid is what an editor did to an item that has a verdict since.
var editorDid = map[index.Verdict][2]string{index.Unique: {"放行", "released it"},
	index.Duplicate: {"判为重复", "rejected it"}, index.Withdrawn: {"封禁", "blocked it"}}

// BriefWhy is the reason of a listed item's verdict in one sentence.
func (p *page) BriefWhy(b *index.Brief, of *index.Brief) sentence {
	id := ""
	if of != nil {
		id = of.ID
	}
	return p.sentence(b.Why(id, p.Language), of)
}

// Brief is the article of an id; nil: there is none. A page without a headline is better than
// no page, so an error is only logged.
func (p *page) Brief(id string) *index.Brief {
	ctx := p.e.Request().Context()
	b, err := p.c.cfg.Index.BriefByID(ctx, id)
	if err != nil {
		p.c.log.WarnContext(ctx, "console: headline", "id", id, "error", err)
	}
	return b
}
