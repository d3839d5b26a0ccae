package browse

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"jianguo/index"
	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

// Stories of more than largeStory members are counted again every slowStories,
// not with every batch.
const (
	largeStory  = 1000
	slowStories = 5 * time.Second
)

// SparkSteps is how many steps a story's sparkline has.
const SparkSteps = 24

// heatHalf is how long it takes for a copy to count half in the order by
// recent growth.
const heatHalf = 12 * time.Hour

var heatEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// story is what follows from a cluster's members. Heat is the logarithm of the
// copies' number, each weighed by its age; since all age alike, it is the same
// whenever it is looked at, and only grows.
type story struct {
	lead, original uint32
	size           int
	rules          uint32
	first, last    int64
	whenFirst      int64 // of publication
	whenLast       int64
	heat           float64
	sources        map[int64]int
	recent         map[int64]int64 // when a source last had it; 0 is one without a name
	whens          []int64
	originalAt     int64
}

func (s *story) add(ordinal uint32, rule verdict.Rule, source int64, published sql.NullInt64, arrived int64) {
	when, at := arrived, time.UnixMilli(published.Int64)
	if published.Valid && index.Credible(&at, time.UnixMilli(arrived)) {
		when = published.Int64
		if s.original == 0 || when < s.originalAt {
			s.original, s.originalAt = ordinal, when
		}
	}
	if s.size == 0 {
		s.first, s.last, s.whenFirst, s.whenLast, s.heat = arrived, arrived, when, when, math.Inf(-1)
	}
	s.size++
	s.first, s.last = min(s.first, arrived), max(s.last, arrived)
	s.whenFirst, s.whenLast = min(s.whenFirst, when), max(s.whenLast, when)
	s.whens = append(s.whens, when)
	if ordinal != s.lead {
		s.rules |= 1 << rule
		s.heat = addHeat(s.heat, heatAt(arrived))
	}
	if source != 0 {
		s.sources[source]++
	}
	s.recent[source] = max(s.recent[source], arrived)
}

// heatAt is the heat of one thing that happened at a time.
func heatAt(ms int64) float64 {
	return float64(ms-heatEpoch.UnixMilli()) / float64(heatHalf.Milliseconds())
}

// addHeat adds two heats, which are logarithms to the base of 2.
func addHeat(a, b float64) float64 {
	hi, lo := max(a, b), min(a, b)
	return hi + math.Log2(1+math.Exp2(lo-hi))
}

// pull is as heat, of sources instead of copies: one that copies a story ten
// times counts once, by the last.
func (s *story) pull() float64 {
	pull := math.Inf(-1)
	for _, at := range s.recent {
		pull = addHeat(pull, heatAt(at))
	}
	return pull
}

// spark is how many were published in each of SparkSteps equal parts of the
// time between the first and the last, scaled to 255 for the most.
func (s *story) spark() []byte {
	var counts [SparkSteps]int
	most := 1
	for _, when := range s.whens {
		i := 0
		if span := s.whenLast - s.whenFirst; span > 0 {
			i = int((when - s.whenFirst) * (SparkSteps - 1) / span)
		}
		counts[i]++
		most = max(most, counts[i])
	}
	out := make([]byte, SparkSteps)
	for i, n := range counts {
		if n > 0 {
			out[i] = byte(max(1, n*255/most))
		}
	}
	return out
}

// stories counts the touched stories again.
func (w *follower) stories() error {
	now := time.Now()
	late := now.Sub(w.slow) >= slowStories
	for cluster := range w.touched {
		var size int
		// The size is a hint; a story that is not known yet is small.
		err := w.tx.QueryRowContext(w.ctx, `SELECT coalesce((SELECT size FROM stories WHERE cluster = ?), 0)`, cluster).Scan(&size)
		if err != nil {
			return err
		}
		if size > largeStory && !late {
			w.stale[cluster] = true
			continue
		}
		if err := w.story(cluster); err != nil {
			return fmt.Errorf("story %d: %w", cluster, err)
		}
	}
	if !late {
		return nil
	}
	for cluster := range w.stale {
		if !w.touched[cluster] {
			if err := w.story(cluster); err != nil {
				return fmt.Errorf("story %d: %w", cluster, err)
			}
		}
	}
	clear(w.stale)
	w.slow = now
	return nil
}

