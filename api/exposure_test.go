package api

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"jianguo/internal/fixture"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"jianguo/api/tokens"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/internal/testbed"
)

func newExposureServer(t *testing.T, cfg exposure.Config, known *tokens.Set) *testService {
	t.Helper()
	return newService(t, testConfig{exposure: &cfg, api: func(c *Config) { c.Tokens = known }})
}

// json posts JSON and expects a status.
func (r *testService) json(path, body string, want int) []byte {
	r.t.Helper()
	rep := r.do("POST", path, body)
	if rep.status != want {
		r.t.Fatalf("POST %s %.200s: %d %s, want %d", path, body, rep.status, rep.body, want)
	}
	if want >= 400 {
		var p Problem
		if err := json.Unmarshal(rep.body, &p); err != nil || rep.header.Get("Content-Type") != problemType || p.Detail == "" || p.Status != want {
			r.t.Fatalf("POST %s: not a problem: %s", path, rep.body)
		}
	}
	return rep.body
}

func TestExposureHTTP(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{Scenes: map[string]exposure.Scene{"feed": {Reads: []string{"feed"}, Writes: []string{"feed"}}}}, nil)
	x.json("/exposures", `{"user":"u","kind":"seen","items":["a","x\/y",7]}`, 204)
	x.json("/exposures", `{"user":"u","kind":"delivered","items":["d"],"at":"2001-01-01T00:00:00Z"}`, 204)
	x.json("/exposures", `{"user":"u","kind":"played","items":["only-feed"],"scene":"feed"}`, 204)
	for body, want := range map[string]string{
		`{"user":"u","items":["b","a","x/y","7",7,"d","b","only-feed"]}`:          `{"items":["b","d","only-feed"],"dropped":5}`,
		`{"user":"u","items":["only-feed","a"],"scene":"feed","extra":{"x":[1]}}`: `{"items":["a"],"dropped":1}`,
		`{"user":"u","items":[]}`:                                                     `{"items":[],"dropped":0}`,
		`{"user":"u","items":["p","q","r"],"max":2}`:                                  `{"items":["p","q"],"dropped":0}`,
		`{ "user" : "u", "items" : [ "p" , "a" , "q" ] }`:                             `{"items":["p","q"],"dropped":1}`,
		`{"items":["\u4e2d", "中"],"user":"u","scope":"item"}`:                         `{"items":["\u4e2d"],"dropped":1}`,
		`{"user":"u","items":["m1","m2","m3"],"max":2,"mark":"delivered"}`:            `{"items":["m1","m2"],"dropped":0}`,
		`{"user":"nobody","items":["a"],"at_least":1,"deadline_ms":5000,"max":20000}`: `{"items":["a"],"relaxed":[],"dropped":0}`,
	} {
		if got := string(x.json("/filter", body, 200)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
	if got := string(x.json("/filter", `{"user":"u","items":["m1","m2","m3"]}`, 200)); got != `{"items":["m3"],"dropped":2}` {
		t.Errorf("marked items came back: %s", got)
	}
	var info trace.History
	testbed.OK(t, json.Unmarshal(x.json("/exposures/query", `{"user":"u","items":["a","zz"]}`, 200), &info))
	if info.Tail != 3 || !info.Items[0].Tail || info.Items[1].Seen {
		t.Errorf("query: %+v", info)
	}
	if got := string(x.json("/exposures/explain", `{"user":"u","item":7}`, 200)); !strings.HasPrefix(got, "\"7\" for user \"u\": a filter drops it.\n- seen on ") {
		t.Errorf("explain: %s", got)
	}
	rep := x.do("POST", "/exposures/explain", `{"user":"u","item":"only-feed","scene":"feed"}`, "Accept", "application/json")
	if got := rep.body; !strings.Contains(string(got), `"dropped":true,"dropped_by_story":true,"reasons":["history \"feed\": seen on 2`) {
		t.Errorf("explain: %s", got)
	}
	x.json("/exposures/unsee", `{"user":"u","items":["a"]}`, 204)
	if got := string(x.json("/filter", `{"user":"u","items":["a","x/y"]}`, 200)); got != `{"items":["a"],"dropped":1}` {
		t.Errorf("after un-see: %s", got)
	}
	x.json("/exposures/link", `{"user":"v","from":"u"}`, 204)
	if got := string(x.json("/filter", `{"user":"v","items":["a","x/y"]}`, 200)); got != `{"items":["a"],"dropped":1}` {
		t.Errorf("linked: %s", got)
	}
	x.json("/exposures/link", `{"user":"u","from":"v"}`, 409)
	x.json("/exposures/link", `{"user":"u","from":"u"}`, 400)
	x.json("/exposures/unlink", `{"user":"v","from":"u"}`, 204)
	x.json("/exposures/link", `{"user":7,"from":8}`, 204)
	if got := string(x.json("/filter", `{"user":"v","items":["a","x/y"]}`, 200)); got != `{"items":["a","x/y"],"dropped":0}` {
		t.Errorf("no longer linked: %s", got)
	}
	x.json("/exposures/forget", `{"user":"u"}`, 204)
	if got := string(x.json("/filter", `{"user":"u","items":["a","x/y"]}`, 200)); got != `{"items":["a","x/y"],"dropped":0}` {
		t.Errorf("after forget: %s", got)
	}
}

// TestExposureHostile sends what no client should; each gets an error that names the
// field, and another client is served throughout.
func TestExposureHostile(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{}, nil)
	x.json("/exposures", `{"user":"bystander","kind":"seen","items":["a"]}`, 204)
	many := strings.Repeat(`"a",`, 20000) + `"a"`
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		path, body string
		status     int
		field      string
	}{
		{"/filter", `{"user":"u","items":[` + many + `]}`, 413, "items"},
		{"/filter", `{"user":"u","unknown":1,"items":[` + many + `]}`, 413, "items"},
		{"/filter", `{"user":"u","items":["` + long + `"]}`, 413, "items"},
		{"/filter", `{"user":"` + long + `","items":["a"]}`, 413, "user"},
		{"/filter", `{"user":"u","items":["a"],"scene":"` + long + `"}`, 413, "scene"},
		{"/filter", `{"user":"u","items":[""]}`, 400, "items"},
		{"/filter", `{"user":"u","items":"a"}`, 400, "items"},
		{"/filter", `{"user":"u","items":[["a"]]}`, 400, "items"},
		{"/filter", `{"user":"u","items":[null]}`, 400, "items"},
		{"/filter", `{"user":"u","items":[1.5]}`, 400, "items"},
		{"/filter", `{"user":"u","items":[99999999999999999999]}`, 400, "items"},
		{"/filter", `{"user":{},"items":["a"]}`, 400, "user"},
		{"/filter", `{"user":"u","items":["a"],"max":"1"}`, 400, "max"},
		{"/filter", `{"user":"u","items":["a"],"max":-1}`, 400, "max"},
		{"/filter", `{"user":"u","items":["a"],"at_least":3,"max":2}`, 400, "at_least"},
		{"/filter", `{"user":"u","items":["a"],"mark":"delivered"}`, 400, "mark"},
		{"/filter", `{"user":"u","items":["a"],"mark":"delivered","max":101}`, 400, "mark"},
		{"/filter", `{"user":"u","items":["a"],"mark":"seen","max":1}`, 400, "mark"},
		{"/filter", `{"user":"u","items":["a"],"scope":"story"}`, 400, "scope"},
		{"/filter", `{"user":"u","items":["\ud800"]}`, 400, "items"},
		{"/filter", `{"user":"u","items":["\ud800\u0041"]}`, 400, "items"},
		{"/filter", `{"user":"\udc00","items":["a"]}`, 400, "user"},
		{"/filter", "{\"user\":\"u\",\"items\":[\"\xff\"]}", 400, "items"},
		{"/filter", "{\"user\":\"u\",\"items\":[\"a\x00\"]}", 400, "items"},
		{"/filter", `{"user":"u","items":["a"`, 400, "items"},
		{"/filter", `{"user":"u","items":["a]}`, 400, "items"},
		{"/filter", `{"user":"u","items":["a"]}}`, 400, "payload"},
		{"/filter", `[]`, 400, "payload"},
		{"/filter", ``, 400, "payload"},
		{"/filter", strings.Repeat(`{"x":`, 100000), 400, "payload"},
		{"/filter", `{"user":"u","items":` + strings.Repeat(`[`, 100000) + `}`, 400, "items"},
		{"/exposures", `{"user":"u","kind":"liked","items":["a"]}`, 400, "kind"},
		{"/exposures", `{"user":"u","kind":"seen","items":[]}`, 400, "items"},
		{"/exposures", `{"user":"u","kind":"seen","items":["a"],"at":"yesterday"}`, 400, "at"},
		{"/exposures", `{"user":"u","kind":"seen","items":["a"],"at":"9999-12-31T23:59:59-23:00"}`, 400, "at"},
		{"/exposures", `{"user":"u","kind":"seen","items":["a"],"at":"0000-01-01T00:00:00+23:00"}`, 400, "at"},
		{"/exposures", `{"user":"u","kind":"seen","items":["a"],"at":"0001-01-01T00:00:00Z"}`, 400, "at"}, // that of a client that sets no time
		{"/exposures/unsee", `{"user":"u","items":["a"],"at":"9999-12-31T23:59:59-23:00"}`, 400, "at"},
		{"/exposures/link", `{"user":"u","from":"v","at":"9999-12-31T23:59:59-23:00"}`, 400, "at"},
		{"/exposures/forget", `{"user":"u","items":["a"]}`, 400, "items"},
		{"/exposures/explain", `{"user":"u","item":["a"]}`, 400, "item"},
		{"/exposures/explain", `{"user":"u","item":"` + long + `"}`, 413, "item"},
		{"/exposures/explain", `{"user":"u","item":"\ud800"}`, 400, "item"},
		{"/exposures/explain", `[]`, 400, "payload"},
		{"/exposures/trace", `{"user":"u","for":"169h","reason":"r"}`, 400, "for"},
		{"/exposures/trace", `{"user":"u","for":24,"reason":"r"}`, 400, "for"},
		{"/exposures/trace", `{"user":"u","for":"24h","reason":"` + long + `"}`, 413, "reason"},
	} {
		var p Problem
		if err := json.Unmarshal(x.json(c.path, c.body, c.status), &p); err != nil || p.Field != c.field {
			t.Errorf("%s %.80s: field %q, want %q (%s)", c.path, c.body, p.Field, c.field, p.Detail)
		}
	}
	// Every byte value that text can hold is an id like any other.
	var ids []string
	for i := range 256 {
		b, _ := json.Marshal("id-" + string(rune(i)))
		ids = append(ids, string(b))
	}
	list := strings.Join(ids, ",")
	x.json("/exposures", `{"user":"u","kind":"seen","items":[`+list+`]}`, 204)
	if got := string(x.json("/filter", `{"user":"u","items":[`+list+`,"id-"]}`, 200)); got != `{"items":["id-"],"dropped":256}` {
		t.Errorf("every byte value: %.200s", got)
	}
	if got := string(x.json("/filter", `{"user":"bystander","items":["a","b"]}`, 200)); got != `{"items":["b"],"dropped":1}` {
		t.Errorf("bystander: %s", got)
	}
}

