//go:build !race

package console_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"jianguo/api/console"
	"jianguo/index"
)

// TestProxy: the proxy's headers sign a user in with a role. Headers that only look like
// these do not.
func TestProxy(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *serviceConfig) {
		c.Console = func(cc *console.Config) { cc.Access.Header, cc.Access.RoleHeader = "X-Editor", "X-Editor-Role" }
	})
	in := func(headers ...string) bool {
		t.Helper()
		resp, body := asked(t, r, http.MethodGet, "/", nil, headers...)
		if resp.StatusCode == http.StatusOK && !strings.Contains(body, `class="who"`) {
			t.Errorf("%q: a page without a user", headers)
		}
		return resp.StatusCode == http.StatusOK
	}
	for _, headers := range [][]string{{"X-Editor", "林编辑"}, {"X-Editor", " lin "}, {"X-Editor", "lin", "X-Editor-Role", "editor"},
		{"X-Editor", "lin", "X-Editor-Role", ""}, {"X-Editor", `<script>alert("lin")</script>`}} {
		if !in(headers...) {
			t.Errorf("%q is not let in", headers)
		}
	}
	for _, headers := range [][]string{nil, {"X-Editor", ""}, {"X-Editor", "  "}, {"X-Editor", "mallory", "X-Editor", "lin"}, {"X-Editor", "lin", "X-Editor", "lin"},
		{"X-Editor", strings.Repeat("l", 201)}, {"X-Editor", "lin\xff"}, {"X-Editor", "lin\u202e"}, {"X-Editor-Role", "operator"},
		{"X-Editor", "lin", "X-Editor-Role", "platform"}, {"X-Editor", "lin", "X-Editor-Role", "Operator"},
		{"X-Editor", "lin", "X-Editor-Role", "operator", "X-Editor-Role", "editor"}, {"X_Editor", "lin"}, {"X-Forwarded-User", "lin"}} {
		if in(headers...) {
			t.Errorf("%q is let in", headers)
		}
	}
	if _, body := asked(t, r, http.MethodGet, "/", nil, "X-Editor", `<script>alert("lin")</script>`); strings.Contains(body, "<script>alert") {
		t.Error("the proxy's name is markup on the page")
	}
	operators := func(role string) int {
		resp, _ := asked(t, r, http.MethodGet, "/console/operators", nil, "X-Editor", "qin", "X-Editor-Role", role)
		return resp.StatusCode
	}
	if operators("editor") != http.StatusForbidden || operators("operator") != http.StatusOK {
		t.Errorf("the operators' page answers %d to an editor, %d to an operator", operators("editor"), operators("operator"))
	}
	t.Run("forms", func(t *testing.T) {
		_, page := asked(t, r, http.MethodGet, "/console/item?id=kiln-reword", nil, "X-Editor", "林编辑")
		form := url.Values{"form": {formToken(t, page)}, "kind": {index.Release}, "item": {"kiln-reword"}, "to": {"/"}}
		for name, by := range map[string][]string{"another's": {"X-Editor", "吴编辑"}, "nobody's": nil} {
			if resp, _ := asked(t, r, http.MethodPost, "/console/decide", form, by...); resp.StatusCode == http.StatusSeeOther && !strings.HasPrefix(resp.Header.Get("Location"), "/console/signin") {
				t.Errorf("a form is taken with %s header", name)
			}
		}
		if got := verdict(t, r, "kiln-reword"); got != index.Duplicate {
			t.Fatalf("a forged form made it %v", got)
		}
		if resp, body := asked(t, r, http.MethodPost, "/console/decide", form, "X-Editor", "林编辑"); resp.StatusCode != http.StatusSeeOther {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
		list, err := r.Index.Decisions(t.Context(), index.DecisionQuery{Limit: 1})
		if err != nil || len(list) != 1 || list[0].By != "林编辑" {
			t.Errorf("%+v %v", list, err)
		}
	})
	t.Run("tokens of its own", func(t *testing.T) {
		resp, _ := asked(t, r, http.MethodPost, "/console/signin", url.Values{"token": {""}})
		if resp.StatusCode != http.StatusUnauthorized || len(resp.Cookies()) > 0 {
			t.Errorf("an empty token: %d %v", resp.StatusCode, resp.Cookies())
		}
	})
}

// TestProxyElsewhere: only the configured addresses are trusted.
func TestProxyElsewhere(t *testing.T) {
	t.Parallel()
	for network, want := range map[string]bool{"10.0.0.0/8": false, "127.0.0.2/32": false, "::1/128": false, "127.0.0.1/32": true} {
		r := start(t, func(c *serviceConfig) {
			c.Console = func(cc *console.Config) {
				cc.Access.Header, cc.Access.Proxies = "X-Editor", []netip.Prefix{netip.MustParsePrefix(network)}
			}
		})
		resp, _ := asked(t, r, http.MethodGet, "/", nil, "X-Editor", "lin", "X-Forwarded-For", "10.1.1.1", "X-Real-Ip", "127.0.0.1")
		if got := resp.StatusCode == http.StatusOK; got != want {
			t.Errorf("a proxy at 127.0.0.1, where %s is trusted, gets %d", network, resp.StatusCode)
		}
		if resp, _ := get(t, r, "/", session(t, r, "jg_lin_secret-token-1")); resp.StatusCode != http.StatusOK {
			t.Errorf("beside a proxy, a token gets %d", resp.StatusCode)
		}
	}
}