// story counts one story again from the catalogue.
func (w *follower) story(cluster uint32) error {
	x := w.cat
	_, lead := x.Lead(cluster)
	s := story{lead: lead, sources: map[int64]int{}, recent: map[int64]int64{}}
	if standing(x, cluster) == cluster {
		from, args := x.Members(cluster)
		err := sqlite.Each(w.ctx, x.Tables(), `SELECT i.ordinal, coalesce(c.rule, i.rule), coalesce(i.source, 0), i.published_at, i.arrived_at FROM `+from+
			` JOIN items i ON i.ordinal = m.ordinal LEFT JOIN current c ON c.ordinal = i.ordinal`, func(r *sql.Rows) error {
			var ordinal uint32
			var rule verdict.Rule
			var source, arrived int64
			var published sql.NullInt64
			if err := r.Scan(&ordinal, &rule, &source, &published, &arrived); err != nil {
				return err
			}
			s.add(ordinal, rule, source, published, arrived)
			return nil
		}, args...)
		if err != nil {
			return err
		}
	}
	return w.write(cluster, &s)
}

// write puts a story, as it was counted, in the place of what there was.
func (w *follower) write(cluster uint32, s *story) error {
	if err := w.exec(`DELETE FROM story_sources WHERE cluster = ?`, cluster); err != nil {
		return err
	}
	var had uint32
	if err := w.tx.QueryRowContext(w.ctx, `SELECT coalesce((SELECT rules FROM stories WHERE cluster = ?), 0)`, cluster).Scan(&had); err != nil {
		return err
	}
	has := s.rules
	if s.size < 2 {
		has = 0
	}
	for _, rule := range ruleList(had &^ has) {
		if err := w.exec(`DELETE FROM story_rules WHERE rule = ? AND cluster = ?`, rule, cluster); err != nil {
			return err
		}
	}
	for _, rule := range ruleList(has &^ had) {
		if err := w.exec(`INSERT INTO story_rules VALUES (?,?)`, rule, cluster); err != nil {
			return err
		}
	}
	if s.size < 2 {
		return w.exec(`DELETE FROM stories WHERE cluster = ?`, cluster)
	}
	for source, n := range s.sources {
		if err := w.exec(`INSERT INTO story_sources VALUES (?,?,?)`, source, cluster, n); err != nil {
			return err
		}
	}
	return w.exec(`INSERT OR REPLACE INTO stories VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		cluster, s.lead, s.original, s.size, len(s.sources), s.rules, s.first, s.last, s.heat, s.pull(), s.spark())
}

// Moment is when a member of a story was published, for its timeline.
type Moment struct {
	Ordinal  uint32
	Source   string
	When     time.Time // of publication where that can be believed, else of arrival
	Arrived  time.Time
	Lead     bool
	Original bool
}

// StoryView is one story in full.
type StoryView struct {
	Story
	Members []index.Brief // one page of them, the lead first, then by arrival
	Moments []Moment      // at most momentLimit, by arrival
	// Licensed are accepted copies of it, whose sources may republish: at most
	// licensedLimit, the newest first.
	Licensed []index.Brief
	Next     uint32 // the ordinal to ask the next page after; 0: the end
}

const (
	momentLimit   = 2000
	licensedLimit = 50
)

// Story reads a story and a page of its members: those after an ordinal (0:
// the first). The id of a merged cluster leads to the one it was merged into,
// that of an item without copies to a story of one.
func (b *Model) Story(ctx context.Context, id, after uint32, limit int) (*StoryView, error) {
	x := b.cat
	id = standing(x, id)
	from, args := x.Members(id)
	_, lead := x.Lead(id)
	v := &StoryView{Story: Story{ID: id}}
	s := story{lead: lead, sources: map[int64]int{}, recent: map[int64]int64{}}
	var page []uint32
	err := sqlite.Each(ctx, x.Tables(), `SELECT i.ordinal, coalesce(c.rule, i.rule), coalesce(i.source, 0), coalesce(n.name, ''), i.published_at, i.arrived_at FROM `+from+
		` JOIN items i ON i.ordinal = m.ordinal LEFT JOIN current c ON c.ordinal = i.ordinal LEFT JOIN sources n ON n.number = i.source ORDER BY i.ordinal LIMIT ?`,
		func(r *sql.Rows) error {
			var ordinal uint32
			var rule verdict.Rule
			var source, arrived int64
			var name string
			var published sql.NullInt64
			if err := r.Scan(&ordinal, &rule, &source, &name, &published, &arrived); err != nil {
				return err
			}
			s.add(ordinal, rule, source, published, arrived)
			if len(v.Moments) < momentLimit {
				v.Moments = append(v.Moments, Moment{Ordinal: ordinal, Source: name, When: time.UnixMilli(s.whens[len(s.whens)-1]).UTC(),
					Arrived: time.UnixMilli(arrived).UTC(), Lead: ordinal == lead})
			}
			if ordinal != lead && ordinal > after {
				if len(page) < limit {
					page = append(page, ordinal)
				} else if v.Next == 0 {
					v.Next = page[limit-1]
				}
			}
			return nil
		}, append(args, maxStory)...)
	if err != nil {
		return nil, fmt.Errorf("browse: story %d: %w", id, err)
	}
	if v, _ := x.State(id); s.size == 0 && v == 0 {
		return nil, fmt.Errorf("browse: story %d: %w", id, verdict.ErrNotFound)
	}
	v.Size, v.Sources, v.Rules, v.Spark = s.size, len(s.sources), ruleList(s.rules), s.spark()
	v.First, v.Last = time.UnixMilli(s.first).UTC(), time.UnixMilli(s.last).UTC()
	for i := range v.Moments {
		v.Moments[i].Original = v.Moments[i].Ordinal == s.original
	}
	briefs, err := x.Briefs(ctx, append(page, lead, s.original))
	if err != nil {
		return nil, err
	}
	v.Lead = briefs[lead]
	if s.original != lead {
		v.Original = briefs[s.original]
	}
	if after == 0 && v.Lead != nil {
		v.Members = append(v.Members, *v.Lead)
	}
	for _, o := range page {
		if m := briefs[o]; m != nil {
			v.Members = append(v.Members, *m)
		}
	}
	if err := b.licensed(ctx, v); err != nil {
		return nil, fmt.Errorf("browse: story %d: %w", id, err)
	}
	return v, nil
}

// licensed reads the accepted copies of a story's members.
func (b *Model) licensed(ctx context.Context, v *StoryView) error {
	of := make([]uint32, 0, len(v.Moments)+1)
	for i := range v.Moments {
		of = append(of, v.Moments[i].Ordinal)
	}
	list, err := json.Marshal(append(of, v.ID))
	if err != nil {
		return err
	}
	var ordinals []uint32
	err = sqlite.Each(ctx, b.reader, `SELECT DISTINCT ordinal FROM licensed WHERE of IN (SELECT value FROM json_each(?)) ORDER BY ordinal DESC LIMIT ?`, func(r *sql.Rows) error {
		var o uint32
		err := r.Scan(&o)
		ordinals = append(ordinals, o)
		return err
	}, string(list), 2*licensedLimit)
	if err != nil {
		return err
	}
	briefs, err := b.cat.Briefs(ctx, ordinals)
	for _, o := range ordinals {
		// What it was is checked against what it is.
		if m := briefs[o]; m != nil && m.Rule == verdict.ByLicence && m.Verdict.Accepted() && !m.Superseded && len(v.Licensed) < licensedLimit {
			v.Licensed = append(v.Licensed, *m)
		}
	}
	return err
}

// maxStory bounds what is read of one story.
const maxStory = 50_000
