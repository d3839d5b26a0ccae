package console

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jianguo/index/browse"
)

// Drawings are SVG of the template "chart" or "timeline". Positions are in per cent, so that
// a drawing is as wide as its page.

// chart is bars over time.
type chart struct {
	Name  string
	Bars  []bar
	Scale []tick // lines across
	Ticks []tick // under the bars
}

type bar struct {
	Left, Width float64
	Title, Href string
	Parts       []barPart // from below
}

type barPart struct {
	Class       string
	Top, Height float64
}

type tick struct {
	At     float64
	Text   string
	Narrow bool // shown on a phone too
}

// hourChart draws the arrivals by hour up to now. Each bar leads to the copies that arrived then.
func (p *page) hourChart(counts []browse.HourCount, hours int) *chart {
	group, most := 1, int64(4)
	if hours > 100 {
		group = 6
	}
	last := p.c.cfg.Now().Truncate(time.Hour)
	first := last.Add(-time.Duration(hours-1) * time.Hour)
	sums := make([][3]int64, hours/group)
	for _, c := range counts {
		i := int(c.Hour.Sub(first)/time.Hour) / group
		if c.Hour.Before(first) || i >= len(sums) {
			continue
		}
		s := &sums[i]
		s[0], s[1], s[2] = s[0]+c.Items-c.Duplicates-c.Suspects, s[1]+c.Suspects, s[2]+c.Duplicates
		most = max(most, s[0]+s[1]+s[2])
	}
	top := roundUp(most)
	c := &chart{Name: p.T("每小时到达的稿件", "items by hour of arrival")}
	c.Scale = []tick{{At: 100}}
	for k := int64(1); k <= 4; k++ {
		c.Scale = append(c.Scale, tick{At: 100 - 25*float64(k), Text: p.Number(top * k / 4)})
	}
	const margin = 4 // for the numbers
	step := (100 - margin) / float64(len(sums))
	for i, s := range sums {
		from := first.Add(time.Duration(i*group) * time.Hour).In(location)
		b := bar{Left: margin + (float64(i)+1./12)*step, Width: step * 5 / 6}
		if s != [3]int64{} {
			b.Title = fmt.Sprintf(p.T("%s　首发 %d　疑似 %d　重复 %d", "%s: %d unique, %d suspect, %d duplicate"),
				p.Time(from), s[0], s[1], s[2])
		}
		if s[2] > 0 {
			b.Href = address("/console/copies", "from", from.Format(hourForm),
				"to", from.Add(time.Duration(group)*time.Hour).Format(hourForm))
		}
		at := 100.0
		for k, class := range []string{"unique", "suspect", "duplicate"} {
			height := 100 * float64(s[k]) / float64(top)
			at -= height
			b.Parts = append(b.Parts, barPart{class, at, height})
		}
		c.Bars = append(c.Bars, b)
		label := ""
		switch {
		case b.Left > 95: // it would run over the edge
		case group > 1 && from.Hour() < group && from.Day()%2 == 0, group == 1 && from.Hour() == 0:
			label = from.Format("01-02")
		case group == 1 && from.Hour()%6 == 0:
			label = from.Format("15:04")
		}
		if label != "" {
			if len(c.Ticks) == 0 {
				label = from.Format(dayForm)
			}
			c.Ticks = append(c.Ticks, tick{At: b.Left, Text: label, Narrow: len(c.Ticks)%2 == 0})
		}
	}
	return c
}

// roundUp is the next number that is easy to read on an axis of four steps.
func roundUp(v int64) int64 {
	for unit := int64(4); ; unit *= 10 {
		for _, m := range []int64{1, 2, 3, 5} {
			if unit*m >= v {
				return unit * m
			}
		}
	}
}

// Spark is the path of a story's sparkline: publications of its members over time.
func (p *page) Spark(steps []byte) (path string) {
	for i, v := range steps {
		if v > 0 {
			path += fmt.Sprintf("M%d 23v-%d", i*4+1, max(2, int(v)*21/255))
		}
	}
	return path
}

// timeline is when each source published.
type timeline struct {
	Lanes []lane
	Ticks []tick
}

// lane is one source. Its dots are paths of points, by class.
type lane struct {
	Name string
	Dots map[string]string
}

// lanes is how many sources have a line of their own in a timeline.
const lanes = 10

// timeline draws the times of publication: a line for each source, in the order of their
// first member.
func (p *page) timeline(s *browse.StoryView) *timeline {
	if len(s.Moments) < 2 {
		return nil
	}
	moments := slices.Clone(s.Moments)
	slices.SortStableFunc(moments, func(a, b browse.Moment) int { return a.When.Compare(b.When) })
	first := moments[0].When
	span := moments[len(moments)-1].When.Sub(first)
	t := &timeline{}
	of := map[string]int{}
	drawn := map[[2]int]bool{}
	for _, m := range moments {
		i, known := of[m.Source]
		if !known {
			if i = len(t.Lanes); i > lanes {
				i = lanes
			} else {
				name := cmp.Or(m.Source, p.T("来源不明", "unknown"))
				if i == lanes {
					name = p.T("其他来源", "others")
				}
				t.Lanes = append(t.Lanes, lane{visible(name), map[string]string{}})
			}
			of[m.Source] = i
		}
		at, class := 2.0, "copy"
		if span > 0 {
			at += 96 * float64(m.When.Sub(first)) / float64(span)
		}
		if m.Lead {
			class = "lead"
		} else if m.Original {
			class = "original"
		}
		// Dots at the same position are drawn once.
		slot := [2]int{i, int(2 * at)}
		if class == "copy" && drawn[slot] {
			continue
		}
		drawn[slot] = true
		t.Lanes[i].Dots[class] += fmt.Sprintf("M%.1f 5h0", at)
	}
	for k, at := range []float64{2, 50, 98} {
		if span > 0 || k == 0 {
			when := first.Add(time.Duration(float64(span) * float64(k) / 2)).In(location)
			t.Ticks = append(t.Ticks, tick{At: at, Text: when.Format("2006-01-02 15:04")})
		}
	}
	return t
}
