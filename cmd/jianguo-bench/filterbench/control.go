package filterbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/cmd/jianguo-bench/proc"
)

// ServeControl is the control of the latencies: a server with the same path over HTTP as
// a filter, and work that never waits, never allocates and always takes the same number
// of instructions. The work is the filter's kernel, because another tenant on the
// processor's second hyperthread slows vector code down and plain additions hardly at
// all. The control reads a request, works for the time in workHeader, and answers with
// so many bytes. It writes its address to out, a line, and serves until ctx is done.
func ServeControl(ctx context.Context, out io.Writer, answer int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("bench: control: %w", err)
	}
	e := echo.New()
	blob := make([]byte, answer)
	buffers := sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}
	// A small heap is collected many times a second, and the buffers with it.
	debug.SetGCPercent(2000)
	kernels := make(chan *innermost, connections) // one for each request in flight
	for range connections {
		k, err := newInnermost(5000, 100)
		if err != nil {
			return fmt.Errorf("bench: control: %w", err)
		}
		kernels <- k
	}
	k := <-kernels
	perMicro := turnsPerMicro(k)
	kernels <- k
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
			k := <-kernels
			toil(k, int(float64(micros)*perMicro))
			kernels <- k
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

// toil runs a kernel n times.
func toil(k *innermost, n int) {
	for range n {
		k.run()
	}
}

// turnsPerMicro is the number of kernel runs in an undisturbed microsecond: the most of
// many short trials.
func turnsPerMicro(k *innermost) (most float64) {
	const n = 200
	for range 50 {
		start := time.Now()
		toil(k, n)
		most = max(most, n/(float64(time.Since(start).Nanoseconds())/1000))
	}
	return most
}

// withWork adds a header to requests: the control works for so many microseconds.
func withWork(next requests, micros int) requests {
	head := fmt.Appendf(nil, "%s: %d\r\n", workHeader, micros)
	var own []byte
	return func(n int, buf []byte) []byte {
		own = next(n, own)
		at := strings.Index(string(own[:min(len(own), 200)]), "\r\n") + 2
		return append(append(append(buf[:0], own[:at]...), head...), own[at:]...)
	}
}

// startControl starts a control on the server's processor.
func (b *bench) startControl(answer int) (*server, error) {
	cmd := exec.CommandContext(b.ctx, b.Control[0], append(slices.Clone(b.Control[1:]), strconv.Itoa(answer))...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p, err := proc.Start(cmd, b.cpu)
	if err != nil {
		return nil, err
	}
	if p.Addr, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the control did not start: %w: %s", err, p.Stop())
	}
	p.Addr = strings.TrimSpace(p.Addr)
	return &server{Process: p}, nil
}
