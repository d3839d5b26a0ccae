package api

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// TestStarting: a service that is still opening answers requests, and passes its listener
// on without closing it.
func TestStarting(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testbed.OK(t, err)
	defer l.Close()
	get := func(method, path string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(method, "http://"+l.Addr().String()+path, strings.NewReader("{}"))
		testbed.OK(t, err)
		r, err := http.DefaultClient.Do(req)
		testbed.OK(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		testbed.OK(t, err)
		return r, string(body)
	}
	s := Start(l.(*net.TCPListener), nil, "v1")
	s.Progress("items", 3, 10)
	if r, body := get("GET", "/healthz"); r.StatusCode != 200 || !strings.Contains(body, "v1") {
		t.Errorf("/healthz: %d %s", r.StatusCode, body)
	}
	r, body := get("GET", "/readyz")
	var ready readiness
	if err := json.Unmarshal([]byte(body), &ready); err != nil || r.StatusCode != 503 || ready.Ready || ready.Parts["start"] != "starting: loading items, 3 of 10" {
		t.Errorf("/readyz: %d %s (%v)", r.StatusCode, body, err)
	}
	var p Problem
	for _, path := range []string{"/items", "/filter", "/metrics", "/"} {
		r, body = get("POST", path)
		if err := json.Unmarshal([]byte(body), &p); err != nil || r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || !strings.Contains(p.Detail, "3 of 10") {
			t.Errorf("%s: %d %s (%v)", path, r.StatusCode, body, err)
		}
	}
	testbed.OK(t, s.End())
	// The same listener goes on serving, also clients that connected in between.
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the service") })}
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	if r, body := get("GET", "/"); r.StatusCode != 200 || body != "the service" {
		t.Errorf("afterwards: %d %s", r.StatusCode, body)
	}
}
