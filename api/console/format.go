package console

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"jianguo/index"
)

// Number groups thousands.
func (p *page) Number(v any) string {
	s := fmt.Sprint(v)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent shows a share, 0…1.
func (p *page) Percent(f float64) string {
	if math.IsNaN(f) {
		return "—"
	}
	return strconv.FormatFloat(100*f, 'f', 1, 64) + "%"
}

// Whole shows a share, 0…1, in whole per cent, as the sentence of a verdict does.
func (p *page) Whole(f float64) string { return strconv.Itoa(int(math.Round(100*f))) + "%" }

// shares are how much of an item and of the earlier one the other has.
func (p *page) shares(b *index.Brief) (later, earlier string) {
	switch f := b.Facts; {
	case f != nil && f.Coverage != nil:
		return p.Whole(float64(f.Coverage.Later)), p.Whole(float64(f.Coverage.Earlier))
	case b.Rule == index.ByExact:
		return "100%", "100%"
	}
	return "—", "—"
}

// Shared says how much of an item and of the earlier one the other has.
func (p *page) Shared(b *index.Brief) string {
	if b.Rule == index.ByExact && b.Verdict == index.Suspect {
		return p.T("正文相同，标题不同", "the same body, another headline")
	}
	later, earlier := p.shares(b)
	return fmt.Sprintf(p.T("本稿 %s · 先到稿 %s", "this %s · earlier %s"), later, earlier)
}

// Ratio is a part of a whole in whole per cent.
func (p *page) Ratio(part, whole int) string { return p.Whole(float64(part) / float64(max(whole, 1))) }

// Share is a part of a whole as a percentage.
func (p *page) Share(part, whole int64) string {
	if whole == 0 {
		return "—"
	}
	return p.Percent(float64(part) / float64(whole))
}

func pointed(v any) time.Time {
	switch t := v.(type) {
	case time.Time:
		return t
	case *time.Time:
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

// Time is a time in full, to the minute.
func (p *page) Time(v any) string {
	t := pointed(v)
	if t.IsZero() {
		return "—"
	}
	return t.In(location).Format("2006-01-02 15:04")
}

// Short is a time as lists show it, as short as possible.
func (p *page) Short(v any) string {
	t := pointed(v)
	if t.IsZero() {
		return "—"
	}
	t, now := t.In(location), p.c.now()
	switch {
	case t.Year() != now.Year():
		return t.Format("2006-01-02")
	case t.YearDay() != now.YearDay():
		return t.Format("01-02 15:04")
	}
	return p.T("今天 ", "today ") + t.Format("15:04")
}

// ISO is a time for machines.
func (p *page) ISO(v any) string { return pointed(v).UTC().Format(time.RFC3339) }

// Ago is how long ago it was.
func (p *page) Ago(v any) string {
	t := pointed(v)
	if t.IsZero() {
		return "—"
	}
	d := p.c.cfg.Now().Sub(t)
	if d < 45*time.Second {
		return p.T("刚刚", "just now")
	}
	return p.Span(d) + p.T("前", " ago")
}

// Span is a length of time in words.
func (p *page) Span(d time.Duration) string {
	unit := func(n int, zh, en string) string { return strconv.Itoa(n) + p.T(" "+zh, " "+en) }
	switch {
	case d < time.Minute:
		return unit(int(d.Seconds()), "秒", "s")
	case d < 90*time.Minute:
		return unit(int(math.Round(d.Minutes())), "分钟", "min")
	case d < 36*time.Hour:
		return unit(int(math.Round(d.Hours())), "小时", "h")
	}
	return unit(int(math.Round(d.Hours()/24)), "天", "d")
}

// Size is a number of bytes in words.
func (p *page) Size(n int64) string {
	f, unit := float64(n), 0
	for f >= 1000 && unit < 4 {
		f, unit = f/1024, unit+1
	}
	return strconv.FormatFloat(f, 'f', map[bool]int{true: 0, false: 1}[unit == 0], 64) + [...]string{" B", " KB", " MB", " GB", " TB"}[unit]
}

// JSON shows a value indented, as text.
func (p *page) JSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // the template does
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return b.String()
}
