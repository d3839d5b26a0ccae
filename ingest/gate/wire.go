package gate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// The gate speaks the client protocol of NATS itself: headers must go on byte
// for byte, and nothing must wait without a bound or be dropped unseen.

// frame is a message as the bus delivers it.
type frame struct {
	subject, reply string
	header         int    // bytes of body before the payload; 0: no headers
	body           []byte // headers and payload
}

// noResponders says that nobody listens where something was asked.
func (f *frame) noResponders() bool {
	return f.header == len(f.body) && bytes.HasPrefix(f.body, []byte("NATS/1.0 503"))
}

// Bounds of what is read: a line, and a message.
const (
	maxLine = 64 << 10
	maxBody = 64 << 20
)

var errProtocol = errors.New("not the protocol of NATS")

// parseControl reads the line before a message, without its end: what follows
// MSG or HMSG. size is how long the body is.
func parseControl(args []byte, headers bool) (f frame, size int, err error) {
	fields := bytes.Fields(args)
	sizes := 1
	if headers {
		sizes = 2
	}
	if n := len(fields); n != 2+sizes && n != 3+sizes {
		return f, 0, fmt.Errorf("%w: %d fields before a message", errProtocol, n)
	}
	if f.subject = string(fields[0]); len(fields) == 3+sizes {
		f.reply = string(fields[2])
	}
	if size, err = parseSize(fields[len(fields)-1]); err == nil && headers {
		f.header, err = parseSize(fields[len(fields)-2])
	}
	if err == nil && f.header > size {
		err = fmt.Errorf("%w: %d bytes of headers in %d", errProtocol, f.header, size)
	}
	return f, size, err
}

// parseSize reads a number of bytes.
func parseSize(digits []byte) (int, error) {
	n := 0
	for _, d := range digits {
		if n = 10*n + int(d-'0'); d < '0' || d > '9' || n > maxBody {
			return 0, fmt.Errorf("%w: a message of %q bytes", errProtocol, digits)
		}
	}
	return n, nil
}

// message is what somebody published.
type message struct {
	subject, reply string
	header         int
	body           []byte
	id             string // Nats-Msg-Id
	alone          bool   // it goes on as it is
}

func newMessage(f *frame) message {
	m := message{subject: f.subject[len(Prefix):], reply: f.reply, header: f.header, body: f.body}
	m.id, m.alone = inspect(f.body[:f.header])
	m.alone = m.alone || len(f.body) > large
	return m
}

// large messages go alone: with the headers of a batch they might be more than
// the bus takes.
const large = 1 << 20

// headerVersion begins headers.
const headerVersion = "NATS/1.0\r\n"

// inspect returns the Nats-Msg-Id of headers, and whether there is something in
// them that a batch would change the meaning of: another header of the server's
// own, or a form that cannot be added to.
func inspect(header []byte) (id string, alone bool) {
	if len(header) == 0 {
		return "", false
	}
	lines, ok := bytes.CutPrefix(header, []byte(headerVersion))
	if !ok || !bytes.HasSuffix(header, []byte("\r\n\r\n")) {
		return "", true
	}
	for len(lines) > 0 {
		line, rest, _ := bytes.Cut(lines, []byte("\r\n"))
		lines = rest
		if len(line) == 0 && len(rest) == 0 {
			break
		}
		if bytes.IndexByte(line, ':') <= 0 || bytes.ContainsAny(line, "\r\n") || line[0] == ' ' || line[0] == '\t' {
			return "", true
		}
		if len(line) < 5 || !bytes.EqualFold(line[:5], []byte("Nats-")) {
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("Nats-Msg-Id:"))
		if !ok || id != "" {
			return "", true
		}
		if id = string(bytes.TrimSpace(value)); id == "" {
			return "", true
		}
	}
	return id, false
}

// appendPub appends the publication of a payload without headers.
func appendPub(dst []byte, subject string, data []byte) []byte {
	dst = append(append(append(dst, "PUB "...), subject...), ' ')
	dst = append(strconv.AppendInt(dst, int64(len(data)), 10), "\r\n"...)
	return append(append(dst, data...), "\r\n"...)
}

