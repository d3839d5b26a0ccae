package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"jianguo/api/tokens"
	"jianguo/bus"
	"jianguo/internal/must"
)

func (c *Console) signInPage(_ context.Context, p *page) string {
	switch p.e.QueryParam("ended") {
	case http.MethodGet:
		p.Problem = p.T("登录已过期，请重新登录。", "Your sign-in has ended: sign in again.")
	case http.MethodPost:
		p.Problem = p.T("登录已过期，刚才的操作没有执行。重新登录后会回到原处。",
			"Your sign-in has ended, and what you asked for was not done. Once signed in, you are back where you were.")
	}
	return p.show("signin", "", "登录", "Sign in", ownAddress(p.e.QueryParam("to")))
}

func (c *Console) signIn(_ context.Context, p *page) string {
	to := ownAddress(p.e.FormValue("to"))
	if p.Open() {
		return to
	}
	if p.e.QueryParams().Has("token") {
		p.refuse(to, http.StatusBadRequest, p.T("口令不能写在地址里：地址会留在日志和历史记录中。请更换这个口令。",
			"A token must not stand in an address, which logs and histories keep. Replace this token."))
		return ""
	}
	token, err := c.cfg.Access.Tokens.Find(strings.TrimSpace(p.e.FormValue("token")), p.e.Request().RemoteAddr)
	var limited *tokens.LimitError
	switch {
	case errors.As(err, &limited):
		p.e.Response().Header().Set(echo.HeaderRetryAfter, limited.Seconds())
		p.refuse(to, http.StatusTooManyRequests,
			p.T("错误的口令太多，请稍后再试。", "Too many wrong tokens came from your address: try again later."))
		return ""
	case err != nil || token.Role != bus.Editor && token.Role != bus.Operator:
		c.log.Warn("a sign-in with an unknown token, or one that is not for editors", "from", p.e.Request().RemoteAddr)
		p.refuse(to, http.StatusUnauthorized, p.T("口令不对，或不是给编辑用的。", "This token is not known, or not for editors."))
		return ""
	}
	c.sessions.Begin(p.e, token.Name, token.Role.String(), token.Session)
	return to
}

// refuse shows the form again.
func (p *page) refuse(to string, status int, why string) {
	p.Problem = why
	must.Do(p.write(status, p.show("signin", "", "登录", "Sign in", to)))
}

func (c *Console) signOut(_ context.Context, p *page) string {
	c.sessions.End(p.e, p.session)
	return "/console/signin"
}
