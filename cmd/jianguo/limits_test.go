package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"jianguo/internal/fixture"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// hostile is input that no client should send, with the HTTP status it gets and the field
// that the error names.
type hostile struct {
	name, payload string
	status        int
	field         string
}

func hostileItems() []hostile {
	body := func(id, text string) string {
		b, err := json.Marshal(ingest.Item{ID: id, Body: text})
		if err != nil {
			panic(err) // texts always marshal
		}
		return string(b)
	}
	// filled repeats a piece as often as fits into a text.
	filled := func(piece string) string { return strings.Repeat(piece, ingest.MaxText/len(piece)) }
	var han, words, facts strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&han, "%c", 0x4e00+(i*7919)%20000)
		fmt.Fprintf(&words, "w%d ", i%60_000)
		fmt.Fprintf(&facts, "%d月%d日%d万元，", i%12+1, i%28+1, i)
	}
	return []hostile{
		{"cut", `{"id":`, 400, "payload"},
		{"an array", `[]`, 400, "payload"},
		{"nothing", ``, 400, "payload"},
		{"deep objects", strings.Repeat(`{"x":`, 100_000), 400, "payload"},
		{"deep arrays", `{"id":"x","body":` + strings.Repeat(`[`, 500_000), 400, "payload"},
		{"not UTF-8", "{\"id\":\"x\",\"body\":\"\xff\"}", 400, "payload"},
		{"no id", `{"body":"一段正文"}`, 400, "id"},
		{"an empty id", `{"id":"","body":"一段正文"}`, 400, "id"},
		{"half an id", `{"id":"\ud800","body":"一段正文"}`, 400, "id"},
		{"control characters", `{"id":"a\u0001b","body":"一段正文"}`, 400, "id"},
		{"a line break", `{"id":"a\nb","body":"一段正文"}`, 400, "id"},
		{"a long id", body(strings.Repeat("x", 257), "一段正文"), 413, "id"},
		{"an id that is true", `{"id":true,"body":"一段正文"}`, 400, "id"},
		{"a body that is a number", `{"id":"x","body":5}`, 400, "body"},
		{"no text", `{"id":"x"}`, 400, "body"},
		{"a negative revision", `{"id":"x","body":"一段正文","revision":-1}`, 400, "revision"},
		{"yesterday", `{"id":"x","body":"一段正文","published_at":"yesterday"}`, 400, "published_at"},
		{"a megabyte of one character", body("x", strings.Repeat("的", (1<<20)/3)), 413, "body"},
		{"a byte too many", body("x", strings.Repeat("a", ingest.MaxText+1)), 413, "body"},

		{"as much as fits", body("full", filled("a")), 200, ""},
		{"as much as fits, escaped", strings.ReplaceAll(body("escaped", filled("甲")), "甲", `\u7532`), 200, ""},
		{"emoji only", body("emoji", filled("😀")), 200, ""},
		{"half a text", `{"id":"half","body":"前半段正文 \ud83d"}`, 200, ""},
		{"zero width", body("zero", filled("\u200b")), 200, ""},
		{"accents", body("accents", "a"+strings.Repeat("\u0301", 200_000)), 200, ""},
		{"what expands", body("expands", filled("\ufdfa")), 422, "body"},
		{"spaces", body("spaces", filled(" ")), 200, ""},
		{"digits", body("digits", filled("1234567890")), 200, ""},
		{"all different", body("different", han.String()), 200, ""},
		{"words", body("words", words.String()[:ingest.MaxText]), 200, ""},
		{"facts", body("facts", facts.String()[:300_000]), 200, ""},
		{"deep HTML", body("deep", filled("<div>")), 200, ""},
		{"tables", body("tables", filled("<table><b>")), 200, ""},
		{"misnested", body("misnested", strings.Repeat("<b><i><a>", 20_000)+strings.Repeat("<p>", 20_000)), 200, ""},
		{"foreign", body("foreign", filled("<svg><math>")), 200, ""},
		{"attributes", body("attributes", "<a "+strings.Repeat("x=1 ", 120_000)+">一段正文</a>"), 200, ""},
		{"entities", body("entities", filled("&amp;")), 200, ""},
		{"comments", body("comments", filled("<!--")), 200, ""},
		{"brackets", body("brackets", filled("<")), 200, ""},
	}
}