// TestExposureConnections: clients that lie about their length, or never finish, cost
// others nothing.
func TestExposureConnections(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{}, nil)
	var slow []net.Conn
	addr := strings.TrimPrefix(x.url, "http://")
	for range 300 { // more than the server handles at once
		c, err := net.Dial("tcp", addr)
		testbed.OK(t, err)
		defer c.Close()
		fmt.Fprintf(c, "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7000000\r\n\r\n{\"user\":")
		slow = append(slow, c)
	}
	for range 50 {
		if got := string(x.json("/filter", `{"user":"u","items":["a"]}`, 200)); got != `{"items":["a"],"dropped":0}` {
			t.Fatal(got)
		}
	}
	answer := func(c net.Conn) string {
		c.SetReadDeadline(time.Now().Add(patience))
		b, _ := io.ReadAll(c)
		return string(b)
	}
	slow[0].(*net.TCPConn).CloseWrite() // less than promised
	if got := answer(slow[0]); !strings.HasPrefix(got, "HTTP/1.1 400") {
		t.Errorf("short body: %.100q", got)
	}
	c, err := net.Dial("tcp", addr)
	testbed.OK(t, err)
	defer c.Close()
	fmt.Fprintf(c, "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
	if got := answer(c); !strings.HasPrefix(got, "HTTP/1.1 413") {
		t.Errorf("announced 100 GB: %.100q", got)
	}
}

