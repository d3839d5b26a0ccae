package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/labstack/echo/v4"
)

// ServeNoop is the control of the latencies: the same way over HTTP as a filter's, and
// nothing at the end of it. Requests are read to their end and answered with so many
// bytes. It writes its address to out, a line, and serves until ctx is done.
func ServeNoop(ctx context.Context, out io.Writer, answer int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("bench: noop: %w", err)
	}
	e := echo.New()
	blob := make([]byte, answer)
	e.Any("/*", func(c echo.Context) error {
		if _, err := io.Copy(io.Discard, c.Request().Body); err != nil {
			return err
		}
		return c.Blob(http.StatusOK, echo.MIMEOctetStream, blob)
	})
	srv := &http.Server{Handler: e}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return errors.Join(fmt.Errorf("bench: noop: %w", err), l.Close())
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("bench: noop: %w", err)
	}
	return nil
}

// startNoop starts it on the server's processor.
func (b *bench) startNoop(answer int) (*server, error) {
	s := &server{child: child{cmd: b.Noop(answer)}}
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
