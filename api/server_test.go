package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"jianguo/index"
	"jianguo/internal/disk"
	"jianguo/internal/fixture"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go/micro"

	"jianguo/api/console"
	"jianguo/api/tokens"
	"jianguo/bus"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

const (
	platformToken = "jg_platform_secret-0001"
	editorToken   = "jg_editor_secret-000002"
	recallToken   = "jg_recall_secret-000003"
	operatorToken = "jg_operator_secret-0004"
	monitorToken  = "jg_monitor_secret-00005"
)

func testTokens(t *testing.T) *tokens.Set {
	t.Helper()
	known, err := fixture.Tokens("shop platform " + platformToken + "\n张三\teditor  " + editorToken +
		"\nengine recall " + recallToken + "\nroot operator " + operatorToken + "\nprom monitor " + monitorToken)
	testbed.OK(t, err)
	return known
}

func TestTokens(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var mu sync.Mutex
	r := newService(t, testConfig{api: func(c *Config) {
		c.Tokens = testTokens(t)
		c.Logger = slog.New(slog.NewTextHandler(&lockedWriter{mu: &mu, w: &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}})
	everybody := []string{platformToken, editorToken, recallToken, operatorToken, monitorToken}
	body := ingest.Item{ID: "a", Body: article(1)}
	for _, c := range []struct {
		method, path string
		body         any
		may          []string
	}{
		{"POST", "/items", body, []string{platformToken, operatorToken}},
		{"POST", "/items/check", body, []string{platformToken, editorToken, operatorToken}},
		{"GET", "/items/a", nil, []string{platformToken, editorToken, operatorToken}},
		{"GET", "/items?id=a", nil, []string{platformToken, editorToken, operatorToken}},
		{"GET", "/verdicts", nil, []string{platformToken, editorToken, operatorToken}},
		{"GET", "/clusters", nil, []string{editorToken, operatorToken}},
		{"GET", "/clusters/1", nil, []string{editorToken, operatorToken}},
		{"GET", "/clusters/1/decisions", nil, []string{editorToken, operatorToken}},
		{"GET", "/suspects", nil, []string{editorToken, operatorToken}},
		{"GET", "/exemptions", nil, []string{editorToken, operatorToken}},
		{"GET", "/metrics", nil, []string{operatorToken, monitorToken}},
		{"GET", "/debug/pprof/heap?debug=1", nil, []string{operatorToken}},
		{"DELETE", "/items/a", nil, []string{platformToken, operatorToken}},
	} {
		for _, secret := range everybody {
			status := 403
			for _, may := range c.may {
				if may == secret {
					status = 200
				}
			}
			if rep := r.do(c.method, c.path, c.body, "Authorization", "Bearer "+secret); rep.status != status {
				t.Errorf("%s %s with %s: %d, want %d: %s", c.method, c.path, secret, rep.status, status, rep.body)
			} else if status == 403 && !strings.Contains(string(rep.body), "operator") {
				t.Errorf("%s %s with %s: no role that would do is named: %s", c.method, c.path, secret, rep.body)
			}
		}
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x", "Bearer " + operatorToken + "x", "Bearer " + operatorToken[:19], "Basic !!!", "Token " + operatorToken} {
			rep := r.do(c.method, c.path, c.body, "Authorization", header)
			if rep.status == 429 && rep.header.Get("Retry-After") != "" {
				continue // there were too many wrong tokens
			}
			if rep.status != 401 || !strings.HasPrefix(rep.header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s %s with %q: %d", c.method, c.path, header, rep.status)
			}
		}
	}
	// Browsers ask for a password, and send it with requests of any page.
	basic := func(method, path string, body any) int {
		req := httptest.NewRequest("GET", "/", nil)
		req.SetBasicAuth("anybody", operatorToken)
		return r.do(method, path, body, "Authorization", req.Header.Get("Authorization")).status
	}
	if get, post := basic("GET", "/clusters", nil), basic("POST", "/items", body); get != 200 || post != 401 {
		t.Errorf("with a password: GET %d, POST %d", get, post)
	}
	for _, open := range []string{"/healthz", "/readyz", "/openapi.yaml"} {
		if rep := r.do("GET", open, nil); rep.status != 200 {
			t.Errorf("%s without a token: %d", open, rep.status)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, secret := range everybody {
		if strings.Contains(log.String(), secret) || strings.Contains(fmt.Sprintf("%+v", r.server.cfg.Tokens), secret) {
			t.Errorf("%s can be read in the log or in memory", secret)
		}
	}
	for _, logged := range []string{"path=/items/a", "by=shop", "by=张三"} {
		if !strings.Contains(log.String(), logged) {
			t.Errorf("%s is not logged", logged)
		}
	}
}

// TestTokenRate: a token that makes more requests than --token-rate allows is told to wait.
func TestTokenRate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	platformToken, err := tokens.Add(file, "shop", "platform")
	testbed.OK(t, err)
	slow, err := tokens.Open(file, 0.001)
	testbed.OK(t, err)
	r := newService(t, testConfig{api: func(c *Config) { c.Tokens = slow }})
	want[[]index.Event](r, 200, "GET", "/verdicts", nil, "Authorization", "Bearer "+platformToken)
	if rep := r.do("GET", "/verdicts", nil, "Authorization", "Bearer "+platformToken); rep.status != 429 || rep.header.Get("Retry-After") == "" {
		t.Errorf("the second request in 1,000 s: %d %s", rep.status, rep.body)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer // under mu
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// TestConsole: the pages for people are served, and know when the server is about to end.
func TestConsole(t *testing.T) {
	t.Parallel()
	pages := &console.Config{Dir: t.TempDir(), Free: disk.Disk{Dir: "."}.Free,
		Rejudge: func(context.Context, ...string) (*exec.Cmd, error) { return nil, errors.New("not here") }}
	r := newService(t, testConfig{api: func(c *Config) { c.Concurrency, c.Console = 1, pages }})
	if rep := r.do("GET", "/", nil); rep.status != 200 || !strings.Contains(string(rep.body), "/console/assets/") {
		t.Errorf("%d %s", rep.status, rep.body)
	}
	if rep := r.do("GET", "/item", nil); rep.status != 404 {
		t.Errorf("a plain page beside the console: %d", rep.status)
	}
	r.end()
	<-pages.Ending.Done()
}

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr                string
		hasTokens, insecure bool
		ok                  bool
	}{
		{"127.0.0.1:8080", false, false, true},
		{"127.9.9.9:0", false, false, true},
		{"[::1]:8080", false, false, true},
		{"localhost:8080", false, false, true},
		{":8080", false, false, false},
		{"0.0.0.0:8080", false, false, false},
		{"[::]:8080", false, false, false},
		{"10.0.0.1:8080", false, false, false},
		{"example.org:8080", false, false, false},
		{"localhost.example.org:8080", false, false, false},
		{"0.0.0.0:8080", true, false, true},
		{"0.0.0.0:8080", false, true, true},
		{"8080", true, true, false},
		{"127.0.0.1:", false, false, true},
		{"127.0.0.1:99999", false, false, false},
		{"127.0.0.1:x", false, false, false},
		{"", true, true, false},
	} {
		if err := CheckListen(c.addr, c.hasTokens, c.insecure); (err == nil) != c.ok {
			t.Errorf("%q, tokens %v, insecure %v: %v", c.addr, c.hasTokens, c.insecure, err)
		}
	}
}

func TestOtherSites(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	body := ingest.Item{ID: "a", Body: article(1)}
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		if p := want[Problem](r, 403, "POST", "/items", body, header...); p.Detail == "" {
			t.Errorf("%v: %+v", header, p)
		}
		if rep := r.do("DELETE", "/items/a", nil, header...); rep.status != 403 {
			t.Errorf("%v: %d", header, rep.status)
		}
	}
	if r.events() != 0 {
		t.Error("another site changed something")
	}
	want[ingest.Outcome](r, 200, "POST", "/items", body, "Origin", r.url, "Sec-Fetch-Site", "same-origin")
	status := func(h http.Handler, host string) int {
		rec := httptest.NewRecorder()
		req := httptest.NewRequest("GET", "/verdicts", nil)
		req.Host = host
		h.ServeHTTP(rec, req)
		return rec.Code
	}
	named, err := New(r.config(func(c *Config) { c.AnyHost = true }))
	testbed.OK(t, err)
	secret, err := New(r.config(func(c *Config) { c.Tokens = testTokens(t) }))
	testbed.OK(t, err)
	for host, own := range map[string]bool{"localhost": true, "LocalHost:80": true, "127.0.0.1": true, "127.0.0.1:8080": true, "[::1]:8080": true, "[::1]": true,
		"10.1.2.3:80": true, "evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example:80": false, "": false} {
		if got := status(r.server.echo, host); (got == 200) != own || got != 200 && got != 421 {
			t.Errorf("host %q: %d", host, got)
		}
		if got := status(named.echo, host); got != 200 {
			t.Errorf("host %q, any allowed: %d", host, got)
		}
		if got := status(secret.echo, host); got != 401 {
			t.Errorf("host %q, with tokens: %d", host, got)
		}
	}
}

// A running request gets its answer while the service ends.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true})
	done := make(chan reply)
	go func() {
		rep, err := r.try("POST", "/items", ingest.Item{ID: "a", Body: article(1)})
		if err != nil {
			t.Error(err)
		}
		done <- rep
	}()
	eventually(t, "the item is published", func() bool { return len(r.server.waiting) == 1 })
	r.end()
	eventually(t, "nothing new is taken", func() bool { _, err := r.try("GET", "/healthz", nil); return err != nil })
	r.Run()
	if rep := <-done; rep.status != 200 {
		t.Errorf("%d %s", rep.status, rep.body)
	}
}

// Requests beyond the limit are refused at once. Readers and long polls have separate
// limits, and a client that sends its body slowly blocks no other.
func TestTooMuchAtOnce(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{api: func(c *Config) { c.Concurrency = 1 }})
	slow, feed := io.Pipe()
	done := make(chan reply, 2)
	request := func(method, path string, body any) {
		rep, err := r.try(method, path, body)
		if err != nil {
			t.Error(err)
		}
		done <- rep
	}
	go request("POST", "/items/check", slow)
	eventually(t, "the upload has begun", func() bool { return r.server.bodyBytes.Load() > 0 })
	if rep := r.do("GET", "/clusters", nil); rep.status != 200 {
		t.Errorf("beside a slow upload: %d %s", rep.status, rep.body)
	}
	if err := r.server.work.enter(); err != nil { // takes the only slot
		t.Fatal(err)
	}
	if rep := r.do("GET", "/clusters", nil); rep.status != 429 || rep.header.Get("Retry-After") == "" {
		t.Errorf("beside other work: %d %s", rep.status, rep.body)
	}
	want[ingest.Outcome](r, 200, "POST", "/items", ingest.Item{ID: "a", Body: article(1)})
	want[map[string]string](r, 200, "GET", "/healthz", nil)
	go request("GET", "/verdicts?after=1&wait=30s", nil)
	eventually(t, "the poll waits", func() bool { return len(r.server.polling) == 1 })
	if rep := r.do("GET", "/verdicts?after=1&wait=30s", nil); rep.status != 429 || rep.header.Get("Retry-After") == "" {
		t.Errorf("beside a poll: %d", rep.status)
	}
	r.server.work.leave()
	want[ingest.Outcome](r, 200, "DELETE", "/items/a", nil)
	want[[]index.Event](r, 200, "GET", "/verdicts", nil)
	if _, err := feed.Write([]byte(`{"body":"x"}`)); err != nil {
		t.Fatal(err)
	}
	testbed.OK(t, feed.Close())
	if rep := <-done; rep.status != 200 {
		t.Errorf("the upload: %d %s", rep.status, rep.body)
	}
	eventually(t, "nothing of bodies is held", func() bool { return r.server.bodyBytes.Load() == 0 })
	r.end()
	<-done
}

