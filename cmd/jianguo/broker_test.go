package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"jianguo/bus"
)

// broker is a NATS server elsewhere, which may go away and come back. Its address
// is a door that stays: a port that was given up might be another's by then.
type broker struct {
	t       *testing.T
	options server.Options
	server  *server.Server
	door    net.Listener
	at      atomic.Pointer[string] // the server's own address; nil: it is away
}

func startBroker(t *testing.T, change func(*server.Options)) *broker {
	t.Helper()
	b := &broker{t: t, options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		MaxPayload: bus.MaxPayload}}
	if change != nil {
		change(&b.options)
	}
	var err error
	if b.door, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go b.admit()
	b.start()
	t.Cleanup(func() { b.stop(); _ = b.door.Close() })
	return b
}

// admit leads whoever comes to the server, and turns them away while it is not there.
func (b *broker) admit() {
	for {
		client, err := b.door.Accept()
		if err != nil {
			return // the door was closed
		}
		go func() {
			defer client.Close()
			at := b.at.Load()
			if at == nil {
				return
			}
			inside, err := net.Dial("tcp", *at)
			if err != nil {
				return // it has just gone
			}
			go func() {
				_, _ = io.Copy(inside, client)
				_ = inside.Close()
			}()
			_, _ = io.Copy(client, inside)
		}()
	}
}

func (b *broker) start() {
	b.t.Helper()
	options := b.options
	var err error
	if b.server, err = server.NewServer(&options); err != nil {
		b.t.Fatal(err)
	}
	b.server.Start()
	if !b.server.ReadyForConnections(patience) {
		b.t.Fatal("the broker did not start")
	}
	at := b.server.Addr().String()
	b.at.Store(&at)
}

func (b *broker) stop() {
	b.at.Store(nil)
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

func (b *broker) url() string { return "nats://" + b.door.Addr().String() }

// A broker that goes away is told to whoever asks; when it comes back, everything
// goes on by itself, and nothing is lost or doubled.
func TestBrokerAway(t *testing.T) {
	b := startBroker(t, nil)
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	publish := func(n int) {
		t.Helper()
		if status, answer, err := s.post("/items", article(n)); status != 200 {
			t.Fatalf("item %d: %d %s %v\n%s", n, status, answer, err, s.said)
		}
	}
	s.eventually("ready", func() bool { return s.status("/readyz") == 200 })
	publish(1)
	if status, answer, err := s.post("/exposures", []byte(`{"user":"u","kind":"seen","items":["n1"]}`)); status != 204 {
		t.Fatal(status, string(answer), err)
	}
	for round := range 2 {
		b.stop()
		s.eventually("not ready without the broker", func() bool { return s.status("/readyz") == 503 })
		status, answer, err := s.post("/items", article(100))
		var p struct{ Detail string }
		if err != nil || status != 503 || json.Unmarshal(answer, &p) != nil || !strings.Contains(p.Detail, "bus") {
			t.Errorf("without a broker: %d %s %v", status, answer, err)
		}
		// What needs no broker is answered.
		if got := s.status("/items/n1"); got != 200 {
			t.Errorf("an item without a broker: %d", got)
		}
		if status, answer, err := s.post("/filter", []byte(`{"user":"u","items":["n1","n2"]}`)); status != 200 || string(answer) != `{"items":["n2"],"dropped":1}` {
			t.Errorf("a filter without a broker: %d %s %v", status, answer, err)
		}
		b.start()
		s.eventually("ready again", func() bool { return s.status("/readyz") == 200 })
		publish(2 + round)
		if status, answer, err := s.post("/exposures", []byte(fmt.Sprintf(`{"user":"v%d","kind":"seen","items":["n1"]}`, round))); status != 204 {
			t.Fatal(status, string(answer), err, s.said)
		}
		if status, answer, _ := s.post("/filter", []byte(fmt.Sprintf(`{"user":"v%d","items":["n1","n2"]}`, round))); string(answer) != `{"items":["n2"],"dropped":1}` {
			t.Errorf("a filter afterwards: %d %s", status, answer)
		}
	}
	// VERDICTS holds what the catalogue does.
	conn, err := nats.Connect(b.url())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := conn.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	s.eventually("three events", func() bool {
		info, err := js.StreamInfo(bus.StreamVerdicts)
		return err == nil && info.State.LastSeq == 3
	})
	s.stop()
}

// A broker that cannot carry items is refused at the start, with what to do.
func TestBrokerTooSmall(t *testing.T) {
	b := startBroker(t, func(o *server.Options) { o.MaxPayload = 512 << 10 })
	dir := filepath.Join(t.TempDir(), "data")
	out, err := exec.Command(binary(t), "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", b.url()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "max_payload is 524288 bytes, items need at least 1048576: raise max_payload") {
		t.Errorf("%v: %s", err, out)
	}
}

// A broker without JetStream is told so, too.
func TestBrokerWithoutStreams(t *testing.T) {
	b := startBroker(t, func(o *server.Options) { o.JetStream = false })
	dir := filepath.Join(t.TempDir(), "data")
	out, err := exec.Command(binary(t), "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", b.url()).CombinedOutput()
	if err == nil || !strings.Contains(strings.ToLower(string(out)), "jetstream") {
		t.Errorf("%v: %s", err, out)
	}
}

// A service that is refused by its broker says why, and does not tell the secret.
func TestBrokerRefuses(t *testing.T) {
	b := startBroker(t, func(o *server.Options) { o.Authorization = "the-right-token" })
	at := strings.Replace(b.url(), "//", "//the-wrong-token@", 1)
	dir := filepath.Join(t.TempDir(), "data")
	out, err := exec.Command(binary(t), "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", at).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "refused the token") || strings.Contains(string(out), "the-wrong-token") {
		t.Errorf("%v: %s", err, out)
	}
	s := serve(t, binary(t), dir, "--nats", strings.Replace(b.url(), "//", "//the-right-token@", 1))
	if strings.Contains(s.at.NATS+s.said.String(), "the-right-token") {
		t.Errorf("the token is told: %+v\n%s", s.at, s.said)
	}
	s.stop()
}
