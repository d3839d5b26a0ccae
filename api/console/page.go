package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/index"
)

//go:embed templates/*.html
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	// arg gives a part of a page the page and its own value.
	"arg": func(p *page, v any) part { return part{p, v} },
}).ParseFS(templateFiles, "templates/*.html"))

// trusted marks HTML that this package has rendered or drawn.
func trusted(s string) template.HTML { return template.HTML(s) }

type part struct {
	P *page
	V any
}

// page is the value of templates; its methods use the reader's language.
type page struct {
	c *Console
	e echo.Context

	session
	Language string // zh or en
	Theme    string // light, dark; empty: as the device has it
	Title    string
	Section  string // of the navigation
	Problem  string
	Notice   *notice
	Query    string // in the search box
	Body     template.HTML
	Data     any

	briefs map[string]*index.Brief // by id, as far as looked up; nil: there is none
}

// notice says what the last step did.
type notice struct {
	Done     *index.Decision // what was decided
	Conflict *index.Decision // another editor decided before
	Text     string
	Of       string // the id of the item
	Found    bool   // it was a review, which can be undone
}

func (c *Console) newPage(e echo.Context, s session) *page {
	p := &page{c: c, e: e, session: s, Language: index.Chinese}
	p.choose(&p.Language, "lang", languageCookie, index.Chinese, index.English)
	p.choose(&p.Theme, "theme", themeCookie, "light", "dark", "")
	return p
}

// choose takes a setting from the address and stores it in a cookie, or reads the
// cookie.
func (p *page) choose(into *string, parameter, cookie string, values ...string) {
	given, remember := p.e.QueryParam(parameter), p.e.QueryParams().Has(parameter)
	if !remember {
		if k, err := p.e.Cookie(cookie); err == nil {
			given = k.Value
		}
	}
	for _, v := range values {
		if given != v {
			continue
		}
		*into = v
		if remember {
			p.e.SetCookie(&http.Cookie{Name: cookie, Value: v, Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode})
		}
	}
}

// T picks the reader's language.
func (p *page) T(zh, en string) string {
	if p.Language == index.English {
		return en
	}
	return zh
}

// HTMLLanguage is the page's language for browsers and screen readers.
func (p *page) HTMLLanguage() string { return p.T("zh-Hans", "en") }

// Chinese marks the Chinese text on an English page.
func (p *page) Chinese() template.HTMLAttr {
	if p.Language == index.English {
		return `lang="zh"`
	}
	return ""
}

// Asset is the address of an embedded file.
func (p *page) Asset(name string) string { return "/console/assets/" + p.c.hash + "/" + name }

// Form is the token of the session's forms.
func (p *page) Form() string { return p.c.formToken(p.session) }

// Open reports whether the console needs no sign-in.
func (p *page) Open() bool { return p.c.open() }

// Here is the address of the page with some parameters changed; an empty value
// removes one.
func (p *page) Here(pairs ...string) string {
	q := url.Values{}
	for k, v := range p.e.QueryParams() {
		q[k] = v
	}
	for _, k := range append([]string{"lang", "theme"}, said...) {
		q.Del(k)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" && pairs[i] != "theme" {
			q.Del(pairs[i])
		}
	}
	return (&url.URL{Path: p.e.Request().URL.Path, RawQuery: q.Encode()}).String()
}

// At is the page's own address, to which a form returns.
func (p *page) At() string { return p.Here() }

// ItemURL is the page of an item.
func (p *page) ItemURL(id string) string { return "/console/item?id=" + url.QueryEscape(id) }

// CompareURL is the page that compares two items.
func (p *page) CompareURL(a, b string) string {
	return "/console/compare?a=" + url.QueryEscape(a) + "&b=" + url.QueryEscape(b)
}

// ClusterURL is the page of a story.
func (p *page) ClusterURL(id uint32) string { return fmt.Sprintf("/console/cluster?id=%d", id) }

// LinkOf is an article's address if it is safe as a link, else empty.
func (p *page) LinkOf(address string) string {
	if u, err := url.Parse(address); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return u.String()
	}
	return ""
}

// Verdict names a verdict.
func (p *page) Verdict(v index.Verdict) string {
	switch v {
	case index.Unique:
		return p.T("首发", "unique")
	case index.Suspect:
		return p.T("疑似", "suspect")
	case index.Duplicate:
		return p.T("重复", "duplicate")
	case index.Withdrawn:
		return p.T("已撤", "withdrawn")
	}
	return p.T("尚无", "none")
}

