package console

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/index"
	"jianguo/ingest"
)

//go:embed templates/*.html
var templateFiles embed.FS

// templates are parsed for the first page: most starts of the program show none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		// arg gives a part of a page the page and its own value.
		"arg": func(p *page, v any) part { return part{p, v} },
	}).ParseFS(templateFiles, "templates/*.html"))
})

type part struct {
	P *page
	V any
}

// page is the value of templates; its methods use the reader's language.
type page struct {
	c *Console
	e echo.Context

	session
	locale
	Theme   string // light, dark; empty: as the device has it
	Title   string
	Section string // of the navigation
	Problem string
	Wrong   map[string]string // by field: what is wrong with it
	Notice  *notice
	Query   string // in the search box
	Body    template.HTML
	Data    any
}

// notice says what the last step did.
type notice struct {
	Done     *index.Decision // what was decided
	Before   *index.Decision // after an undo: the editor's decision before, to undo next
	Conflict *index.Decision // another editor decided before
	Said     string          // what else the template knows to say
	Of       string          // the id of the item that was reviewed
}

func (c *Console) newPage(e echo.Context, s session) *page {
	p := &page{c: c, e: e, session: s, locale: locale{Language: index.Chinese, Now: c.cfg.Now}}
	p.choose(&p.Language, "lang", "jianguo_language", index.Chinese, index.English)
	p.choose(&p.Theme, "theme", "jianguo_theme", "light", "dark", "")
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
			p.e.SetCookie(&http.Cookie{Name: cookie, Value: v, Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true,
				SameSite: http.SameSiteLaxMode})
		}
	}
}

func (p *page) Asset(name string) string { return "/console/assets/" + assetHash() + "/" + name }

// FormToken is the token of the session's forms.
func (p *page) FormToken() string { return p.c.sessions.formToken(p.session) }

// NeedsNoSignIn reports whether the console needs no sign-in.
func (p *page) NeedsNoSignIn() bool { return p.c.sessions.needNoSignIn() }

// Here is the address of the page, to which a form returns, with some parameters changed;
// an empty value removes one.
func (p *page) Here(pairs ...string) string {
	return returnTo(address(p.e.Request().URL.String(), "lang", "", "theme", ""), pairs...)
}

// SafeLink is an article's address if it is safe as a link, else empty.
func (p *page) SafeLink(address string) string {
	if u, err := url.Parse(address); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return u.String()
	}
	return ""
}

// A handler answers a request: with the name of the template that shows p.Data or, if
// something has changed, with the address to go to next. It answers with nothing if it
// has written the answer itself. It panics on errors (must), and the page shows what
// the error means.
type handler func(ctx context.Context, p *page) (next string)

// Parameter is a parameter of the address, without spaces around it.
func (p *page) Parameter(parameter string) string {
	return strings.TrimSpace(p.e.QueryParam(parameter))
}

// number is a parameter of the address, 0 if there is none. The page says beside the field
// that something else was given.
func (p *page) number(parameter string) uint64 {
	n, err := strconv.ParseUint("0"+p.Parameter(parameter), 10, 32)
	if err != nil {
		p.wrong(parameter, p.T("这里要填一个数字。", "This wants a number."))
	}
	return n
}

const dayForm = "2006-01-02"

// day is the day that a field gives, zero if it gives none.
func (p *page) day(field string) (at time.Time) {
	given := p.Parameter(field)
	if given == "" {
		return at
	}
	at, err := time.ParseInLocation(dayForm, given, location)
	if err != nil {
		p.wrong(field, p.T("请填日期，如 2025-06-11。", "Give a day, as 2025-06-11."))
	}
	return at
}

// wrong says what is wrong with a field of the page's form.
func (p *page) wrong(field, sentence string) {
	if p.Wrong == nil {
		p.Wrong = map[string]string{}
	}
	p.Wrong[field] = sentence
}

