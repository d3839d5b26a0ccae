package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/exposure/eventlog"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

var streamNames = []string{bus.StreamItems, bus.StreamVerdicts, bus.StreamDead, eventlog.StreamName}

// publish publishes an article and waits for its verdict.
func (s *process) publish(n int) {
	s.t.Helper()
	if status, answer, err := s.post("/items", article(n)); status != 200 {
		s.t.Fatalf("item %d: %d %s %v\n%s", n, status, answer, err, s.log)
	}
}

// numbers waits until VERDICTS holds events up to a number, and returns the numbers of all in
// their order; 0 is a message that is no event.
func (s *process) numbers(js jetstream.JetStream, last uint64) (numbers []uint64) {
	s.t.Helper()
	s.eventually(fmt.Sprint("event ", last, " is published"), func() bool {
		stream, err := js.Stream(s.t.Context(), bus.StreamVerdicts)
		if err != nil {
			return false
		}
		numbers = nil
		state := stream.CachedInfo().State
		for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
			m, err := stream.GetMsg(s.t.Context(), seq)
			if err != nil {
				return false
			}
			numbers = append(numbers, ingest.EventNumber(m.Header, m.Data))
		}
		return len(numbers) > 0 && numbers[len(numbers)-1] == last
	})
	return numbers
}

// The service leaves the stream of another application alone, whatever its name, and uses other
// names if told to. It takes over its own streams of a version that did not mark them.
func TestStreamsOfOthers(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	js := b.streams()
	others, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: bus.StreamItems, Subjects: []string{"shop.items"}})
	testbed.OK(t, err)
	if _, err := js.Publish(t.Context(), "shop.items", []byte("a chair")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	fails(t, binary(t), "belongs to another application (its subjects: shop.items): choose other names with --stream-prefix",
		"serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats", b.url())
	s := serveReady(t, binary(t), dir, "--nats", b.url(), "--stream-prefix", "NEWS_")
	s.publish(1)
	for _, name := range streamNames {
		if st, err := js.Stream(t.Context(), "NEWS_"+name); err != nil || st.CachedInfo().Config.Metadata["application"] != "jianguo" {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Commands find the streams of a directory in use.
	does(t, s.binary, "", "ingest", "--data", dir, "--verdicts", filepath.Join(t.TempDir(), "verdicts"), fileOf(t, article(2), article(3)))
	does(t, s.binary, "", "dead", "list", "--data", dir)
	does(t, s.binary, "", "backup", "--data", dir, filepath.Join(t.TempDir(), "copy"))
	s.stop()
	info, err := others.Info(t.Context())
	if err != nil || !slices.Equal(info.Config.Subjects, []string{"shop.items"}) || info.State.Msgs != 1 || len(info.Config.Metadata["application"]) > 0 {
		t.Errorf("the stream of another: %+v %v", info, err)
	}
}

// TestOverlap: a stream of another application that has the service's subjects, and acknowledges its requests, is what
// the start names.
func TestOverlap(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	if _, err := b.streams().CreateStream(t.Context(), jetstream.StreamConfig{Name: "SHOP", Subjects: []string{"items.>"}}); err != nil {
		t.Fatal(err)
	}
	fails(t, binary(t), "the bus has a stream SHOP for some of its subjects (items.>): give the service an account of its own",
		"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--nats", b.url())
	fails(t, binary(t), `what answers on this bus is no service: {"stream":"SHOP"`, "check", "--nats", b.url(), fileOf(t, article(1)))
}

// TestIngestWithoutService: an ingest on a bus where no service has ever run says so. Where one has, see
// TestIngestSaysWhatItWaitsFor.
func TestIngestWithoutService(t *testing.T) {
	t.Parallel()
	fails(t, binary(t), "the bus has no stream of items, which a service makes", "ingest", "--nats", startBroker(t, nil).url(), fileOf(t, article(1)))
}

// TestForeignStreams: a stream of another application with a name of ours, or with subjects of one that is made late, is
// what start and commands name. They leave the bus as it is.
func TestForeignStreams(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	js, data := b.streams(), filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		name, subject, says string
		command             []string
	}{
		{"DEAD", "shop.dead", "stream DEAD: the bus has a stream of this name that belongs to another application (its subjects: shop.dead)",
			[]string{"dead", "drop", "--all"}},
		{"EXPOSURES", "exposures.seen.*", "stream EXPOSURES: the bus has a stream of this name that belongs to another application (its subjects: exposures.seen.*)",
			[]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}},
		{"SHOP", "exposures.seen.*", "stream EXPOSURES: the bus has a stream SHOP for some of its subjects (exposures.seen.*)",
			[]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}},
	} {
		stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: c.name, Subjects: []string{c.subject}})
		if err == nil {
			_, err = js.Publish(t.Context(), strings.ReplaceAll(c.subject, "*", "0"), []byte("a chair"))
		}
		testbed.OK(t, err)
		fails(t, binary(t), c.says, append(c.command, "--nats", b.url())...)
		if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs != 1 {
			t.Errorf("%v: the stream of another: %+v %v", c.command, info, err)
		}
		for name := range js.StreamNames(t.Context()).Name() {
			if name != c.name {
				t.Errorf("%v made %s", c.command, name)
			}
		}
		testbed.OK(t, js.DeleteStream(t.Context(), c.name))
	}
}

