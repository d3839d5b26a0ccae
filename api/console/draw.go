package console

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"time"

	"jianguo/index/browse"
)

// drawing collects SVG. Shapes are coloured by classes: the content security
// policy allows no inline style.
type drawing struct{ strings.Builder }

func (d *drawing) f(format string, args ...any) { fmt.Fprintf(&d.Builder, format, args...) }

func (d *drawing) done() template.HTML {
	d.f("</svg>")
	return trusted(d.String())
}

// Spark draws a story's sparkline: publications of its members over time.
func (p *page) Spark(s browse.Story) template.HTML {
	var d drawing
	const step, height = 4, 24
	label := fmt.Sprintf(p.T("%s 至 %s 的发布时间分布", "publications from %s to %s"), p.Short(s.First), p.Short(s.Last))
	d.f(`<svg class="spark" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`, step*browse.SparkSteps, height, step*browse.SparkSteps, height, html.EscapeString(label))
	d.f(`<path class="axis" d="M0 %[1]d.5H%[2]d"/>`, height-1, step*browse.SparkSteps)
	d.f(`<path d="`)
	for i, v := range s.Spark {
		if v > 0 {
			d.f("M%d %dv-%d", i*step+1, height-1, max(2, int(v)*(height-3)/255))
		}
	}
	d.f(`"/>`)
	return d.done()
}

// hourChart draws the arrivals by hour up to now as stacked bars; width is in
// pixels.
func (p *page) hourChart(counts []browse.HourCount, hours, width int) template.HTML {
	height, bottom, left := 200, 24, 44
	group := 1
	if hours > 100 {
		group = 6
	}
	n := hours / group
	type bar struct{ unique, suspects, duplicates int64 }
	bars := make([]bar, n)
	last := p.c.cfg.Now().Truncate(time.Hour)
	first := last.Add(-time.Duration(hours-1) * time.Hour)
	var most int64 = 4
	for _, c := range counts {
		i := int(c.Hour.Sub(first)/time.Hour) / group
		if c.Hour.Before(first) || i >= n {
			continue
		}
		bars[i].unique += c.Items - c.Duplicates - c.Suspects
		bars[i].suspects += c.Suspects
		bars[i].duplicates += c.Duplicates
		most = max(most, bars[i].unique+bars[i].suspects+bars[i].duplicates)
	}
	top := roundUp(most)
	var d drawing
	d.f(`<svg class="chart bars" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, html.EscapeString(p.T("每小时到达的稿件", "items by hour of arrival")))
	plot := height - bottom - 8
	y := func(v int64) float64 { return 8 + float64(plot) - float64(v)*float64(plot)/float64(top) }
	for k := int64(0); k <= 4; k++ {
		v := top * k / 4
		d.f(`<path class="%s" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, map[bool]string{true: "axis", false: "grid"}[k == 0], left, y(v), width, left-8, y(v)+4, p.Number(v))
	}
	step := float64(width-left) / float64(n)
	for i, b := range bars {
		x, sum := float64(left)+float64(i)*step, int64(0)
		from := first.Add(time.Duration(i*group) * time.Hour).In(location)
		if b != (bar{}) {
			d.f(`<g><title>%s</title>`, html.EscapeString(fmt.Sprintf(p.T("%s　首发 %d　疑似 %d　重复 %d", "%s: %d unique, %d suspect, %d duplicate"), from.Format("01-02 15:04"), b.unique, b.suspects, b.duplicates)))
			for _, part := range []struct {
				class string
				n     int64
			}{{"unique", b.unique}, {"suspect", b.suspects}, {"duplicate", b.duplicates}} {
				if part.n > 0 {
					d.f(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, part.class, x+step/12, y(sum+part.n), step*5/6, y(sum)-y(sum+part.n))
					sum += part.n
				}
			}
			d.f(`</g>`)
		}
		if label := hourLabel(from, group, step); label != "" && x+step/2 < float64(width-20) {
			d.f(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x+step/2, height-6, label)
		}
	}
	return d.done()
}

