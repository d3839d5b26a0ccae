package console

import (
	"context"
	"net/http"
	"strings"
)

func (c *Console) signInPage(_ context.Context, p *page) string {
	p.Title, p.Data = p.T("登录", "Sign in"), inside(p.e.QueryParam("to"))
	switch p.e.QueryParam("ended") {
	case http.MethodGet:
		p.Problem = p.T("登录已过期，请重新登录。", "Your sign-in has ended: sign in again.")
	case http.MethodPost:
		p.Problem = p.T("登录已过期，刚才的操作没有执行。重新登录后会回到原处。", "Your sign-in has ended, and what you asked for was not done. Once signed in, you are back where you were.")
	}
	return "signin"
}

func (c *Console) signIn(_ context.Context, p *page) string {
	to := inside(p.e.FormValue("to"))
	if p.Open() {
		return to
	}
	var name, role string
	ok := c.cfg.Authenticate != nil // behind a proxy that names users there may be no tokens
	if ok {
		name, role, ok = c.cfg.Authenticate(strings.TrimSpace(p.e.FormValue("token")))
	}
	if !ok || role != RoleEditor && role != RoleOperator {
		p.Title, p.Data = p.T("登录", "Sign in"), to
		p.Problem = p.T("口令不对，或不是给编辑用的。", "This token is not known, or not for editors.")
		check(p.write(http.StatusUnauthorized, "signin"))
		return ""
	}
	c.writeCookie(p.e, c.newSession(name, role))
	return to
}

func (c *Console) signOut(_ context.Context, p *page) string {
	p.e.SetCookie(&http.Cookie{Name: sessionCookie, Path: "/", HttpOnly: true, MaxAge: -1})
	return "/console/signin"
}