func TestPanic(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true})
	handler := r.server.echo
	r.server.handle(r.server.work, http.MethodGet, "/panics", bus.Platform, func(echo.Context) any { panic("secret") })
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequest("GET", "http://localhost/panics", nil))
	if rec.Code != 500 || strings.Contains(rec.Body.String(), "secret") || !strings.Contains(rec.Body.String(), rec.Header().Get("X-Request-Id")) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if len(r.server.work) != 0 {
		t.Error("a panic keeps its place")
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	r.publish(ingest.Item{ID: "a", Body: article(1)})
	reply, err := r.Conn.Request("items.check", []byte(`{"body":"`+article(1)+`"}`), patience)
	testbed.OK(t, err)
	var e index.Event
	if err := json.Unmarshal(reply.Data, &e); err != nil || e.Verdict != index.Duplicate || e.Of != "a" || reply.Header.Get(micro.ErrorHeader) != "" {
		t.Errorf("check: %s %v", reply.Data, err)
	}
	for body, code := range map[string]string{`{"body":7}`: "400", `{"body":"x","url":"\n` + strings.Repeat("x", 5000) + `"}`: "400", ``: "400",
		`{"body":"` + strings.Repeat("x", 600<<10) + `"}`: "413"} {
		reply, err := r.Conn.Request("items.check", []byte(body), patience)
		testbed.OK(t, err)
		var p Problem
		if err := json.Unmarshal(reply.Data, &p); err != nil || reply.Header.Get(micro.ErrorCodeHeader) != fmt.Sprint(p.Status) || p.Field == "" || p.Detail == "" ||
			reply.Header.Get(micro.ErrorHeader) == "" {
			t.Errorf("%.40s: %v %s, want %s", body, reply.Header, reply.Data, code)
		}
	}
	if err := r.Conn.Publish("items.check", []byte(`{"body":"x"}`)); err != nil { // nothing waits for the reply
		t.Fatal(err)
	}
	info, err := r.Conn.Request("$SRV.INFO.jianguo", nil, patience)
	testbed.OK(t, err)
	var i micro.Info
	if err := json.Unmarshal(info.Data, &i); err != nil || i.Version != "0.0.0" || len(i.Endpoints) != 1 || i.Endpoints[0].Subject != "items.check" {
		t.Errorf("info: %s %v", info.Data, err)
	}
	var wg sync.WaitGroup
	for n := range 200 { // more than the server handles at once
		wg.Go(func() {
			body := fmt.Sprintf(`{"id":"%d","body":"%s"}`, n, article(n%3))
			reply, err := r.Conn.Request("items.check", []byte(body), patience)
			var e index.Event
			if err != nil || json.Unmarshal(reply.Data, &e) != nil || e.ID != fmt.Sprint(n) {
				t.Errorf("request %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	if r.events() != 1 {
		t.Error("a check changed something")
	}
}

func TestSemanticVersion(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": "0.0.0", "1.2.3": "1.2.3", "v1.2.3": "1.2.3", "v0.1.0-4-gabc": "0.1.0-4-gabc", "abc1234": "0.0.0", "1.2": "0.0.0"} {
		if got := semanticVersion(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// The text of an unforeseen error does not reach the client.
func TestUnforeseen(t *testing.T) {
	t.Parallel()
	if p := problemOf(errors.New("open /secret/index.db: no such file")); p.Status != 500 || strings.Contains(p.Detail, "secret") {
		t.Errorf("%+v", p)
	}
}