// appendAs appends the publication of a message as it is.
func (m *message) appendAs(dst []byte, before, reply string) []byte {
	if m.header == 0 {
		dst = append(dst, "PUB "...)
	} else {
		dst = append(dst, 'H', 'P', 'U', 'B', ' ')
	}
	dst = m.appendTo(dst, before, reply)
	if m.header > 0 {
		dst = append(strconv.AppendInt(dst, int64(m.header), 10), ' ')
	}
	dst = append(strconv.AppendInt(dst, int64(len(m.body)), 10), "\r\n"...)
	return append(append(dst, m.body...), "\r\n"...)
}

func (m *message) appendTo(dst []byte, before, reply string) []byte {
	dst = append(append(append(dst, before...), m.subject...), ' ')
	if reply != "" {
		dst = append(append(dst, reply...), ' ')
	}
	return dst
}

// appendInBatch appends the publication of a message as the nth of a batch.
func (m *message) appendInBatch(dst []byte, before, reply, batch string, n int, last bool) []byte {
	const id, sequence, commit = "Nats-Batch-Id: ", "\r\nNats-Batch-Sequence: ", "\r\nNats-Batch-Commit: 1"
	header := []byte(headerVersion)
	if m.header > 0 {
		header = m.body[:m.header-len("\r\n")]
	}
	var digits [8]byte
	number := strconv.AppendInt(digits[:0], int64(n), 10)
	size := len(header) + len(id) + len(batch) + len(sequence) + len(number) + len("\r\n\r\n")
	if last {
		size += len(commit)
	}
	dst = m.appendTo(append(dst, "HPUB "...), before, reply)
	dst = append(strconv.AppendInt(dst, int64(size), 10), ' ')
	dst = append(strconv.AppendInt(dst, int64(size+len(m.body)-m.header), 10), "\r\n"...)
	dst = append(append(append(dst, header...), id...), batch...)
	dst = append(append(dst, sequence...), number...)
	if last {
		dst = append(dst, commit...)
	}
	dst = append(dst, "\r\n\r\n"...)
	return append(append(dst, m.body[m.header:]...), "\r\n"...)
}

// link is one connection to the bus. Reading never waits for writing: each end
// would wait for the other.
type link struct {
	conn  net.Conn
	read  *bufio.Reader
	subs  int // subscriptions after the first, which is for acknowledgements
	ended chan struct{}
	err   error // why it ended; set before ended is closed

	mu      sync.Mutex
	changed sync.Cond       // of mu
	out     []byte          // to be written; under mu
	closed  bool            // under mu
	pongs   []chan struct{} // of pings on their way, in order; under mu
}

// openLink greets the bus, subscribes, and begins to read.
func openLink(conn net.Conn, name, secret string, subjects []string, receive func(*link, *frame)) (*link, error) {
	l := &link{conn: conn, read: bufio.NewReaderSize(conn, maxLine), subs: len(subjects) - 1, ended: make(chan struct{})}
	l.changed.L = &l.mu
	late := time.NewTimer(greetPatience)
	defer late.Stop()
	if err := conn.SetDeadline(time.Now().Add(greetPatience)); err != nil {
		conn.Close()
		return nil, err
	}
	if line, err := l.line(); err != nil || !bytes.HasPrefix(line, []byte("INFO ")) {
		conn.Close()
		return nil, fmt.Errorf("%w: it began with %q: %w", errProtocol, line, err)
	}
	hello, err := json.Marshal(map[string]any{"name": name, "lang": "go", "version": "1", "protocol": 1, "verbose": false, "pedantic": false,
		"headers": true, "no_responders": true, "echo": false, "auth_token": secret})
	if err != nil {
		conn.Close()
		return nil, err
	}
	l.out = fmt.Appendf(nil, "CONNECT %s\r\n", hello)
	for i, s := range subjects {
		l.out = fmt.Appendf(l.out, "SUB %s %d\r\n", s, i+1)
	}
	go l.writeAll()
	go l.readAll(receive)
	if !l.flush(late.C) {
		l.close()
		<-l.ended
		return nil, fmt.Errorf("no answer to a greeting: %w", l.err)
	}
	return l, conn.SetDeadline(time.Time{})
}

