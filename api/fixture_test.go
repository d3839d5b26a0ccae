package api

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"jianguo/api/console"
	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/clock"
	"jianguo/internal/fixture"
	"jianguo/internal/testbed"
)

// description is shared by all tests. TestMain sets it and nothing changes it later.
var description *traffic

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if description, err = newTraffic(); err != nil {
		panic(err)
	}
	code := m.Run()
	if code == 0 && flag.Lookup("test.run").Value.String() == "" {
		if missing := description.unseen(); len(missing) > 0 {
			fmt.Fprintf(os.Stderr, "FAIL: no test saw these of openapi.yaml: %s\n", strings.Join(missing, ", "))
			code = 1
		}
	}
	os.Exit(code)
}

// testService is a service with a directory of its own: bus, index, ingest, exposures
// and server.
type testService struct {
	*fixture.Pipeline
	t        *testing.T
	browse   *browse.Model
	metrics  *prometheus.Registry
	exposure *exposure.Store // nil unless the test sets testConfig.exposure
	server   *Server
	url      string
	client   *http.Client
	end      context.CancelFunc // of Serve
}

// testConfig has the settings in which a test differs from the others.
type testConfig struct {
	api      func(*Config)
	ingest   func(*ingest.Config)
	bus      func(*bus.Config)
	exposure *exposure.Config // settings without an obvious value; nil: no exposures
	stalled  bool             // items stay on the bus until Run
}

