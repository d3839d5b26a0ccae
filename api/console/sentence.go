package console

import (
	"context"
	"strings"

	"jianguo/index"
)

// sentence is the reason of a verdict, with the other article's headline.
type sentence struct {
	Before, After string
	Of            *index.Brief // nil: it speaks of none
}

// Line is a headline on one line, without invisible characters.
func (p *page) Line(title string) string { return oneLine(visible(title)) }

// Cited is a headline as a sentence quotes it: without a full stop at the end.
func (p *page) Cited(b *index.Brief) string {
	if title := strings.TrimRight(p.Line(b.Title), "。."); title != "" {
		return title
	}
	return b.ID
}

// place is a placeholder for the other article in a sentence.
const place = "\x00"

func (p *page) sentence(text string, of *index.Brief, note string) sentence {
	if note != "" {
		text += p.T("：", ": ") + note
	}
	if text != "" && !strings.HasSuffix(text, "。") && !strings.HasSuffix(text, ".") {
		text += p.T("。", ".")
	}
	// The badge next to the sentence says this already.
	text = strings.TrimPrefix(text, p.T("存疑：", "in doubt: "))
	before, after, found := strings.Cut(text, place)
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
	of := p.Brief(e.Of)
	if of != nil {
		e.Of = place
	}
	return p.sentence(index.Why(&e, p.Language), of, note)
}

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
		name = place
	}
	return p.sentence(b.Why(name, p.Language), of, "")
}

// Brief is the article of an id; nil: there is none.
func (p *page) Brief(id string) *index.Brief {
	if id == "" {
		return nil
	}
	if _, known := p.briefs[id]; !known {
		p.know(p.e.Request().Context(), []string{id})
	}
	return p.briefs[id]
}

// know looks up many ids at once, for Brief. A page without headlines is better
// than no page, so an error is only logged.
func (p *page) know(ctx context.Context, ids []string) {
	if p.briefs == nil {
		p.briefs = map[string]*index.Brief{}
	}
	found, err := p.c.cfg.Index.BriefsByID(ctx, ids)
	if err != nil {
		p.c.log.WarnContext(ctx, "console: headlines", "error", err)
	}
	for _, id := range ids {
		p.briefs[id] = found[id]
	}
}

// knowDecisions looks up the items of decisions.
func (p *page) knowDecisions(ctx context.Context, list []index.Decision) {
	var ids []string
	for _, d := range list {
		if d.Item != "" {
			ids = append(ids, d.Item)
		}
	}
	p.know(ctx, ids)
}