const greetPatience = 10 * time.Second

// write hands bytes to the connection. It does not wait.
func (l *link) write(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = append(l.out, b...)
	l.changed.Broadcast()
}

// refuse answers somebody, unless so much is to be written that nobody would
// read it in time.
func (l *link) refuse(reply string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reply != "" && len(l.out) < 2*batchBytes {
		l.out = appendPub(l.out, reply, data)
		l.changed.Broadcast()
	}
}

// unsubscribe ends all but the acknowledgements.
func (l *link) unsubscribe() {
	for i := range l.subs {
		l.write(fmt.Appendf(nil, "UNSUB %d\r\n", i+2))
	}
}

// flush returns once the bus has taken everything written, and what it sent
// before has been received; false if it took too long or the connection ended.
func (l *link) flush(late <-chan time.Time) bool {
	pong := make(chan struct{})
	l.mu.Lock()
	l.pongs = append(l.pongs, pong)
	l.out = append(l.out, "PING\r\n"...)
	l.changed.Broadcast()
	l.mu.Unlock()
	select {
	case <-pong:
		return true
	case <-l.ended:
	case <-late:
	}
	return false
}

func (l *link) writeAll() {
	var spare []byte
	for {
		l.mu.Lock()
		for len(l.out) == 0 && !l.closed {
			l.changed.Wait()
		}
		if l.closed {
			l.mu.Unlock()
			return
		}
		b := l.out
		l.out = spare[:0]
		l.mu.Unlock()
		if _, err := l.conn.Write(b); err != nil {
			l.close() // who reads will say so
			return
		}
		if spare = b; cap(spare) > 2*batchBytes {
			spare = nil
		}
	}
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	l.conn.Close()
}

// wait returns when the connection has ended.
func (l *link) wait() error {
	<-l.ended
	return l.err
}

func (l *link) readAll(receive func(*link, *frame)) {
	for l.err == nil {
		l.err = l.readOne(receive)
	}
	l.close()
	close(l.ended)
}

func (l *link) readOne(receive func(*link, *frame)) error {
	line, err := l.line()
	if err != nil {
		return err
	}
	op, args, _ := bytes.Cut(line, []byte(" "))
	switch {
	case bytes.EqualFold(op, []byte("MSG")), bytes.EqualFold(op, []byte("HMSG")):
		f, size, err := parseControl(args, len(op) == 4)
		if err != nil {
			return err
		}
		f.body = make([]byte, size+2)
		if _, err := io.ReadFull(l.read, f.body); err != nil {
			return err
		}
		if !bytes.HasSuffix(f.body, []byte("\r\n")) {
			return fmt.Errorf("%w: a message without an end", errProtocol)
		}
		f.body = f.body[:size]
		receive(l, &f)
	case bytes.EqualFold(op, []byte("PING")):
		l.write([]byte("PONG\r\n"))
	case bytes.EqualFold(op, []byte("PONG")):
		l.mu.Lock()
		if len(l.pongs) > 0 {
			close(l.pongs[0])
			l.pongs = l.pongs[1:]
		}
		l.mu.Unlock()
	case bytes.EqualFold(op, []byte("INFO")), bytes.EqualFold(op, []byte("+OK")):
	case bytes.EqualFold(op, []byte("-ERR")):
		return fmt.Errorf("the bus says %s", args)
	default:
		return fmt.Errorf("%w: %.40q", errProtocol, line)
	}
	return nil
}

// line reads a line and returns it without its end; it is valid until the next
// read.
func (l *link) line() ([]byte, error) {
	line, err := l.read.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