// Streams that are deleted while the service runs are created again, on an external bus and, by
// an operator, on the embedded one. What the service has taken is kept.
func TestStreamsDeleted(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	d := &deleting{process: serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url(), "--exposure-flush", "1h"), js: b.streams()}
	d.run()
	// A bus that lost everything.
	b.stop()
	testbed.OK(t, os.RemoveAll(b.options.StoreDir))
	b.start()
	d.js = b.streams()
	d.eventually("all streams are there again", func() bool {
		for _, name := range streamNames {
			if _, err := d.js.Stream(t.Context(), name); err != nil {
				return false
			}
		}
		return d.status("/readyz") == 200
	})
	d.check()
	d.stop()
}

func TestEmbeddedStreamsDeleted(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--exposure-flush", "1h")
	js := s.jetstream()
	d := &deleting{process: s, js: js}
	d.run()
	d.stop()
}

// deleting is a service whose streams are deleted.
type deleting struct {
	*process
	js   jetstream.JetStream
	last int // article published, and seen by u
}

func (d *deleting) run() {
	d.t.Helper()
	d.ready()
	d.check()
	for _, names := range [][]string{{bus.StreamItems, bus.StreamDead}, {eventlog.StreamName, bus.StreamVerdicts}} {
		deleted := time.Now()
		for _, name := range names {
			testbed.OK(d.t, d.js.DeleteStream(d.t.Context(), name))
		}
		d.eventually("another "+names[0], func() bool {
			stream, err := d.js.Stream(d.t.Context(), names[0])
			return err == nil && stream.CachedInfo().Created.After(deleted)
		})
		d.ready()
		d.check()
	}
}

// check adds an article and a report, and checks that all events and reports are there.
func (d *deleting) check() {
	d.t.Helper()
	d.last++
	d.publish(d.last)
	d.ask("/exposures", fmt.Sprintf(`{"user":"u","kind":"seen","items":["n%d"]}`, d.last), nil)
	var answer struct{ Items []string }
	d.ask("/filter", `{"user":"u","items":["n1","n2","n3","n4","n5","new"]}`, &answer)
	if len(answer.Items) != 6-d.last {
		d.t.Errorf("after %d: %q", d.last, answer.Items)
	}
	if numbers := d.numbers(d.js, uint64(d.last)); len(numbers) != d.last {
		d.t.Errorf("events: %v", numbers)
	}
}

// The service is ready only while the bus would take an item and a report.
func TestReadyToTake(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	js := b.streams()
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	for _, name := range []string{bus.StreamItems, eventlog.StreamName} {
		stream, err := js.Stream(t.Context(), name)
		testbed.OK(t, err)
		small := stream.CachedInfo().Config
		small.MaxBytes = 512
		if _, err := js.UpdateStream(t.Context(), small); err != nil {
			t.Fatal(err)
		}
		s.eventually(name+" is full", func() bool {
			_, answer, _ := s.get("/readyz")
			return strings.Contains(string(answer), "stream "+name+" is full")
		})
		if _, err := js.UpdateStream(t.Context(), stream.CachedInfo().Config); err != nil {
			t.Fatal(err)
		}
		s.ready()
	}
	b.frozen.Lock()
	s.eventually("not ready while the bus does not answer", func() bool { return s.status("/readyz") == 503 })
	b.frozen.Unlock()
	s.ready()
	s.publish(1)
	s.stop()
}

// A client of an external bus makes JetStream answer on a subject of VERDICTS. The message
// takes the sequence of an event, and the event gets out all the same.
func TestForeignVerdict(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil)
	js := b.streams()
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", b.url())
	s.publish(1)
	s.numbers(js, 1)
	intrude := func(n int) {
		t.Helper()
		msg := &nats.Msg{Subject: bus.SubjectPublish, Reply: bus.SubjectVerdicts + "unique", Data: article(n)}
		testbed.OK(t, js.Conn().PublishMsg(msg))
		s.eventually("the verdict of the intruder's item", func() bool { return s.status(fmt.Sprint("/items/n", n)) == 200 })
	}
	intrude(2)
	s.publish(3)
	if numbers := s.numbers(js, 3); !slices.Equal(slices.DeleteFunc(slices.Clone(numbers), func(n uint64) bool { return n == 0 }), []uint64{1, 2, 3}) || len(numbers) != 4 {
		t.Errorf("events: %v", numbers)
	}
	if _, metrics, _ := s.get("/metrics"); !strings.Contains(string(metrics), "jianguo_ingest_foreign_messages_total 1\n") || !strings.Contains(s.log.String(), "is no event") {
		t.Errorf("unnoticed: %s", s.log)
	}
	s.stop()
	s.start()
	s.ready()
	s.publish(4)
	s.numbers(js, 4)
	// Even where nothing in the stream says any more how far it was.
	s.stop()
	stream, err := js.Stream(t.Context(), bus.StreamVerdicts)
	testbed.OK(t, err)
	testbed.OK(t, stream.Purge(t.Context()))
	s.start()
	s.ready()
	s.publish(5)
	if numbers := s.numbers(js, 5); !slices.Equal(numbers, []uint64{5}) {
		t.Errorf("after a purge: %v", numbers)
	}
	s.stop()
}
