package gate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
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

// FuzzMessage: a message with any headers is passed on unchanged.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("NATS/1.0\r\nColour: red\r\nColour: green\r\n\r\n"), []byte("x"))
	f.Add([]byte("NATS/1.0\r\nnats-expected-last-sequence: 7\r\n\r\n"), []byte("\r\n"))
	f.Add([]byte("NATS/1.0 503\r\n\r\n"), []byte(""))
	f.Add([]byte(""), []byte("x"))
	f.Fuzz(func(t *testing.T, header, data []byte) {
		for _, to := range []string{"", "r"} {
			subject, reply, h, d := published(t, appendMessage(nil, "out.s.a", to, len(header), slices.Concat(header, data)))
			if subject != "out.s.a" || reply != to || !bytes.Equal(h, header) || !bytes.Equal(d, data) {
				t.Fatalf("%q %q %q %q", subject, reply, h, d)
			}
		}
	})
}

// FuzzAnswer: what the fast way makes of an answer is what JSON says.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"stream":"S","seq":12}`, `{"stream":"S","seq":0}`, `{"stream":"S","seq":}`, `{"stream":"S","seq":12,"duplicate":true}`,
		`{"stream":"S","seq":7,"batch":"b","count":3}`, `{"error":{"code":503},"stream":"S","seq":0}`, `{"stream":"S","seq":99999999999999999999}`, ``, `{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var ack struct {
			Error     json.RawMessage
			Seq       uint64
			Duplicate bool
		}
		want := kept
		switch err := json.Unmarshal(body, &ack); {
		case err != nil || ack.Error != nil:
			ack.Seq, want = 0, refused
		case ack.Duplicate:
			want = duplicate
		}
		if seq, got := (&answer{body: body}).sequence(); got != want || seq != ack.Seq {
			t.Fatalf("%q: %d, %d, and JSON says %d, %d", body, seq, got, ack.Seq, want)
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
			})
		}
		if got > len(in) {
			t.Fatalf("%d bytes of messages in %d", got, len(in))
		}
	})
}