// TestHostileItems: any input, over HTTP and over the bus, gets a verdict or an error that
// names the field, and does not affect other clients.
func TestHostileItems(t *testing.T) {
	t.Parallel()
	s := serve(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	js := s.jetstream()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	refused := 0
	onBus := func(h hostile, o *ingest.Outcome, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s on the bus: %v", h.name, err)
		}
		if o.Field != h.field || (o.Error != "") != (h.status != 200) {
			t.Errorf("%s on the bus: field %q, want %q: %s", h.name, o.Field, h.field, o.Error)
		}
		if h.status != 200 {
			refused++
		}
	}
	for i, h := range hostileItems() {
		if testing.Short() && i%2 == 0 { // the short tier tries each input one way
			o, err := fixture.Submit(ctx, js, bus.SubjectPublish, []byte(h.payload))
			onBus(h, o, err)
			continue
		}
		status, answer, err := s.post("/items", []byte(h.payload))
		var p struct{ ID, Field, Detail string }
		if err == nil && status != 200 {
			err = json.Unmarshal(answer, &p)
		}
		if status == 422 { // refused on its way to a verdict
			refused++
		}
		if status == 202 { // on a slow machine the verdict takes longer than the request
			s.eventually(h.name+" has its verdict", func() bool { return s.status("/items/"+p.ID) == 200 })
			status = 200
		}
		if err != nil || status != h.status || p.Field != h.field || status != 200 && p.Detail == "" {
			t.Errorf("%s: %d, field %q, want %d, %q: %.200s %v", h.name, status, p.Field, h.status, h.field, answer, err)
		}
		if !testing.Short() {
			o, err := fixture.Submit(ctx, js, bus.SubjectPublish, []byte(h.payload))
			onBus(h, o, err)
		}
	}
	dead, err := bus.OpenDead(ctx, js.Conn(), "")
	testbed.OK(t, err)
	letters, err := dead.List(ctx, 0, 1000)
	if err != nil || len(letters) != refused {
		t.Fatalf("%d dead letters of %d, %v", len(letters), refused, err)
	}
	for _, l := range letters {
		if l.Reason == "" || l.Field == "" {
			t.Errorf("a dead letter without a reason: %+v", l)
		}
	}
	if status, answer, err := s.post("/items", article(1)); status != 200 || !bytes.Contains(answer, []byte(`"unique"`)) {
		t.Errorf("an ordinary item afterwards: %d %s %v", status, answer, err)
	}
	s.stop()
}

// TestOversizePayload: a message that is too large for the bus is an error in the client
// library. A client that announces one all the same loses its connection, others do not.
func TestOversizePayload(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	conn := connect(t, s.address.NATS)
	if err := conn.Publish(bus.SubjectPublish, make([]byte, bus.MaxPayload+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("one byte too many: %v", err)
	}
	raw, err := net.Dial("tcp", strings.TrimPrefix(s.address.NATS, "nats://"))
	testbed.OK(t, err)
	defer raw.Close()
	fmt.Fprintf(raw, "CONNECT {\"verbose\":false}\r\nPUB items.publish 999999999\r\n")
	said, err := io.ReadAll(raw)
	if err != nil || !bytes.Contains(said, []byte("Maximum Payload Violation")) {
		t.Errorf("a gigabyte announced: %.300s, %v", said, err)
	}
	s.publish(1) // an ordinary item afterwards
	s.stop()
}

// TestSlowClients: clients that send nothing, or never finish, are disconnected.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	address := strings.TrimPrefix(s.address.HTTP, "http://")
	var wg sync.WaitGroup
	for what, sent := range map[string]string{
		"nothing":     "",
		"half a line": "POST /items HTT",
		"headers":     "POST /items HTTP/1.1\r\nHost: localhost\r\nX-A: ",
		"a body":      "POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"id\":",
	} {
		wg.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Error(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Error(err)
			}
			answer, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) || what == "a body" && !bytes.HasPrefix(answer, []byte("HTTP/1.1 400")) {
				t.Errorf("%s: %.100s, %v", what, answer, err)
			}
		})
	}
	for range 600 { // more than the service works on and queues
		conn, err := net.Dial("tcp", address)
		testbed.OK(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{\"id\":")
	}
	for n := range 20 {
		s.publish(n) // beside slow clients
	}
	wg.Wait()
	s.stop()
}