// contentSecurityPolicy allows the console's own files and no others.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// write renders a whole page before it sends the first byte.
func (p *page) write(status int, name string) error {
	if len(p.Wrong) > 0 {
		status = http.StatusBadRequest
	}
	var body, whole bytes.Buffer
	if err := templates().ExecuteTemplate(&body, name, p); err != nil {
		return fmt.Errorf("console: %s: %w", name, err)
	}
	p.Body = template.HTML(body.String()) // which the template has escaped
	if err := templates().ExecuteTemplate(&whole, "layout", p); err != nil {
		return fmt.Errorf("console: layout of %s: %w", name, err)
	}
	h := p.e.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, contentSecurityPolicy)
	h.Set(echo.HeaderReferrerPolicy, "same-origin")
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderCacheControl, "no-store")
	return p.e.HTMLBlob(status, whole.Bytes())
}

// show makes a page of a template and its data, in a section of the navigation. A title set before stays.
func (p *page) show(name, section, zh, en string, data any) string {
	p.Title, p.Section, p.Data = cmp.Or(p.Title, p.T(zh, en)), section, data
	return name
}

func (p *page) fail(status int, sentence string) error {
	p.Title, p.Problem = p.T("未能完成", "Not done"), sentence
	return p.write(status, "problem")
}

// error shows what an error means to an editor.
func (p *page) error(err error) error {
	var refused *jetstream.APIError
	switch {
	case errors.Is(err, ingest.ErrPending):
		return p.fail(http.StatusServiceUnavailable, p.T("已经收到，等前面的稿件处理完就执行。再做一次之前，请先看“决定”。",
			"It is stored, and will be done behind what waits in front of it: look at Decisions before you repeat it."))
	case errors.As(err, &refused), errors.Is(err, nats.ErrDisconnected), errors.Is(err, jetstream.ErrNoStreamResponse):
		return p.fail(http.StatusServiceUnavailable, p.T("没有执行：磁盘已满，或消息总线不通。请告诉运维，稍后再试。",
			"Nothing was done: the disk is full, or the bus is away. Tell an operator, and try again later."))
	case errors.Is(err, index.ErrNotFound):
		return p.fail(http.StatusNotFound, p.T("没有这个编号。它可能还没有到达，或地址有误。",
			"There is nothing of this number or id. It may not have arrived yet, or the address is wrong."))
	case errors.Is(err, index.ErrQuery):
		return p.fail(http.StatusBadRequest, p.T("请求有误，请返回检查后再试。",
			"The request is wrong: go back, check it and try again."))
	case errors.Is(err, index.ErrClosed), errors.Is(err, context.Canceled):
		return p.fail(http.StatusServiceUnavailable,
			p.T("服务正在停止，请稍后再试。", "The service is shutting down: try again in a moment."))
	}
	p.c.log.ErrorContext(p.e.Request().Context(), "console", "path", p.e.Request().URL.Path, "error", err)
	return p.fail(http.StatusInternalServerError,
		p.T("出错了，原因已写入服务日志。", "Something went wrong here; the service's log says what."))
}

// notices reads what the last step did from the address.
func (p *page) notices(ctx context.Context) {
	q := p.e.QueryParams()
	decision := func(parameter string) (d *index.Decision) {
		if n, err := strconv.ParseUint(q.Get(parameter), 10, 64); err == nil {
			d, _ = p.c.cfg.Index.Decision(ctx, n) // a notice without it is better than no page
		}
		return d
	}
	v := notice{Done: decision("done"), Conflict: decision("conflict"), Said: q.Get("said"), Of: q.Get("of")}
	if q.Get("conflict") == noDecision {
		v.Said = noDecision
	}
	if v.Done != nil && v.Done.Kind == index.Undo {
		v.Before = p.lastDecision(ctx)
	}
	if v != (notice{}) {
		p.Notice = &v
	}
}

// lastDecision is the editor's last decision that still stands.
func (p *page) lastDecision(ctx context.Context) *index.Decision {
	list, err := p.c.cfg.Index.Decisions(ctx, index.DecisionQuery{By: p.Name, Limit: 100})
	if err != nil {
		return nil // a notice without it is better than no page
	}
	for i := range list {
		if list[i].Kind != index.Undo && !list[i].Undone {
			return &list[i]
		}
	}
	return nil
}
