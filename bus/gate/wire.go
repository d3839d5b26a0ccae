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

// The gate speaks the client protocol of NATS itself. nats.go parses headers and writes
// them again, where a gate passes them on byte for byte; it delivers each subscription in
// a goroutine of its own, which loses the order over several subjects; and it drops
// messages when a queue is full, where a gate answers.

// frame is a message as the bus delivers it.
type frame struct {
	subject, reply string
	header         int    // bytes of body before the payload; 0: no headers
	body           []byte // headers and payload
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

// headerVersion begins headers.
const headerVersion = "NATS/1.0\r\n"

// maxSubjects bounds the two subjects of what is published. The bus ends a connection
// that sends a longer line than 4,096 bytes.
const maxSubjects = 4000

// appendMessage appends the publication of a message, the first head bytes of which
// are its headers.
func appendMessage(dst []byte, subject, reply string, head int, body []byte) []byte {
	if head == 0 {
		dst = append(dst, "PUB "...)
	} else {
		dst = append(dst, "HPUB "...)
	}
	dst = append(append(dst, subject...), ' ')
	if reply != "" {
		dst = append(append(dst, reply...), ' ')
	}
	if head > 0 {
		dst = append(strconv.AppendInt(dst, int64(head), 10), ' ')
	}
	dst = append(strconv.AppendInt(dst, int64(len(body)), 10), "\r\n"...)
	return append(append(dst, body...), "\r\n"...)
}

// link is one connection to the bus. Reading never waits for writing: otherwise each end
// could wait for the other.
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

// write queues bytes for the connection. It does not wait.
func (l *link) write(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = append(l.out, b...)
	l.changed.Broadcast()
}

// publish queues a message, unless the bus has too much left to read.
func (l *link) publish(subject, reply string, head int, body []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.out) > maxUnread {
		return false
	}
	l.out = appendMessage(l.out, subject, reply, head, body)
	l.changed.Broadcast()
	return true
}

// refuse answers a publisher, unless so much waits that the answer would come too late.
func (l *link) refuse(reply string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reply != "" && len(l.out) < 2*maxUnread {
		l.out = appendMessage(l.out, reply, "", 0, data)
		l.changed.Broadcast()
	}
}

// unsubscribe ends all but the acknowledgements.
func (l *link) unsubscribe() {
	for i := range l.subs {
		l.write(fmt.Appendf(nil, "UNSUB %d\r\n", i+2))
	}
}

// flush returns once the bus has read everything written, and what it sent before
// has been received; false if that took too long or the connection ended.
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

// maxSpare is the largest buffer that is kept for reuse.
const maxSpare = 8 << 20

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
			l.close() // readAll reports the end
			return
		}
		if spare = b; cap(spare) > maxSpare {
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
