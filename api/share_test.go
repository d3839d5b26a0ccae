package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/api/tokens"
	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// TestSources: a token that is bound to sources publishes for these alone, and changes no item of another source; on
// the bus the subject names the source.
func TestSources(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	other, err := tokens.Add(file, "other", "platform")
	testbed.OK(t, err)
	agency, err := tokens.Add(file, "agency", "platform", "agency", "新华*")
	testbed.OK(t, err)
	known, err := tokens.Open(file, 0)
	testbed.OK(t, err)
	r := newService(t, testConfig{
		bus: func(c *bus.Config) {
			c.Listen, c.Authenticate, c.Gates = "127.0.0.1:0", known.BusUser, bus.GatedStreams()
		},
		api: func(c *Config) { c.Tokens = known },
	})
	post := func(status int, secret, id, source string) {
		t.Helper()
		it := ingest.Item{ID: id, Title: "一篇", Body: article(len(id) + len(source)), Source: source}
		if rep := r.do("POST", "/items", it, "Authorization", "Bearer "+secret); rep.status != status {
			t.Errorf("%s of %q: %d, want %d: %s", id, source, rep.status, status, rep.body)
		}
	}
	post(200, agency, "a", "agency")
	post(200, agency, "b", "新华社")
	post(200, agency, "f", "新华/体育")
	post(403, agency, "c", "other")
	post(403, agency, "d", "")
	post(200, other, "victim", "victim")
	post(403, agency, "victim", "agency")
	if rep := r.do("DELETE", "/items/victim", nil, "Authorization", "Bearer "+agency); rep.status != 403 {
		t.Errorf("withdrawing: %d", rep.status)
	}
	if rep := r.do("DELETE", "/items/later", nil, "Authorization", "Bearer "+agency); rep.status != 404 {
		t.Errorf("withdrawing what has not arrived: %d", rep.status)
	}
	m := join(t, r.Bus.URL(), agency)
	for subject, may := range map[string]bool{"items.publish.agency": true, "items.publish": false, "items.publish.other": false, "items.withdraw": false} {
		if m.may("publish", subject) != may {
			t.Errorf("publishing on %s: want %v", subject, may)
		}
	}
	for id, source := range map[string]string{"own": "", "foreign": "victim"} {
		it := fmt.Sprintf(`{"id": %q, "body": %q, "source": %q}`, id, article(len(id)), source)
		if _, err := m.js.Publish(t.Context(), "items.publish.agency", []byte(it)); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the item has the source of its subject", func() bool {
		it, err := r.Index.Item(context.Background(), "own")
		return err == nil && it.Source == "agency"
	})
	eventually(t, "the item of another source is refused", func() bool {
		dead, err := bus.OpenDead(context.Background(), r.Conn, "")
		if err != nil {
			return false
		}
		n, err := dead.Len(context.Background())
		return err == nil && n > 1 // the first is of may
	})
	if _, err := r.Index.Item(context.Background(), "foreign"); err == nil {
		t.Error("an item of another source than its subject was taken")
	}
}

// TestLongNormalForm: a text that becomes much longer in normal form is refused before it is worked on.
func TestLongNormalForm(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	it := ingest.Item{ID: "long", Body: strings.Repeat("ﷺ", 100_000)}
	if p := want[Problem](r, 413, "POST", "/items/check", it); p.Field != "body" {
		t.Errorf("%+v", p)
	}
	if p := want[Problem](r, 422, "POST", "/items", it); p.Field != "body" || !strings.Contains(p.Detail, "normal form") {
		t.Errorf("%+v", p)
	}
}

// TestShares: a publisher with much in work waits while others publish, and with very much also alone.
func TestShares(t *testing.T) {
	var s publishers
	enter := func(from string, bytes int) (func(), error) {
		req := httptest.NewRequest("POST", "/items", nil)
		req.RemoteAddr = from
		return s.enter(echo.New().NewContext(req, httptest.NewRecorder()), bytes)
	}
	for _, c := range []struct {
		why, from string
		bytes     int
		admitted  bool
	}{
		{"the first", "10.0.0.1:1", 600 << 10, true},
		{"alone", "10.0.0.1:2", 3 << 20, true},
		{"alone, and too much", "10.0.0.1:2", 1 << 20, false},
		{"another one", "10.0.0.2:1", 100 << 10, true},
		{"beyond its share", "10.0.0.1:3", 100, false},
		{"beyond its share", "10.0.0.2:2", 50 << 10, false},
		{"within its share", "10.0.0.2:3", 20 << 10, true},
	} {
		if _, err := enter(c.from, c.bytes); (err == nil) != c.admitted {
			t.Errorf("%s: %v", c.why, err)
		} else if err != nil && (problemOf(err).Status != 429 || problemOf(err).retryAfter == "") {
			t.Errorf("%+v", problemOf(err))
		}
	}
	leave, err := enter("10.0.0.3:1", 2<<20)
	if err != nil {
		t.Error("one large article:", err)
	}
	if leave(); len(s.inWork) != 2 {
		t.Errorf("%v", s.inWork)
	}
}

// TestShareOfClientThatLeft: what a client has sent is in its share until it is judged, also when the client does not wait.
func TestShareOfClientThatLeft(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{stalled: true})
	held := func() int {
		s := &r.server.publishers
		s.mu.Lock()
		defer s.mu.Unlock()
		n := 0
		for _, bytes := range s.inWork {
			n += bytes
		}
		return n
	}
	ctx, leave := context.WithCancel(t.Context())
	body := fmt.Sprintf(`{"id": "a", "body": %q}`, article(1))
	req, err := http.NewRequestWithContext(ctx, "POST", r.url+"/items", strings.NewReader(body))
	testbed.OK(t, err)
	left := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()
	eventually(t, "it is in work", func() bool { return held() > 0 })
	leave()
	if err := <-left; err == nil {
		t.Error("it was answered")
	}
	for range 20 {
		if time.Sleep(5 * time.Millisecond); held() == 0 {
			t.Fatal("its share is free")
		}
	}
	r.Run()
	eventually(t, "it is judged", func() bool { return held() == 0 })
}

// TestEndOfService: requests on the bus that still wait for a place are refused when the service ends, which waits
// for those in work alone.
func TestEndOfService(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	s, err := New(r.config(nil))
	testbed.OK(t, err)
	began, end := make(chan bool, 2*busConcurrency), make(chan bool)
	s.endpoints = []endpoint{{"slow", "slow", func(context.Context, []byte) []byte {
		began <- true
		<-end
		return nil
	}}}
	stop, err := s.serveBus(t.Context())
	testbed.OK(t, err)
	replies, err := r.Conn.SubscribeSync(r.Conn.NewInbox())
	testbed.OK(t, err)
	for range busConcurrency + 5 {
		testbed.OK(t, r.Conn.PublishRequest("slow", replies.Subject, nil))
	}
	for range busConcurrency {
		<-began
	}
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	for range 5 {
		if m, err := replies.NextMsg(patience); err != nil || m.Header.Get("Nats-Service-Error-Code") != "503" {
			t.Errorf("%v %v", m, err)
		}
	}
	close(end)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestClientLeft: a check whose client has left is not worked on.
func TestClientLeft(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := r.Ingest.Check(ctx, &ingest.Item{Body: article(1)}); err != context.Canceled || e.Verdict != index.Verdict(0) {
		t.Errorf("%v %v", e, err)
	}
}