// TestBitmap: a bitmap has a bit for each item, and one for each relaxed item, oldest shard first.
func TestBitmap(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{Policies: map[string]state.Policy{"": {Slots: 3, Capacity: 64, Tail: 8, Target: 1e-6}}}, nil)
	var seen []string
	for i := range 100 {
		seen = append(seen, fmt.Sprint(i))
	}
	all := strings.Join(seen, ",")
	x.json("/exposures", `{"user":"u","kind":"seen","items":[`+all+`]}`, 204)
	rep := x.do("POST", "/filter", `{"user":"u","items":[95,96,97,98,99,100,101,"102",103,104]}`, "Accept", BitmapType)
	if rep.status != 200 || !bytes.Equal(rep.body, []byte{0xe0, 3}) || rep.header.Get("Jianguo-Dropped") != "5" || rep.header.Get("Content-Type") != BitmapType {
		t.Errorf("%d %x %v", rep.status, rep.body, rep.header)
	}
	rep = x.do("POST", "/filter", `{"user":"u","at_least":3,"items":[`+all+`]}`, "Accept", "text/html, "+BitmapType+";q=1")
	if len(rep.body) != 26 || !slices.Equal(rep.body[:13], make([]byte, 13)) || rep.body[13] != 7 || rep.header.Get("Jianguo-Relaxed") != "3" {
		t.Errorf("relaxed: %x %v", rep.body, rep.header)
	}
	rep = x.do("POST", "/filter", `{"user":"u","items":["1","x"]}`, "Accept", "application/json, "+BitmapType+"; q=0.0")
	if string(rep.body) != `{"items":["x"],"dropped":1}` {
		t.Errorf("a bitmap is refused, and the answer is %q", rep.body)
	}
}

