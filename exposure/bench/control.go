package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"
)

// ServeControl is the control of the latencies: the same way over HTTP as a filter's,
// and at the end of it work that waits for nothing, allocates nothing and always takes
// as many instructions. Requests are read to their end, worked on for as long as
// workHeader says, and answered with so many bytes. It writes its address to out, a
// line, and serves until ctx is done.
func ServeControl(ctx context.Context, out io.Writer, answer int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("bench: control: %w", err)
	}
	e := echo.New()
	blob := make([]byte, answer)
	buffers := sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}
	perMicro := turnsPerMicro()
	e.Any("/*", func(c echo.Context) error {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		for {
			if _, err := c.Request().Body.Read(*buf); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
		}
		if v := c.Request().Header.Get(workHeader); v != "" {
			micros, err := strconv.Atoi(v)
			if err != nil {
				return err
			}
			toil(int(float64(micros) * perMicro))
		}
		return c.Blob(http.StatusOK, echo.MIMEOctetStream, blob)
	})
	srv := &http.Server{Handler: e}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return errors.Join(fmt.Errorf("bench: control: %w", err), l.Close())
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("bench: control: %w", err)
	}
	return nil
}

// workHeader is how long the control works on a request, in microseconds.
const workHeader = "Work"

// toiled keeps the compiler from leaving out what is of no use to anyone.
var toiled atomic.Uint64

// toil works n turns.
func toil(n int) {
	x := uint64(1)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	toiled.Store(x)
}

// turnsPerMicro is how many turns fit a microsecond when nothing comes between: the
// most of many short tries.
func turnsPerMicro() (most float64) {
	const n = 100_000
	for range 50 {
		start := time.Now()
		toil(n)
		most = max(most, n/(float64(time.Since(start).Nanoseconds())/1000))
	}
	return most
}

// withWork are the same requests with some work for the control in their headers.
func withWork(next requests, micros int) requests {
	head := fmt.Appendf(nil, "%s: %d\r\n", workHeader, micros)
	var own []byte
	return func(n int, buf []byte) []byte {
		own = next(n, own)
		at := strings.Index(string(own[:min(len(own), 200)]), "\r\n") + 2
		return append(append(append(buf[:0], own[:at]...), head...), own[at:]...)
	}
}

// startControl starts it on the server's processor.
func (b *bench) startControl(answer int) (*server, error) {
	s := &server{child: child{cmd: b.Control(answer)}}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stderr = &s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startOn(s.cmd, b.cpu); err != nil {
		return nil, err
	}
	if s.addr, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		s.stop()
		return nil, fmt.Errorf("the control did not start: %w: %s", err, s.stderr.String())
	}
	s.addr = strings.TrimSpace(s.addr)
	return s, nil
}
