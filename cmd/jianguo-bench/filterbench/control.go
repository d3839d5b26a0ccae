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

// ServeControl is the control of the latencies: the same way over HTTP as a filter's,
// and at the end of it work that waits for nothing, allocates nothing and always takes
// as many instructions, of the kind a filter's work consists of: a neighbour on the
// processor's other thread, which no virtual machine is told of, takes vector units
// from both, where a plain chain of additions would not notice him. Requests are read
// to their end, worked on for as long as workHeader says, and answered with so many
// bytes. It writes its address to out, a line, and serves until ctx is done.
func ServeControl(ctx context.Context, out io.Writer, answer int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("bench: control: %w", err)
	}
	e := echo.New()
	blob := make([]byte, answer)
	buffers := sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}
	// Its heap is small, and would be collected, and the buffers with it, many times a
	// second.
	debug.SetGCPercent(2000)
	kernels := make(chan *innermost, connections) // one each for those working
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

// turnsPerMicro is how many turns fit a microsecond when nothing comes between: the
// most of many short tries.
func turnsPerMicro(k *innermost) (most float64) {
	const n = 200
	for range 50 {
		start := time.Now()
		toil(k, n)
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