func TestExposureBus(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{}, nil)
	ask := func(subject, body string) *nats.Msg {
		m, err := x.Conn.Request(subject, []byte(body), patience)
		testbed.OK(t, err)
		return m
	}
	if m := ask("exposures.report", `{"user":"u","kind":"seen","items":["a"]}`); string(m.Data) != "{}" || m.Header.Get(micro.ErrorCodeHeader) != "" {
		t.Fatalf("report: %s %v", m.Data, m.Header)
	}
	if m := ask("exposures.filter", `{"user":"u","items":["a","b"]}`); string(m.Data) != `{"items":["b"],"dropped":1}` {
		t.Fatalf("filter: %s", m.Data)
	}
	if m := ask("exposures.report", `{"user":"u","kind":"seen"}`); m.Header.Get(micro.ErrorCodeHeader) != "400" {
		t.Fatalf("bad report: %s %v", m.Data, m.Header)
	}
}

// TestExposureDegraded: an answer without the user's state says so, in every form of the
// answer.
func TestExposureDegraded(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		x := newExposureServer(t, exposure.Config{FailClosed: closed}, nil)
		x.json("/exposures", `{"user":"u","kind":"seen","items":["1"]}`, 204)
		testbed.OK(t, x.exposure.Flush(t.Context()))
		db, err := sql.Open("sqlite3", filepath.Join(x.Dir, "exposure.db"))
		testbed.OK(t, err)
		defer db.Close()
		var head []byte
		testbed.OK(t, db.QueryRow("SELECT head FROM user").Scan(&head))
		_, err = db.Exec("UPDATE user SET head = x'01'")
		testbed.OK(t, err)
		items, bits, mode := `["1",2]`, byte(3), "open: the state could not be read"
		if closed {
			items, bits, mode = `[]`, 0, "closed: the state could not be read"
		}
		dropped := map[bool]string{false: "0", true: "2"}[closed]
		want := `{"items":` + items + `,"dropped":` + dropped + `,"degraded":"` + mode + `"}`
		if got := string(x.json("/filter", `{"user":"u","items":["1",2]}`, 200)); got != want {
			t.Errorf("JSON: %s, want %s", got, want)
		}
		rep := x.do("POST", "/filter", `{"user":"u","items":["1",2]}`, "Accept", BitmapType)
		if !bytes.Equal(rep.body, []byte{bits}) || rep.header.Get("Jianguo-Degraded") != mode || rep.header.Get("Jianguo-Dropped") != dropped {
			t.Errorf("bitmap: %x %v", rep.body, rep.header)
		}
		_, err = db.Exec("UPDATE user SET head = ?", head) // for the verify at the end
		testbed.OK(t, err)
	}
}

