package console

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"jianguo/index"
)

// locale is the language of a reader, and the time. Its methods are for templates, which embed it
// in the value of a page.
type locale struct {
	Language string // index.Chinese or index.English
	Now      func() time.Time
}

// location is where the editors are.
var location = time.FixedZone("UTC+8", 8*3600)

// T picks the reader's language.
func (l locale) T(zh, en string) string {
	if l.Language == index.English {
		return en
	}
	return zh
}

// Chinese marks the Chinese text on an English page.
func (l locale) Chinese() template.HTMLAttr {
	if l.Language == index.English {
		return `lang="zh"`
	}
	return ""
}

// Number groups thousands.
func (l locale) Number(v any) string {
	s := fmt.Sprint(v)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent shows a share, 0…1.
func (l locale) Percent(f float64) string {
	if math.IsNaN(f) {
		return "—"
	}
	return strconv.FormatFloat(100*f, 'f', 1, 64) + "%"
}

// Whole shows a share, 0…1, in whole per cent, as the sentence of a verdict does.
func (l locale) Whole(f float64) string { return strconv.Itoa(int(math.Round(100*f))) + "%" }

// Share is a part of a whole as a percentage.
func (l locale) Share(part, whole int64) string { return l.Percent(float64(part) / float64(whole)) }

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
func (l locale) Time(v any) string {
	t := pointed(v)
	if t.IsZero() {
		return "—"
	}
	return t.In(location).Format("2006-01-02 15:04")
}

// Short is a time as lists show it, as short as possible.
func (l locale) Short(v any) string {
	t := pointed(v)
	if t.IsZero() {
		return "—"
	}
	t, now := t.In(location), l.Now().In(location)
	switch {
	case t.Year() != now.Year():
		return t.Format("2006-01-02")
	case t.YearDay() != now.YearDay():
		return t.Format("01-02 15:04")
	}
	return l.T("今天 ", "today ") + t.Format("15:04")
}

// Span is a length of time in words.
func (l locale) Span(d time.Duration) string {
	unit := func(n int, zh, en string) string { return strconv.Itoa(n) + l.T(" "+zh, " "+en) }
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

// JSON shows a value indented, as text.
func (l locale) JSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // the template does
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return b.String()
}