// TestTerminate: requests in flight when SIGTERM comes are answered, and every answered
// item is there afterwards.
func TestTerminate(t *testing.T) {
	t.Parallel()
	exe, data := binary(t), filepath.Join(t.TempDir(), "data")
	var answered sync.Map
	var number atomic.Int64
	for range 3 {
		s := serve(t, exe, data, "--nats-listen", "127.0.0.1:0")
		var wg sync.WaitGroup
		var ok atomic.Int64
		for range 8 {
			wg.Go(func() {
				for {
					n := number.Add(1)
					status, answer, err := s.post("/items", article(int(n)))
					if err != nil || status == http.StatusServiceUnavailable {
						return // it came too late: refused, or the connection was closed
					}
					if status != http.StatusOK && status != http.StatusAccepted {
						t.Errorf("item %d: %d %s", n, status, answer)
						return
					}
					answered.Store(n, true)
					ok.Add(1)
				}
			})
		}
		s.eventually("items are published", func() bool { return ok.Load() > 50 })
		n := number.Add(1)
		finish := s.halfPosted("/items", article(int(n)))
		s.signal(syscall.SIGTERM)
		wg.Wait()
		if status := finish(); status != http.StatusOK && status != http.StatusAccepted {
			t.Errorf("item %d, which was being read: %d", n, status)
		}
		answered.Store(n, true)
		s.stopped()
	}
	x, err := index.Open(t.Context(), index.Config{Dir: data})
	testbed.OK(t, err)
	defer x.Close()
	count := 0
	answered.Range(func(n, _ any) bool {
		count++
		if _, err := x.Item(t.Context(), fmt.Sprint("n", n)); err != nil {
			t.Errorf("answered and lost: %v", err)
		}
		return true
	})
	t.Logf("%d items answered", count)
}

// halfPosted begins a POST and returns once the service works on it, that is, asks for
// the body. The function returned sends the body and returns the status of the answer.
func (s *process) halfPosted(path string, body []byte) func() int {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.address.HTTP, "http://"))
	testbed.OK(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	testbed.OK(s.t, conn.SetDeadline(time.Now().Add(patience)))
	from := bufio.NewReader(conn)
	status := func() int {
		res, err := http.ReadResponse(from, nil)
		testbed.OK(s.t, err)
		return res.StatusCode
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, len(body))
	if got := status(); got != http.StatusContinue {
		s.t.Fatalf("asked for the body with %d", got)
	}
	return func() int {
		if _, err := conn.Write(body); err != nil {
			s.t.Fatal(err)
		}
		return status()
	}
}

