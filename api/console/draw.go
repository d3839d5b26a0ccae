package console

import (
	"fmt"
	"time"

	"jianguo/index/browse"
)

// chart is bars over time, drawn as SVG by the template "chart". Positions are in per cent, so that
// the drawing is as wide as its page.
type chart struct {
	Name  string
	Bars  []bar
	Scale []tick // lines across
	Ticks []tick // under the bars
}

type bar struct {
	Left, Width float64
	Title       string
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

// hourChart draws the arrivals by hour up to now.
func (p *page) hourChart(counts []browse.HourCount) *chart {
	first := p.c.cfg.Now().Truncate(time.Hour).Add(-(chartHours - 1) * time.Hour)
	var sums [chartHours][3]int64
	most := int64(4)
	for _, c := range counts {
		i := int(c.Hour.Sub(first) / time.Hour)
		if c.Hour.Before(first) || i >= len(sums) {
			continue
		}
		sums[i] = [3]int64{c.Items - c.Duplicates - c.Suspects, c.Suspects, c.Duplicates}
		most = max(most, c.Items)
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
		from := first.Add(time.Duration(i) * time.Hour).In(location)
		b := bar{Left: margin + (float64(i)+1./12)*step, Width: step * 5 / 6}
		if s != [3]int64{} {
			b.Title = fmt.Sprintf(p.T("%s　首发 %d　疑似 %d　重复 %d", "%s: %d unique, %d suspect, %d duplicate"),
				p.Time(from), s[0], s[1], s[2])
		}
		at := 100.0
		for k, class := range []string{"unique", "suspect", "duplicate"} {
			height := 100 * float64(s[k]) / float64(top)
			at -= height
			b.Parts = append(b.Parts, barPart{class, at, height})
		}
		c.Bars = append(c.Bars, b)
		if from.Hour()%6 != 0 || b.Left > 95 { // a label would run over the edge
			continue
		}
		form := "15:04"
		if len(c.Ticks) == 0 {
			form = dayForm
		} else if from.Hour() == 0 {
			form = "01-02"
		}
		c.Ticks = append(c.Ticks, tick{At: b.Left, Text: from.Format(form), Narrow: len(c.Ticks)%2 == 0})
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