// TestExposureFull: a full stream refuses reports, un-sees, forgets and marks with 429,
// on HTTP as on the bus. Accepted reports count, refused ones do not. When the stream has
// space again, all reports are accepted.
func TestExposureFull(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{FlushAge: time.Hour}, nil)
	js, err := jetstream.New(x.Conn)
	testbed.OK(t, err)
	stream, err := js.Stream(t.Context(), eventlog.StreamName)
	testbed.OK(t, err)
	resize := func(bytes int64) {
		t.Helper()
		cfg := stream.CachedInfo().Config
		cfg.MaxBytes = bytes
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	wide := stream.CachedInfo().Config.MaxBytes
	resize(16 << 10)
	long := strings.Repeat("x", 200)
	taken := 0
	for ; ; taken++ {
		rep := x.do("POST", "/exposures", fmt.Sprintf(`{"user":"u","kind":"seen","items":["%s%d"]}`, long, taken))
		if rep.status == 429 {
			if rep.header.Get("Retry-After") == "" || !bytes.Contains(rep.body, []byte("full")) {
				t.Errorf("429: %s %v", rep.body, rep.header)
			}
			break
		}
		if rep.status != 204 || taken > 1000 {
			t.Fatalf("report %d: %d %s", taken, rep.status, rep.body)
		}
	}
	big := fmt.Sprintf(`{"user":"u","kind":"%%s","items":["%s"]}`, strings.Repeat("y", 250))
	x.json("/exposures/unsee", fmt.Sprintf(big, "unsee"), 429)
	x.json("/exposures/forget", `{"user":"`+strings.Repeat("u", 250)+`"}`, 429)
	x.json("/filter", `{"user":"u","max":9,"mark":"delivered","items":["`+strings.Repeat("z", 250)+`"]}`, 429)
	m, err := x.Conn.Request("exposures.report", fmt.Appendf(nil, big, "delivered"), patience)
	if err != nil || m.Header.Get(micro.ErrorCodeHeader) != "429" {
		t.Errorf("report on the bus: %v %s %v", m.Header, m.Data, err)
	}
	if _, err := js.Publish(t.Context(), "exposures.seen", fmt.Appendf(nil, big, "seen")); err == nil {
		t.Error("a full stream took what was published")
	}
	var ids []string
	for i := range taken {
		ids = append(ids, fmt.Sprintf("%q", fmt.Sprint(long, i)))
	}
	ask := `{"user":"u","items":["` + strings.Repeat("y", 250) + `",` + strings.Join(ids, ",") + `]}`
	want := fmt.Sprintf(`{"items":["%s"],"dropped":%d}`, strings.Repeat("y", 250), taken)
	if got := string(x.json("/filter", ask, 200)); taken < 10 || got != want {
		t.Errorf("%d were taken: %s", taken, got)
	}
	resize(wide)
	x.json("/exposures", fmt.Sprintf(big, "seen"), 204)
	if got := string(x.json("/filter", ask, 200)); got != fmt.Sprintf(`{"items":[],"dropped":%d}`, taken+1) {
		t.Errorf("with space again: %s", got)
	}
}

