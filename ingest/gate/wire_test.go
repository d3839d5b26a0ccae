package gate

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// published reads what the gate publishes as a server would.
func published(t *testing.T, b []byte) (subject, reply string, header, data []byte) {
	t.Helper()
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	fields := strings.Fields(string(line))
	if !ok || len(fields) < 3 {
		t.Fatalf("%q", b)
	}
	var of, size int
	sizes := fields[len(fields)-1:]
	if fields[0] == "HPUB" {
		sizes = fields[len(fields)-2:]
		if _, err := fmt.Sscan(sizes[0], &of); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fmt.Sscan(sizes[len(sizes)-1], &size); err != nil || of > size || len(rest) != size+2 || !bytes.HasSuffix(rest, []byte("\r\n")) {
		t.Fatalf("sizes %v of %q: %v", sizes, b, err)
	}
	if len(fields) == 3+len(sizes) {
		reply = fields[2]
	}
	return fields[1], reply, rest[:of], rest[of:size]
}

// FuzzMessage: whatever headers somebody sends, a message goes on as it came, and
// in a batch with the batch's headers behind its own, as a client reads them.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("NATS/1.0\r\nColour: red\r\nColour: green\r\n\r\n"), []byte("x"))
	f.Add([]byte("NATS/1.0\r\nNats-Msg-Id: 7\r\n\r\n"), []byte(""))
	f.Add([]byte("NATS/1.0\r\nnats-expected-last-sequence: 7\r\n\r\n"), []byte("\r\n"))
	f.Add([]byte("NATS/1.0 503\r\n\r\n"), []byte(""))
	f.Add([]byte("NATS/1.0\r\n\r\n"), []byte("x"))
	f.Add([]byte(""), []byte("x"))
	f.Add([]byte("NATS/1.0\r\nA: b\r\n\r\nNats-Batch-Id: x\r\n\r\n"), []byte("x"))
	f.Fuzz(func(t *testing.T, header, data []byte) {
		m := newMessage(&frame{subject: Prefix + "s.a", reply: "r", header: len(header), body: slices.Concat(header, data)})
		subject, reply, h, d := published(t, m.appendAs(nil, "out.", m.reply))
		if subject != "out.s.a" || reply != "r" || !bytes.Equal(h, header) || !bytes.Equal(d, data) {
			t.Fatalf("%q %q %q %q", subject, reply, h, d)
		}
		if m.alone {
			return
		}
		for _, last := range []bool{false, true} {
			subject, reply, h, d = published(t, m.appendInBatch(nil, "out.", "", "batch", 12, last))
			if subject != "out.s.a" || reply != "" || !bytes.Equal(d, data) {
				t.Fatalf("%q %q %q", subject, reply, d)
			}
			if front := bytes.TrimSuffix(header, []byte("\r\n")); !bytes.HasPrefix(h, front) {
				t.Fatalf("%q does not begin with %q", h, front)
			}
			got, err := nats.DecodeHeadersMsg(h)
			own, ownErr := nats.DecodeHeadersMsg(header)
			if len(header) == 0 {
				own, ownErr = nats.Header{}, nil
			}
			if err != nil || ownErr != nil {
				continue // it is not for a client to read, and went on as it was
			}
			want := map[string][]string{"Nats-Batch-Id": {"batch"}, "Nats-Batch-Sequence": {"12"}}
			if last {
				want["Nats-Batch-Commit"] = []string{"1"}
			}
			for k, v := range want {
				if !slices.Equal(got[k], v) || own[k] != nil {
					t.Fatalf("%s is %q, and was %q: %q", k, got[k], own[k], h)
				}
			}
			for k, v := range own {
				if !slices.Equal(got[k], v) {
					t.Fatalf("%s was %q and is %q", k, v, got[k])
				}
			}
			if id := own.Get("Nats-Msg-Id"); id != m.id {
				t.Fatalf("id %q was read as %q", id, m.id)
			}
		}
	})
}

// FuzzRead: whatever comes from the bus is read or refused, and takes no more
// memory than it has bytes.
func FuzzRead(f *testing.F) {
	f.Add([]byte("MSG _gate.in.s.a 2 3\r\nabc\r\nHMSG _gate.in.s.a 2 _INBOX.x 12 15\r\nNATS/1.0\r\n\r\nabc\r\nPING\r\nPONG\r\nINFO {}\r\n-ERR 'x'\r\n"))
	f.Add([]byte("HMSG x 1 9 3\r\n"))
	f.Add([]byte("MSG x 1 99999999999999999999\r\n"))
	f.Add([]byte("MSG x 1 -3\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l := &link{read: bufio.NewReader(bytes.NewReader(in)), ended: make(chan struct{})}
		l.changed.L = &l.mu
		got := 0
		for l.err == nil {
			l.err = l.readOne(func(_ *link, f *frame) {
				got += len(f.body)
				if f.header > len(f.body) || strings.ContainsAny(f.subject+f.reply, " \r\n") || f.subject == "" {
					t.Fatalf("%+v", f)
				}
				if strings.HasPrefix(f.subject, Prefix) {
					newMessage(f)
				}
				f.noResponders()
			})
		}
		if got > len(in) {
			t.Fatalf("%d bytes of messages in %d", got, len(in))
		}
	})
}

// What may go on together is bounded, keeps the order, and has no id twice.
func TestTogether(t *testing.T) {
	plain, one, two := message{body: make([]byte, 10)}, message{id: "1"}, message{id: "2"}
	alone, big := message{alone: true, id: "1"}, message{body: make([]byte, large)}
	many := slices.Repeat([]message{plain}, maxBatch+1)
	for _, c := range []struct {
		held []message
		want int
	}{
		{[]message{plain}, 1},
		{[]message{plain, one, two, plain}, 4},
		{[]message{plain, one, two, one}, 3},
		{[]message{plain, alone}, 1},
		{[]message{alone, alone, plain}, 2},
		{many, maxBatch},
		{slices.Repeat([]message{big}, 9), batchBytes / large},
	} {
		if got := together(c.held); got != c.want {
			t.Errorf("%d messages: %d, not %d", len(c.held), got, c.want)
		}
	}
}
