package console

import (
	"cmp"
	"strings"

	"jianguo/index"
)

// sentence is the reason of a verdict, with the other article's headline.
type sentence struct {
	Before, After string
	Of            *index.Brief // nil: it speaks of none
}

// Line is a headline on one line, without invisible characters and without the word that
// some sources put before it.
func (p *page) Line(title string) string {
	line := oneLine(visible(title))
	for _, word := range []string{"原标题：", "原标题:", "（原标题）", "【原标题】"} {
		if rest := strings.TrimSpace(strings.TrimPrefix(line, word)); rest != "" {
			line = rest
		}
	}
	return line
}

// Headline is the headline of an item, or the beginning of its text.
func (p *page) Headline(it *index.Item) string {
	title := p.Line(it.Title)
	if title == "" && it.Body != nil {
		text, _ := readableText(*it.Body)
		text, _, _ = strings.Cut(text, "\n")
		title = shortened(text, 41)
	}
	return title
}

// Cited is a headline as a sentence quotes it: without a full stop at the end.
func (p *page) Cited(b *index.Brief) string {
	return cmp.Or(strings.TrimRight(p.Line(b.Title), "。."), b.ID)
}

// articleSlot is a placeholder for the other article in a sentence.
const articleSlot = "\x00"

func (p *page) sentence(text string, of *index.Brief, note string) sentence {
	if note != "" {
		text += p.T("：", ": ") + note
	}
	if text != "" && !strings.HasSuffix(text, "。") && !strings.HasSuffix(text, ".") {
		text += p.T("。", ".")
	}
	// The badge next to the sentence says this already.
	text = strings.TrimPrefix(text, p.T("存疑：", "in doubt: "))
	before, after, found := strings.Cut(text, articleSlot)
	if !found {
		of = nil
	}
	if p.Language == index.Chinese {
		// The quotation marks of the title replace the spaces around an id.
		before, after = strings.TrimSuffix(before, " "), strings.TrimPrefix(after, " ")
	}
	return sentence{Before: before, After: after, Of: of}
}

// Why is the reason of an event in one sentence.
func (p *page) Why(e index.Event) sentence {
	note := p.c.cfg.Index.Note(&e)
	separator := map[bool]string{true: ": ", false: "："}[p.c.cfg.Index.Language() == index.English]
	if by, reason, hasReason := strings.Cut(note, separator); e.Cause == index.CauseEditor && by != "" {
		by += p.T(" ", ": ") + p.T(editorDid[e.Verdict][0], editorDid[e.Verdict][1])
		if !hasReason {
			return p.sentence(by, nil, "")
		}
		return p.sentence(by, nil, reason)
	}
	of := p.Brief(e.Of)
	if of != nil {
		e.Of = articleSlot
	}
	return p.sentence(index.Why(&e, p.Language), of, note)
}

// editorDid is what an editor did to an item that has a verdict since.
var editorDid = map[index.Verdict][2]string{index.Unique: {"放行", "released it"},
	index.Suspect:   {"撤销了决定", "took a decision back"},
	index.Duplicate: {"判为重复", "rejected it"}, index.Withdrawn: {"封禁", "blocked it"}}

// WhyNow is the reason of an item's present verdict. A verdict that an undo
// restored has the reason it had before.
func (p *page) WhyNow(it *index.Item) sentence {
	if it.Event.Cause == index.CauseEditor && it.Event.Verdict != index.Unique {
		for _, e := range it.History {
			if e.Cause != index.CauseEditor && e.Verdict == it.Event.Verdict && e.Of == it.Event.Of {
				return p.Why(e)
			}
		}
	}
	return p.Why(it.Event)
}

// BriefWhy is the reason of a listed item's verdict in one sentence.
func (p *page) BriefWhy(b *index.Brief, of *index.Brief) sentence {
	name := ""
	if of != nil {
		name = articleSlot
	}
	if b.Rule == index.ByExact && of != nil {
		return p.sentence(p.T("同文：与 "+articleSlot+" 或它的一份副本仅格式不同",
			"the same text as "+articleSlot+" or a copy of it, but for the form"), of, "")
	}
	return p.sentence(b.Why(name, p.Language), of, "")
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
