package browse

import (
	"context"
	"fmt"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Moment is one point of a story's timeline: the publication of a member.
type Moment struct {
	Ordinal  uint32
	Source   string
	When     time.Time // of publication if credible, else of arrival
	Lead     bool
	Original bool
}

// StoryView is one story in full.
type StoryView struct {
	Story
	Members []index.Brief // one page of them, the lead first, then by arrival
	Moments []Moment      // at most momentLimit, by arrival
	// Licensed are its accepted copies, whose sources may republish: at most
	// licensedLimit, the newest first.
	Licensed []index.Brief
	Next     uint32 // the ordinal to ask the next page after; 0: the end
}

const (
	momentLimit   = 2000
	licensedLimit = 50
)

// Story reads a story and a page of its members: those after an ordinal (0:
// the first). The id of a merged cluster stands for the cluster it was merged
// into, the id of an item without copies for a story of one.
func (b *Model) Story(ctx context.Context, id, after uint32, limit int) (*StoryView, error) {
	v, err := must.Try(func() *StoryView { return b.readStory(ctx, id, after, limit) })
	return v, wrap.Err(err, "browse: story %d", id)
}

func (b *Model) readStory(ctx context.Context, id, after uint32, limit int) *StoryView {
	id, lead := b.cat.Lead(id)
	v := &StoryView{Story: Story{ID: id}}
	s := newStory(lead)
	var page []uint32
	b.members(ctx, id, maxStory, func(m *member) {
		s.add(m)
		if len(v.Moments) < momentLimit {
			when := time.UnixMilli(s.whens[len(s.whens)-1]).UTC()
			moment := Moment{Ordinal: m.ordinal, Source: m.name, When: when, Lead: m.ordinal == lead}
			v.Moments = append(v.Moments, moment)
		}
		if m.ordinal != lead && m.ordinal > after {
			if len(page) < limit {
				page = append(page, m.ordinal)
			} else if v.Next == 0 {
				v.Next = page[limit-1]
			}
		}
	})
	if state, _ := b.cat.State(id); s.size == 0 && state == 0 {
		must.Do(verdict.ErrNotFound)
	}
	v.Size, v.Sources, v.Rules, v.Spark = s.size, len(s.sources()), ruleList(s.rules), s.spark()
	v.First, v.Last = time.UnixMilli(s.first).UTC(), time.UnixMilli(s.last).UTC()
	for i := range v.Moments {
		v.Moments[i].Original = v.Moments[i].Ordinal == s.presumed()
	}
	briefs := must.Get(b.cat.Briefs(ctx, append(page, lead, s.presumed())))
	if v.Lead = briefs[lead]; s.presumed() != lead {
		v.Original = briefs[s.presumed()]
	}
	if after == 0 && v.Lead != nil { // the lead is a member of the first page
		v.Members = append(v.Members, *v.Lead)
	}
	for _, o := range page {
		if m := briefs[o]; m != nil {
			v.Members = append(v.Members, *m)
		}
	}
	v.Licensed = b.licensed(ctx, v)
	return v
}

// licensed reads the accepted copies of a story's members.
func (b *Model) licensed(ctx context.Context, v *StoryView) (licensed []index.Brief) {
	of := []uint32{v.ID}
	for i := range v.Moments {
		of = append(of, v.Moments[i].Ordinal)
	}
	ordinals := read(ctx, b.reader, fmt.Sprint("story ", v.ID), `SELECT DISTINCT ordinal FROM licensed
		WHERE of IN (SELECT value FROM json_each(?)) ORDER BY ordinal DESC LIMIT ?`,
		number, sqlite.List(of), 2*licensedLimit)
	for _, m := range b.briefs(ctx, ordinals) {
		// The list says what it was on arrival; the brief says what it is now.
		if m.Rule == verdict.ByLicence && m.Verdict.Accepted() && !m.Superseded && len(licensed) < licensedLimit {
			licensed = append(licensed, m)
		}
	}
	return licensed
}

// maxStory is how many members are read of one story at most.
const maxStory = 50_000

// members reads the members of a story in order, at most so many; -1: all.
func (b *Model) members(ctx context.Context, cluster uint32, limit int, f func(*member)) {
	from, args := b.cat.MembersFrom(cluster)
	query := `SELECT i.ordinal, coalesce(c.rule, i.rule), coalesce(i.source, 0), i.published_at, i.arrived_at,
		coalesce(n.name, '') FROM ` + from + ` JOIN items i ON i.ordinal = m.ordinal
		LEFT JOIN current c ON c.ordinal = i.ordinal LEFT JOIN sources n ON n.number = i.source
		ORDER BY i.ordinal LIMIT ?`
	for r := range sqlite.Rows(ctx, b.cat.Tables(), query, append(args, limit)...) {
		var m member
		must.Do(r.Scan(&m.ordinal, &m.rule, &m.source, &m.published, &m.arrived, &m.name))
		f(&m)
	}
}