// hourLabel is the label under a bar of so many hours, as long as the width of
// the bar allows.
func hourLabel(t time.Time, group int, step float64) string {
	switch narrow := step < 10; {
	case group > 1 && t.Hour() < group && (t.Day()%2 == 0 && !narrow || t.Day()%4 == 0):
		return t.Format("01-02")
	case group > 1:
	case t.Hour() == 0:
		return t.Format("01-02")
	case t.Hour() == 12, t.Hour()%6 == 0 && !narrow:
		return t.Format("15:04")
	}
	return ""
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

// lanes is how many sources have a line of their own in a timeline.
const lanes = 10

// timeline draws the times of publication: a line for each source, in the order of
// their first member. Width, and left, the part of it that names take, are in
// pixels; names are cut to so many characters.
func (p *page) timeline(s *browse.StoryView, width, left, characters int) template.HTML {
	if len(s.Moments) < 2 {
		return ""
	}
	moments := slices.Clone(s.Moments)
	slices.SortStableFunc(moments, func(a, b browse.Moment) int { return a.When.Compare(b.When) })
	first, last := moments[0].When, moments[len(moments)-1].When
	lane := map[string]int{}
	var names []string
	rest := false
	for _, m := range moments {
		if _, ok := lane[m.Source]; ok {
			continue
		}
		if len(names) == lanes {
			lane[m.Source], rest = lanes, true
			continue
		}
		lane[m.Source] = len(names)
		names = append(names, m.Source)
	}
	if rest {
		names = append(names, p.T("其他来源", "others"))
	}
	const high, top = 26, 10
	height := top + high*len(names) + 26
	var d drawing
	d.f(`<svg class="timeline" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, html.EscapeString(p.T("各来源的发布时间", "when each source published")))
	span := last.Sub(first)
	x := func(t time.Time) float64 {
		if span <= 0 {
			return float64(left + 12)
		}
		return float64(left+12) + float64(t.Sub(first))/float64(span)*float64(width-left-36)
	}
	for i, name := range names {
		if name == "" {
			name = p.T("来源不明", "unknown")
		}
		name = shortened(name, characters)
		y := top + high*i + high/2
		d.f(`<path class="grid" d="M%d %d.5H%d"/><text x="%d" y="%d" text-anchor="end">%s</text>`, left, y, width, left-10, y+5, html.EscapeString(visible(name)))
	}
	drawn := map[[2]int]bool{}
	// Many copies are dots of one path, so that the page stays small; so are those
	// on a phone, which cannot hover.
	bare := len(moments) > 300 || width < 400
	var copies strings.Builder
	for _, m := range moments {
		// Dots at the same position are drawn once.
		place := [2]int{lane[m.Source], int(x(m.When)) / 4}
		if !m.Lead && !m.Original && drawn[place] {
			continue
		}
		drawn[place] = true
		class, r := "copy", 5
		if m.Lead {
			class, r = "lead", 7
		} else if m.Original {
			class, r = "original", 7
		}
		if bare && class == "copy" {
			fmt.Fprintf(&copies, "M%.0f %dh0", x(m.When), top+high*lane[m.Source]+high/2)
			continue
		}
		d.f(`<circle class="%s" cx="%.1f" cy="%d" r="%d"><title>%s %s</title></circle>`, class, x(m.When), top+high*lane[m.Source]+high/2, r,
			html.EscapeString(m.When.In(location).Format("01-02 15:04")), html.EscapeString(visible(m.Source)))
	}
	if copies.Len() > 0 {
		d.f(`<path class="copies" d="%s"/>`, copies.String())
	}
	format := "01-02 15:04"
	for _, t := range []struct {
		at     time.Time
		anchor string
	}{{first, "start"}, {first.Add(span / 2), "middle"}, {last, "end"}} {
		if span <= 0 && t.anchor != "start" || t.anchor == "middle" && width-left < 300 {
			continue
		}
		d.f(`<text class="tick" x="%.1f" y="%d" text-anchor="%s">%s</text>`, x(t.at), height-6, t.anchor, t.at.In(location).Format(format))
	}
	return d.done()
}

// WeekChart draws precision week by week with its intervals.
func (p *page) WeekChart(weeks []browse.Precision) template.HTML {
	if len(weeks) == 0 {
		return ""
	}
	weeks = weeks[max(0, len(weeks)-26):]
	const width, height, left, bottom = 380, 104, 44, 22
	low := 0.9
	for _, w := range weeks {
		for low > 0 && w.Low < low {
			low -= 0.1
		}
	}
	low = max(0, low)
	var d drawing
	d.f(`<svg class="chart weeks" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, html.EscapeString(p.T("每周的拒收精确率与置信区间", "precision by week, with its interval")))
	y := func(v float64) float64 { return 8 + (1-v)/(1-low)*(height-bottom-8) }
	for k := range 3 {
		v := low + (1-low)*float64(k)/2
		d.f(`<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%.0f%%</text>`, left, y(v), width, left-8, y(v)+4, 100*v)
	}
	step := float64(width-left) / float64(max(len(weeks), 4))
	for i, w := range weeks {
		x := left + step*(float64(i)+.5)
		d.f(`<g><title>%s</title><path class="whisker" d="M%.1f %.1fV%.1f"/><circle class="lead" cx="%.1f" cy="%.1f" r="4"/></g>`,
			html.EscapeString(fmt.Sprintf("%s: %s (%s–%s), n = %d", w.Since.Format("01-02"), p.Percent(w.Share), p.Percent(w.Low), p.Percent(w.High), w.Right+w.Wrong)),
			x, y(w.Low), y(w.High), x, y(w.Share))
		if len(weeks) < 9 || i%4 == 0 {
			d.f(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x, height-5, w.Since.Format("01-02"))
		}
	}
	return d.done()
}
