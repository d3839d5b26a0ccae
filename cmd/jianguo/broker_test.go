package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/testbed"
)

// relay is an address that stays the same while what is behind it moves, stops, or is cut off.
type relay struct {
	listener net.Listener
	to       atomic.Pointer[string] // nil: connections are closed
	frozen   sync.RWMutex           // held for writing while nothing is to pass
	narrow   func(client net.Conn) net.Conn
}

// tap is a connection whose data passes only while its relay is not frozen.
type tap struct {
	net.Conn
	frozen *sync.RWMutex
}

func (c tap) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.frozen.RLock()
	defer c.frozen.RUnlock()
	return n, err
}

func startRelay(t *testing.T) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testbed.OK(t, err)
	r := &relay{listener: l}
	go r.forward()
	t.Cleanup(func() { _ = l.Close() })
	return r
}

func (r *relay) url() string { return "nats://" + r.listener.Addr().String() }

// forward connects clients to what is behind.
func (r *relay) forward() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return // the relay was closed
		}
		go func() {
			defer client.Close()
			to := r.to.Load()
			if to == nil {
				return
			}
			inside, err := net.Dial("tcp", *to)
			if err != nil {
				return // it stopped just now
			}
			from := client
			if r.narrow != nil {
				from = r.narrow(client)
			}
			go func() {
				_, _ = io.Copy(inside, tap{from, &r.frozen})
				_ = inside.Close()
			}()
			_, _ = io.Copy(client, tap{inside, &r.frozen})
		}()
	}
}

// broker is a NATS server outside the service. It can stop and start again behind a
// relay: another process could take a released port.
type broker struct {
	*relay
	t       *testing.T
	options server.Options
	server  *server.Server
}

func startBroker(t *testing.T, change func(*server.Options)) *broker {
	t.Helper()
	b := &broker{relay: startRelay(t), t: t, options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		MaxPayload: bus.MaxPayload}}
	if change != nil {
		change(&b.options)
	}
	b.start()
	t.Cleanup(b.close)
	return b
}

// close stops the broker and its relay.
func (b *broker) close() {
	b.stop()
	_ = b.listener.Close()
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
	b.to.Store(&at)
}

func (b *broker) stop() {
	b.to.Store(nil)
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// streams connects to the JetStream of the broker.
func (b *broker) streams() jetstream.JetStream {
	b.t.Helper()
	return bus.JetStream(connect(b.t, b.server.ClientURL(), nats.Token(b.options.Authorization)))
}

// While the broker is away, requests that need it get an error that says so. Once it is
// back, everything goes on by itself, and nothing is lost or doubled.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	s.publish(1)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["n1"]}`, nil)
	for round := range 2 {
		b.stop()
		s.eventually("not ready without the broker", func() bool { return s.status("/readyz") == 503 })
		status, answer, err := s.post("/items", article(100))
		var p struct{ Detail string }
		if err != nil || status != 503 || json.Unmarshal(answer, &p) != nil || !strings.Contains(p.Detail, "bus") {
			t.Errorf("without a broker: %d %s %v", status, answer, err)
		}
		for path, body := range map[string]string{"/exposures": `{"user":"w","kind":"seen","items":["n1"]}`,
			"/clusters/1/decisions": `{"kind":"block","item":"n1","by":"a"}`} {
			status, answer, err := s.post(path, []byte(body))
			if err != nil || status != 503 || json.Unmarshal(answer, &p) != nil || !strings.Contains(p.Detail, "the bus") {
				t.Errorf("%s without a broker: %d %s %v", path, status, answer, err)
			}
		}
		// Requests that need no broker are answered.
		if got := s.status("/items/n1"); got != 200 {
			t.Errorf("an item without a broker: %d", got)
		}
		if status, answer, err := s.post("/filter", []byte(`{"user":"u","items":["n1","n2"]}`)); status != 200 || string(answer) != `{"items":["n2"],"dropped":1}` {
			t.Errorf("a filter without a broker: %d %s %v", status, answer, err)
		}
		if status, answer, _ := s.post("/filter", []byte(`{"user":"w","items":["n1"],"max":1,"mark":"delivered"}`)); status != 200 || !strings.Contains(string(answer), `"items":["n1"]`) || !strings.Contains(string(answer), `"degraded":"mark: the bus is away`) {
			t.Errorf("a marking filter without a broker: %d %s", status, answer)
		}
		b.start()
		s.ready()
		s.publish(2 + round)
		s.ask("/exposures", fmt.Sprintf(`{"user":"v%d","kind":"seen","items":["n1"]}`, round), nil)
		if status, answer, _ := s.post("/filter", []byte(fmt.Sprintf(`{"user":"v%d","items":["n1","n2"]}`, round))); string(answer) != `{"items":["n2"],"dropped":1}` {
			t.Errorf("a filter afterwards: %d %s", status, answer)
		}
		// What was answered as failed has not been done meanwhile.
		if _, answer, _ := s.post("/filter", []byte(`{"user":"w","items":["n1"]}`)); string(answer) != `{"items":["n1"],"dropped":0}` {
			t.Errorf("a report that failed: %s", answer)
		}
		if _, answer, _ := s.get("/clusters/1/decisions"); string(answer) != "{\"decisions\":[]}\n" {
			t.Errorf("a decision that failed: %s", answer)
		}
	}
	// VERDICTS holds what the catalogue does.
	if numbers := s.numbers(b.streams(), 3); len(numbers) != 3 {
		t.Errorf("events: %v", numbers)
	}
	s.stop()
}