// TestExposureUsers: the name of a user may have any byte that text can hold, and may be
// an integer, which is the same user as its decimal text. Different names are different
// users, before and after a restart.
func TestExposureUsers(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{CacheBytes: 1}, nil)
	users := []string{`7`, `"a\u0000b"`, `"a\u0000c"`, `"a"`, `"\u0000a"`, `"a/b"`, `"A"`, `"a "`, `"中"`, `"\ud83d\ude00"`, `"%00"`, `"*"`, `"a.b"`, `"` + strings.Repeat("é", 128) + `"`}
	for i, u := range users {
		x.json("/exposures", fmt.Sprintf(`{"user":%s,"kind":"seen","items":["i%d"]}`, u, i), 204)
	}
	for range 2 {
		for i, u := range append(slices.Clone(users), `"7"`, `"a\/b"`) {
			is := i
			if i >= len(users) {
				is = slices.Index(users, map[string]string{`"7"`: `7`, `"a\/b"`: `"a/b"`}[u])
			}
			if got := string(x.json("/filter", fmt.Sprintf(`{"user":%s,"items":["i%d","i%d"]}`, u, is, is+100), 200)); got != fmt.Sprintf(`{"items":["i%d"],"dropped":1}`, is+100) {
				t.Errorf("user %s: %s", u, got)
			}
		}
		testbed.OK(t, x.exposure.Flush(t.Context()))
	}
	x.json("/exposures/forget", `{"user":"a\u0000b"}`, 204)
	for u, want := range map[string]int{`"a\u0000b"`: 0, `"a\u0000c"`: 1, `"a"`: 1} {
		i := slices.Index(users, u)
		if got := string(x.json("/filter", fmt.Sprintf(`{"user":%s,"items":["i%d","x"]}`, u, i), 200)); !strings.HasSuffix(got, fmt.Sprintf(`"dropped":%d}`, want)) {
			t.Errorf("after one was forgotten, user %s: %s", u, got)
		}
	}
}

func TestExposureRoles(t *testing.T) {
	t.Parallel()
	known, err := fixture.Tokens("r recall jg_recall_token-0123\np platform jg_platform_token-01\nm monitor jg_monitor_token-012\n")
	testbed.OK(t, err)
	x := newExposureServer(t, exposure.Config{}, known)
	ask := func(method, path, token string, want int) {
		t.Helper()
		rep := x.do(method, path, `{"user":"u","items":["a"]}`, "Authorization", "Bearer "+token)
		if rep.status != want {
			t.Errorf("%s %s with token %q: %d, want %d", method, path, token, rep.status, want)
		}
	}
	for token, want := range map[string]int{"jg_platform_token-01": 403, "jg_recall_token-0123": 200} {
		ask(http.MethodPost, "/filter", token, want)
	}
	// Every operation that is not open asks for a token, and for a role: a monitor's is for metrics alone.
	asked := 0
	for path, item := range description.doc.Paths.Map() {
		path = strings.NewReplacer("{id}", "1", "{name}", "s").Replace(path)
		for method, op := range item.Operations() {
			if op.Security == nil && path != "/metrics" {
				ask(method, path, "", 401)
				ask(method, path, "jg_monitor_token-012", 403)
				asked++
			}
		}
	}
	if asked < 20 {
		t.Errorf("%d operations were asked", asked)
	}
}