// TestDiskNearlyFull: below the reserve of free space, writes are refused and reads are
// answered.
func TestDiskNearlyFull(t *testing.T) {
	t.Parallel()
	exe, data := binary(t), filepath.Join(t.TempDir(), "data")
	s := serve(t, exe, data, "--nats-listen", "127.0.0.1:0")
	s.publish(1)
	s.stop()
	s = serve(t, exe, data, "--nats-listen", "127.0.0.1:0", "--disk-reserve", "999999999")
	s.eventually("it is said not to be ready", func() bool { return s.status("/readyz") == 503 })
	for path, body := range map[string][]byte{"/items": article(2), "/exposures": []byte(`{"user":"u","kind":"seen","items":["n1"]}`),
		"/clusters/1/decisions": []byte(`{"kind":"exempt","by":"张三"}`), "/sources/甲/boilerplate": []byte(`{"text":"本报讯","state":"in","by":"张三"}`),
		"/exposures/unsee": []byte(`{"user":"u","items":["n1"]}`), "/exposures/forget": []byte(`{"user":"u"}`),
		"/filter": []byte(`{"user":"u","max":1,"mark":"delivered","items":["n1"]}`)} {
		if status, answer, err := s.post(path, body); status != 507 || !bytes.Contains(answer, []byte("the reserve is 999999999 MiB")) {
			t.Errorf("%s: %d %s %v", path, status, answer, err)
		}
	}
	js := s.jetstream()
	for subject, payload := range map[string][]byte{"items.publish": article(3), "items.withdraw": []byte(`{"id":"n1"}`), "exposures.seen": []byte(`{"user":"u","items":["n1"]}`)} {
		var full *jetstream.APIError
		if _, err := js.Publish(t.Context(), subject, payload); !errors.As(err, &full) || full.Code != 503 || !strings.Contains(full.Description, "the reserve is 999999999 MiB") {
			t.Errorf("%s on the bus: %v", subject, err)
		}
	}
	if got := s.status("/items/n1"); got != 200 {
		t.Errorf("an item: %d", got)
	}
	if status, answer, err := s.post("/filter", []byte(`{"user":"u","items":["n1"]}`)); status != 200 {
		t.Errorf("a filter: %d %s %v", status, answer, err)
	}
	s.stop()
}

// TestDiskNearlyFullBusElsewhere: a bus with a disk of its own would take what is refused.
func TestDiskNearlyFullBusElsewhere(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url(), "--disk-reserve", "999999999")
	s.eventually("it is said not to be ready", func() bool { return s.status("/readyz") == 503 })
	for path, body := range map[string][]byte{"/items": article(2), "/exposures": []byte(`{"user":"u","kind":"seen","items":["n1"]}`),
		"/clusters/1/decisions": []byte(`{"kind":"exempt","by":"张三"}`), "/sources/甲/boilerplate": []byte(`{"text":"本报讯","state":"in","by":"张三"}`),
		"/exposures/unsee": []byte(`{"user":"u","items":["n1"]}`), "/exposures/forget": []byte(`{"user":"u"}`)} {
		if status, answer, err := s.post(path, body); status != 507 || !bytes.Contains(answer, []byte("the reserve is 999999999 MiB")) {
			t.Errorf("%s: %d %s %v", path, status, answer, err)
		}
	}
	s.stop()
}

// TestStreamFull: publishers get an error once ITEMS is full, and accepted items are not
// lost.
func TestStreamFull(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	exe, data := binary(t), filepath.Join(t.TempDir(), "data")
	s := serveReady(t, exe, data, "--nats", b.url())
	s.stop()
	// No items are applied while the service is stopped. The limit is lowered.
	js := b.streams()
	stream, err := js.Stream(t.Context(), bus.StreamItems)
	testbed.OK(t, err)
	narrow := stream.CachedInfo().Config
	narrow.MaxBytes = 64 << 10
	if _, err := js.UpdateStream(t.Context(), narrow); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for ; taken < 1000; taken++ {
		if _, err = js.Publish(t.Context(), bus.SubjectPublish, article(taken)); err != nil {
			break
		}
	}
	var full *jetstream.APIError
	if !errors.As(err, &full) || taken == 0 {
		t.Fatalf("%d items were taken, then %v", taken, err)
	}
	s = serve(t, exe, data, "--nats", b.url())
	s.eventually("what was taken has its verdicts", func() bool { return s.status(fmt.Sprint("/items/n", taken-1)) == 200 })
	for n := range taken {
		if got := s.status(fmt.Sprint("/items/n", n)); got != 200 {
			t.Errorf("item %d was taken: %d", n, got)
		}
	}
	s.stop()
}