// TestBrokerOlder: a broker that comes back from a backup gives sequences again. What it acknowledges then is judged and
// known to filters, and what it holds from before is not applied once more.
func TestBrokerOlder(t *testing.T) {
	t.Parallel()
	b, backup := startBroker(t, nil), filepath.Join(t.TempDir(), "backup")
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	s.publish(1)
	s.ask("/clusters/1/decisions", `{"kind":"block","item":"n1","by":"a"}`, nil)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["n1"]}`, nil)
	b.stop()
	testbed.OK(t, os.CopyFS(backup, os.DirFS(b.options.StoreDir)))
	b.start()
	s.eventually("the service is on the bus again, and an undo is taken", func() bool {
		status, _, _ := s.post("/clusters/1/decisions", []byte(`{"kind":"undo","decision":1,"by":"a"}`))
		return status == 200
	})
	for n := range 5 {
		s.publish(2 + n)
		s.ask("/exposures", fmt.Sprintf(`{"user":"u","kind":"seen","items":["n%d"]}`, 2+n), nil)
	}
	b.stop()
	b.options.StoreDir = backup
	b.start()
	report := func() bool {
		status, answer, _ := s.post("/exposures", []byte(`{"user":"u","kind":"seen","items":["n9"]}`))
		if status != 204 && status != 503 {
			t.Errorf("a report: %d %s", status, answer)
		}
		return status == 204
	}
	s.eventually("a report is taken", report)
	if _, answer, _ := s.post("/filter", []byte(`{"user":"u","items":["n1","n6","n9","n10"]}`)); string(answer) != `{"items":["n10"],"dropped":3}` {
		t.Errorf("a filter afterwards: %s", answer)
	}
	if status, answer, err := s.post("/items", article(9)); status != 200 {
		t.Errorf("an item afterwards: %d %s %v", status, answer, err)
	}
	if _, answer, _ := s.get("/items/n1"); !strings.Contains(string(answer), `"verdict":"unique","previous":"withdrawn"`) {
		t.Errorf("what was undone is decided again: %s", answer)
	}
	s.stop()
}

// TestBrokerOlderAndFuller: a broker that comes back from a backup has been given more items and reports than it had lost
// before the service is on it again, which ran meanwhile or did not. All are judged and known.
func TestBrokerOlderAndFuller(t *testing.T) {
	t.Parallel()
	for name, stopped := range map[string]bool{"running": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, backup := startBroker(t, nil), filepath.Join(t.TempDir(), "backup")
			s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
			report := func(n int) { s.ask("/exposures", fmt.Sprintf(`{"user":"u","kind":"seen","items":["n%d"]}`, n), nil) }
			s.ready()
			s.publish(1)
			report(1)
			b.stop()
			testbed.OK(t, os.CopyFS(backup, os.DirFS(b.options.StoreDir)))
			b.start()
			s.eventually("the service is on the bus again", func() bool {
				status, _, _ := s.post("/items", article(2))
				return status == 200
			})
			s.publish(3)
			report(2)
			report(3)
			s.publish(3) // the last message makes no event
			if stopped {
				s.stop()
			}
			b.stop()
			older := startBroker(t, func(o *server.Options) { o.StoreDir = backup })
			for n := 10; n < 15; n++ {
				for subject, data := range map[string][]byte{bus.SubjectPublish: article(n), "exposures.seen": fmt.Appendf(nil, `{"user":"u","items":["n%d"]}`, n)} {
					if _, err := older.streams().Publish(t.Context(), subject, data); err != nil {
						t.Fatal(err)
					}
				}
			}
			older.close()
			b.options.StoreDir = backup
			b.start()
			if stopped {
				s.start()
				s.ready()
			}
			s.eventually("all are judged", func() bool {
				judged := 0
				for n := 10; n < 15; n++ {
					if s.status(fmt.Sprint("/items/n", n)) == 200 {
						judged++
					}
				}
				return judged == 5
			})
			s.eventually("all are known", func() bool {
				_, answer, _ := s.post("/filter", []byte(`{"user":"u","items":["n1","n2","n3","n10","n11","n12","n13","n14","n15"]}`))
				return string(answer) == `{"items":["n15"],"dropped":8}`
			})
			s.stop()
		})
	}
}

// A service starts again at once on the same broker, which still keeps the consumers of the
// process before.
func TestBrokerRestart(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	for n, end := range []func(){s.stop, s.kill, s.stop} {
		s.ready()
		s.publish(n)
		s.ask("/exposures", fmt.Sprintf(`{"user":"u","kind":"seen","items":["n%d"]}`, n), nil)
		end()
		s.start()
	}
	s.ready()
	s.stop()
}

// The service refuses to start on a broker that cannot carry items, and says what to do.
func TestBrokerTooSmall(t *testing.T) {
	t.Setenv(busWaitEnv, "2s")
	for sentence, change := range map[string]func(*server.Options){
		"max_payload is 524288 bytes, items need at least 1048576: raise max_payload":                                       func(o *server.Options) { o.MaxPayload = 512 << 10 },
		"ITEMS needs --backlog (4096 MiB unless set), and VERDICTS, DEAD and EXPOSURES 1024 MiB each: raise max_file_store": func(o *server.Options) { o.JetStreamMaxStore = 2 << 30 },
		"the bus has no JetStream, or not for this account: enable it there":                                                func(o *server.Options) { o.JetStream = false },
	} {
		t.Run(sentence, func(t *testing.T) {
			fails(t, binary(t), sentence, "serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--nats", startBroker(t, change).url())
		})
	}
}

// A service that its broker refuses says why, and does not print the token.
func TestBrokerRefuses(t *testing.T) {
	t.Parallel()
	b := startBroker(t, func(o *server.Options) { o.Authorization = "the-right-token" })
	at := strings.Replace(b.url(), "//", "//the-wrong-token@", 1)
	dir := filepath.Join(t.TempDir(), "data")
	out, err := exec.Command(binary(t), "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", at).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "refused the token") || strings.Contains(string(out), "the-wrong-token") {
		t.Errorf("%v: %s", err, out)
	}
	s := serve(t, binary(t), dir, "--nats", strings.Replace(b.url(), "//", "//the-right-token@", 1))
	if strings.Contains(s.address.NATS+s.log.String(), "the-right-token") {
		t.Errorf("the token is printed: %+v\n%s", s.address, s.log)
	}
	// Commands on the directory in use need the token too.
	name := fileOf(t, article(1))
	for i, args := range [][]string{{"ingest", name}, {"dead", "list"}, {"check", name}, {"backup", filepath.Join(t.TempDir(), "copy")}} {
		command := func(env string) (string, error) {
			cmd := exec.Command(s.binary, append(args, "--data", dir)...)
			cmd.Env = append(os.Environ(), env)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		if i < 2 {
			if out, err := command("JIANGUO_TOKEN="); err == nil || !strings.Contains(out, "with --token or JIANGUO_TOKEN") {
				t.Errorf("%s without a token: %v %s", args, err, out)
			}
		}
		if out, err := command("JIANGUO_TOKEN=the-right-token"); err != nil {
			t.Errorf("%s: %v %s", args, err, out)
		}
	}
	s.stop()
}

// TestIngestSaysWhatItWaitsFor: without a service on the bus, an ingest says what is missing, and ends when one runs.
func TestIngestSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	s.ready() // the bus has its streams
	s.stop()
	cmd, out := exec.Command(s.binary, "ingest", "--nats", b.url(), fileOf(t, article(1))), new(lockedBuffer)
	cmd.Stdout, cmd.Stderr = out, out
	testbed.OK(t, testbed.Start(cmd))
	s.eventually("it says so", func() bool { return strings.Contains(out.String(), "is a service running on this bus?") })
	s.start()
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "1 unique") {
		t.Errorf("%v %s", err, out)
	}
	s.stop()
}