// TestTraceHTTP: only operators trace, their names are in the log, and users' are not.
func TestTraceHTTP(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var mu sync.Mutex
	r := newService(t, testConfig{exposure: &exposure.Config{}, api: func(c *Config) {
		c.Tokens = testTokens(t)
		c.Logger = slog.New(slog.NewTextHandler(&lockedWriter{mu: &mu, w: &log}, nil))
	}})
	do := func(secret, method, path string, body any, status int) string {
		t.Helper()
		rep := r.do(method, path, body, "Authorization", "Bearer "+secret)
		if rep.status != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, rep.status, rep.body, status)
		}
		return string(rep.body)
	}
	const path = "/exposures/trace?user=mary"
	start := map[string]any{"user": "mary", "for": "24h", "reason": "ticket 7"}
	for _, secret := range []string{platformToken, editorToken, recallToken} {
		do(secret, "POST", "/exposures/trace", start, 403)
		do(secret, "GET", path, nil, 403)
	}
	do(platformToken, "POST", "/exposures/explain", map[string]any{"user": "mary", "item": 7}, 403)
	do(editorToken, "POST", "/exposures/explain", map[string]any{"user": "mary", "item": 7}, 200)
	do(operatorToken, "GET", path, nil, 404)
	do(operatorToken, "GET", "/exposures/trace", nil, 400)
	do(operatorToken, "POST", "/exposures/trace", start, 204)
	do(recallToken, "POST", "/exposures", map[string]any{"user": "mary", "kind": "seen", "items": []string{"a"}}, 204)
	if got := do(operatorToken, "GET", path, nil, 200); !strings.Contains(got, "seen: 1 ids\n    1 reported: \"a\"\n") {
		t.Error(got)
	}
	rep := r.do("GET", path, nil, "Authorization", "Bearer "+operatorToken, "Accept", "application/json")
	if !strings.Contains(string(rep.body), `"reason":"ticket 7"`) || !strings.Contains(string(rep.body), `"left_out":0,"lines":[{"at":`) {
		t.Errorf("%s", rep.body)
	}
	start["for"] = "0s"
	do(operatorToken, "POST", "/exposures/trace", start, 204)
	do(operatorToken, "GET", path, nil, 404)
	mu.Lock()
	defer mu.Unlock()
	hash := r.exposure.UserHash("mary")
	for _, line := range []string{`msg="a trace of a user begins" for=24h reason="ticket 7" user_hash=` + hash + " by=", `msg="a trace of a user is read" user_hash=` + hash} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log lacks %s:\n%s", line, log.String())
		}
	}
	if strings.Contains(log.String(), "mary") {
		t.Errorf("the log names the user:\n%s", log.String())
	}
}

// TestUnseeInParts: where a long un-see was taken in part, its error does not say that nothing was changed.
func TestUnseeInParts(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{Policies: map[string]state.Policy{"": {Capacity: 64, Tail: 16}}}, nil)
	ids := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("%0250d", i)
		}
		return list
	}
	post := func(path, kind string, items []string, want int) []byte {
		list, err := json.Marshal(items)
		testbed.OK(t, err)
		return x.json(path, fmt.Sprintf(`{"user":"u","kind":%q,"items":%s}`, kind, list), want)
	}
	seen := ids(200)
	post("/exposures", "seen", seen, 204)
	problem := post("/exposures/unsee", "unsee", slices.Concat(seen[:50], ids(900)[300:], seen[50:]), 409)
	if got := string(post("/filter", "", seen[:1], 200)); !strings.Contains(got, seen[0]) {
		t.Fatalf("the first part was not taken: %s", got)
	}
	if strings.Contains(string(problem), "nothing") {
		t.Errorf("%s", problem)
	}
}

// TestExposureFailed: while the store has failed, a report is to be repeated, and no client is told of whom it failed. It
// is no line of the log for each.
func TestExposureFailed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var log bytes.Buffer
	x := newService(t, testConfig{exposure: &exposure.Config{HealAfter: time.Hour, FlushAge: time.Hour, Fail: func(point string) error {
		if point == "flush-write" {
			return errors.New("no disk")
		}
		return nil
	}}, api: func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&lockedWriter{mu: &mu, w: &log}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}})
	x.json("/exposures", `{"user":"ann","kind":"seen","items":["a"]}`, 204)
	if err := x.exposure.Flush(t.Context()); err == nil {
		t.Fatal("it was flushed")
	}
	for _, path := range []string{"/exposures", "/exposures/explain"} {
		rep := x.do("POST", path, `{"user":"u","kind":"seen","item":"a","items":["a"]}`)
		if rep.status != 503 || rep.header.Get("Retry-After") == "" || strings.Contains(string(rep.body), "ann") {
			t.Errorf("%s: %d %s", path, rep.status, rep.body)
		}
	}
	m, err := x.Conn.Request("exposures.report", []byte(`{"user":"u","kind":"seen","items":["a"]}`), patience)
	if err != nil || m.Header.Get(micro.ErrorCodeHeader) != "503" {
		t.Errorf("on the bus: %v %v", m, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", log.String())
	}
}