var ruleNames = map[index.Rule][2]string{
	index.ByExact: {"同文", "exact"}, index.ByHamming: {"指纹", "fingerprint"}, index.ByMargin: {"弱位", "margin"}, index.BySketch: {"短文", "sketch"},
	index.ByPassage: {"段落", "passage"}, index.ByBlocked: {"封禁", "blocked"}, index.ByEditor: {"编辑", "editor"}, index.BySuspected: {"疑似拒收", "suspected"},
	index.ByLicence: {"授权转载", "licensed"}, index.ByPreference: {"优先首发", "preferred"},
}

// Rule names a rule.
func (p *page) Rule(r index.Rule) string { n := ruleNames[r]; return p.T(n[0], n[1]) }

// Rules are all rules a filter can ask for.
func (p *page) Rules() []index.Rule {
	return []index.Rule{index.ByExact, index.ByHamming, index.ByMargin, index.BySketch, index.ByPassage, index.ByBlocked, index.ByEditor, index.ByPreference}
}

// Cause names a cause.
func (p *page) Cause(c index.Cause) string {
	switch c {
	case index.CauseIngest:
		return p.T("到达", "arrival")
	case index.CauseRevision:
		return p.T("修订", "revision")
	case index.CauseWithdrawal:
		return p.T("来源撤回", "withdrawal")
	case index.CausePromotion:
		return p.T("递补首发", "promotion")
	case index.CauseEditor:
		return p.T("编辑", "editor")
	}
	return c.String()
}

// Kind names a kind of decision.
func (p *page) Kind(kind string) string {
	switch kind {
	case index.Release:
		return p.T("放行", "release")
	case index.Reject:
		return p.T("判为重复", "reject")
	case index.Block:
		return p.T("封禁", "block")
	case index.Merge:
		return p.T("合并", "merge")
	case index.MakeLead:
		return p.T("设为首发", "make lead")
	case index.Undo:
		return p.T("撤销", "undo")
	}
	return kind
}

// Finding names the result of a review.
func (p *page) Finding(finding string) string {
	switch finding {
	case index.FoundRight:
		return p.T("拒得对", "rightly rejected")
	case index.FoundWrong:
		return p.T("误拒", "wrong")
	case index.FoundUnsure:
		return p.T("说不准", "unsure")
	case index.FoundUndone:
		return p.T("撤回前次结论", "taken back")
	}
	return ""
}

// SourcePolicy names a policy of a source.
func (p *page) SourcePolicy(policy string) string {
	switch policy {
	case index.SourceLicensed:
		return p.T("授权转载", "licensed")
	case index.SourcePreferred:
		return p.T("优先首发", "preferred original")
	case index.SourceWatched:
		return p.T("重点关注", "watched")
	}
	return p.T("普通", "normal")
}

// Number groups thousands.
func (p *page) Number(v any) string {
	s := fmt.Sprint(v)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Less is one less.
func (p *page) Less(n int) int { return n - 1 }

// Percent shows a share, 0…1.
func (p *page) Percent(v any) string {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case float32:
		f = float64(v)
	case *float32:
		if v == nil {
			return "—"
		}
		f = float64(*v)
	}
	if math.IsNaN(f) {
		return "—"
	}
	return strconv.FormatFloat(100*f, 'f', 1, 64) + "%"
}

// Chance shows a probability in whole percents, or as <1% or >99%.
func (p *page) Chance(f float64) string {
	switch {
	case f < .01:
		return "<1%"
	case f > .99:
		return ">99%"
	}
	return strconv.Itoa(int(math.Round(100*f))) + "%"
}

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

// Time is a time in full.
func (p *page) Time(v any) string {
	t := pointed(v)
	if t.IsZero() {
		return "—"
	}
	return t.In(p.c.cfg.Location).Format("2006-01-02 15:04:05")
}

// Short is a time as lists show it, as short as possible.
func (p *page) Short(v any) string {
	t := pointed(v)
	if t.IsZero() {
		return "—"
	}
	t, now := t.In(p.c.cfg.Location), p.c.now()
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
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// SourcePolicies are the policies a source can have.
func (p *page) SourcePolicies() []string {
	return []string{index.SourceNormal, index.SourceLicensed, index.SourcePreferred, index.SourceWatched}
}