func newService(t *testing.T, cfg testConfig) *testService {
	t.Helper()
	ctx := context.Background()
	r := &testService{t: t}
	var err error
	r.Pipeline, err = fixture.Open(ctx, fixture.Config{Dir: t.TempDir(), Bus: cfg.bus, Ingest: cfg.ingest})
	testbed.OK(t, err)
	t.Cleanup(func() { testbed.OK(t, r.Close()) })
	r.OnClose(func() error { return r.Verify(ctx) })
	r.browse, err = browse.Open(ctx, r.Index, browse.Config{Words: console.IndexWords(r.Segmenter)})
	testbed.OK(t, err)
	r.OnClose(r.browse.Close)
	if cfg.exposure != nil {
		testbed.OK(t, r.openExposure(ctx, *cfg.exposure))
	}
	if !cfg.stalled {
		r.Run()
	}
	r.server, err = New(r.config(cfg.api))
	testbed.OK(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testbed.OK(t, err)
	r.url = "http://" + l.Addr().String()
	serveCtx, end := context.WithCancel(ctx)
	r.end = end
	r.Background("Serve", func(ctx context.Context) error {
		context.AfterFunc(ctx, end)
		return r.server.Serve(serveCtx, l)
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	r.client = &http.Client{Transport: held{t: t, next: transport}, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r.OnClose(func() error { transport.CloseIdleConnections(); return nil })
	// The services on the bus start before HTTP does.
	r.do("GET", "/healthz", nil)
	return r
}

// config is that of a Server over the parts of r, changed by change unless that is nil.
func (r *testService) config(change func(*Config)) Config {
	r.metrics = prometheus.NewRegistry()
	parts := console.Parts{Browse: r.browse, Segmenter: r.Segmenter, Index: r.Index, Ingest: r.Ingest, Conn: r.Conn, Version: "test"}
	c := Config{Parts: parts, Exposure: r.exposure, Wait: MaxWait, Metrics: r.metrics, Room: func() error { return nil }}
	if change != nil {
		change(&c)
	}
	return c
}

func (r *testService) openExposure(ctx context.Context, cfg exposure.Config) error {
	js, err := jetstream.New(r.Conn)
	if err != nil {
		return err
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	if cfg.Log, err = eventlog.Open(ctx, js, eventlog.Config{}, cfg.Logger); err != nil {
		return err
	}
	cfg.Path = filepath.Join(r.Dir, "exposure.db")
	if r.exposure, err = exposure.Open(ctx, cfg); err != nil {
		return err
	}
	r.OnClose(func() error {
		_, err := exposure.VerifyFile(ctx, cfg.Path)
		return err
	})
	r.OnClose(r.exposure.Close)
	for !r.exposure.Ready() && err == nil {
		err = clock.Sleep(ctx, time.Millisecond)
	}
	return err
}

// reply is a complete answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// do makes a request. A body that is a string or bytes is sent unchanged, any other as
// JSON. Further arguments are header names and values.
func (r *testService) do(method, path string, body any, header ...string) reply {
	r.t.Helper()
	rep, err := r.try(method, path, body, header...)
	if err != nil {
		r.t.Fatalf("%s %.80s: %v", method, path, err)
	}
	return rep
}

func (r *testService) try(method, path string, body any, header ...string) (reply, error) {
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case []byte:
		reader = bytes.NewReader(b)
	case io.Reader:
		reader = b
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return reply{}, err
		}
		reader = bytes.NewReader(encoded)
	}
	req, err := http.NewRequest(method, r.url+path, reader)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	rep := reply{status: res.StatusCode, header: res.Header}
	rep.body, err = io.ReadAll(res.Body)
	return rep, err
}

// want makes a request whose status must be the given one, and decodes the
// answer into a T.
func want[T any](r *testService, status int, method, path string, body any, header ...string) T {
	r.t.Helper()
	rep := r.do(method, path, body, header...)
	if rep.status != status {
		r.t.Fatalf("%s %.80s: %d, want %d: %.300s", method, path, rep.status, status, rep.body)
	}
	var v T
	if err := json.Unmarshal(rep.body, &v); err != nil {
		r.t.Fatalf("%s %.80s: %v in %.300s", method, path, err, rep.body)
	}
	return v
}

// publish publishes an item that must be accepted.
func (r *testService) publish(it ingest.Item) ingest.Outcome {
	r.t.Helper()
	return want[ingest.Outcome](r, 200, "POST", "/items", it)
}

// follow brings the lists up to date.
func (r *testService) follow() {
	r.t.Helper()
	testbed.OK(r.t, r.browse.Follow(context.Background()))
}

// events returns the number of the last event.
func (r *testService) events() uint64 {
	_, n := r.Index.Applied()
	return n
}

// noDeadLetters checks that no refused request reached the bus.
func (r *testService) noDeadLetters() {
	r.t.Helper()
	ctx := context.Background()
	dead, err := bus.OpenDead(ctx, r.Conn, "")
	testbed.OK(r.t, err)
	if n, err := dead.Len(ctx); n != 0 || err != nil {
		r.t.Errorf("%d dead letters, %v", n, err)
	}
}

// patience bounds every wait. It is far above what a slow machine needs.
const patience = time.Minute

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("still not: %s", what)
}

// traffic checks requests and answers against openapi.yaml.
type traffic struct {
	doc    *openapi3.T
	router routers.Router
	mu     sync.Mutex
	seen   map[string]bool // operation ids that were answered with 2xx; under mu
}

// pagePaths are the plain pages, which the description omits.
var pagePaths = []string{"/", "/cluster", "/item", "/pages.css"}

func newTraffic() (*traffic, error) {
	doc, err := openapi3.NewLoader().LoadFromData(OpenAPI)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	// Clients must accept unknown fields. In the tests, a field that the description
	// does not have is an error.
	no := false
	for _, name := range []string{"Outcome", "Event", "Facts", "StoredItem", "Member", "Cluster", "Problem", "Filtered", "History", "Explanation", "Decision", "SuspectRow", "Suspect"} {
		doc.Components.Schemas[name].Value.AdditionalProperties = openapi3.AdditionalProperties{Has: &no}
	}
	router, err := gorillamux.NewRouter(doc)
	return &traffic{doc: doc, router: router, seen: map[string]bool{}}, err
}

// unseen lists the operations that succeeded in no test.
func (tr *traffic) unseen() (ids []string) {
	for _, item := range tr.doc.Paths.Map() {
		for _, op := range item.Operations() {
			if !tr.seen[op.OperationID] {
				ids = append(ids, op.OperationID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// check returns an error if an exchange does not match the description.
func (tr *traffic) check(req *http.Request, sent []byte, res *http.Response, got []byte) error {
	ctx := context.Background()
	method, path := req.Method, req.URL.EscapedPath()
	if method == http.MethodHead {
		method = http.MethodGet
	}
	// In the description a path has no slash inside an id, and a body has a type. The
	// service is more lenient.
	if rest, ok := strings.CutPrefix(path, "/items/"); ok {
		path = "/items/" + strings.ReplaceAll(rest, "/", "%2F")
		switch {
		case rest == "":
			path = "/items"
		case rest == "check" && method != http.MethodPost:
			path = "/items/other" // stands for any id
		}
	}
	clean, err := http.NewRequest(method, path+"?"+req.URL.RawQuery, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	clean.Header = req.Header.Clone()
	clean.Header.Set("Content-Type", "application/json")
	if len(sent) == 0 {
		clean.Body = http.NoBody
	}
	route, params, err := tr.router.FindRoute(clean)
	if err != nil {
		if res.StatusCode == 404 || res.StatusCode == 405 || res.StatusCode == 403 || slices.Contains(pagePaths, path) {
			return nil
		}
		return fmt.Errorf("answered with %d, but not in openapi.yaml: %w", res.StatusCode, err)
	}
	for name, value := range params {
		if params[name], err = url.PathUnescape(value); err != nil {
			return err
		}
	}
	in := &openapi3filter.RequestValidationInput{Request: clean, PathParams: params, Route: route, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true}}
	if err := openapi3filter.ValidateRequest(ctx, in); err != nil && res.StatusCode < 400 {
		return fmt.Errorf("taken, though openapi.yaml does not allow it: %w", err)
	}
	if res.StatusCode/100 == 2 {
		tr.mu.Lock()
		tr.seen[route.Operation.OperationID] = true
		tr.mu.Unlock()
	}
	if req.Method == http.MethodHead {
		return nil
	}
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode,
		Header: res.Header, Body: io.NopCloser(bytes.NewReader(got)), Options: in.Options})
}

// held is a transport that checks its traffic against the description.
type held struct {
	t    *testing.T
	next http.RoundTripper
}

func (h held) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent bytes.Buffer
	if req.Body != nil {
		req.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(req.Body, &sent), req.Body}
	}
	res, err := h.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(res.Body)
	if err := res.Body.Close(); err != nil {
		h.t.Error(err)
	}
	res.Body = io.NopCloser(bytes.NewReader(got))
	if err != nil {
		return res, err
	}
	// The server may refuse a request before it has read all of it; the client is then
	// still sending.
	var body []byte
	if res.StatusCode < 400 {
		body = sent.Bytes()
	}
	if err := description.check(req, body, res, got); err != nil {
		h.t.Errorf("%s %.80s: %v", req.Method, req.URL.EscapedPath(), err)
	}
	return res, nil
}
