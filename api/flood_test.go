package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"jianguo/exposure"
	"jianguo/internal/testbed"
)

// TestFloodOfFilters has more filters arrive at once than may be admitted. They only
// compute: unless each lets the others in before it works, one after the other is done
// and none refused, however long the last has waited by then.
func TestFloodOfFilters(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := newService(t, testConfig{exposure: &exposure.Config{}, api: func(c *Config) { c.Concurrency = 40 }})
	const clients = 400
	body := `{"user":"u","items":["a","b"]}`
	request := fmt.Appendf(nil, "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	var conns []*net.TCPConn
	for range clients {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		testbed.OK(t, err)
		defer conn.Close()
		conns = append(conns, conn.(*net.TCPConn))
	}
	eventually(t, "all are connected", func() bool {
		r.server.conns.mu.Lock()
		defer r.server.conns.mu.Unlock()
		return len(r.server.conns.all) >= clients
	})
	for _, conn := range conns {
		raw, err := conn.SyscallConn()
		testbed.OK(t, err)
		var errno syscall.Errno
		if err := raw.Control(func(fd uintptr) {
			// A call that the scheduler does not see: the only processor stays here, and
			// no request is answered until all have been sent.
			_, _, errno = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&request[0])), uintptr(len(request)))
		}); err != nil || errno != 0 {
			t.Fatal(err, errno)
		}
	}
	got := map[int]int{}
	for _, conn := range conns {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		testbed.OK(t, err)
		got[res.StatusCode]++
		if res.StatusCode == http.StatusTooManyRequests && (res.Header.Get("Retry-After") == "" || res.Header.Get("Content-Type") != problemType) {
			t.Errorf("refused with %v", res.Header)
		}
	}
	if got[200] < 40 || got[429] == 0 || got[200]+got[429] != clients {
		t.Errorf("%d filters at once: %v", clients, got)
	}
	want[map[string]any](r, 200, "POST", "/filter", body)
}

// TestRefusedBody: what a refused client sends is received and discarded, and its
// connection serves its next request.
func TestRefusedBody(t *testing.T) {
	r := newService(t, testConfig{exposure: &exposure.Config{}, api: func(c *Config) { c.Concurrency = 1 }})
	testbed.OK(t, r.server.filters.enter())
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	testbed.OK(t, err)
	defer conn.Close()
	answers := bufio.NewReader(conn)
	body := `{"user":"u","items":["` + strings.Repeat("a", 200) + strings.Repeat(`","bbbbbbbbbbbbbbbbbbbb`, 15_000) + `"]}`
	for _, status := range []int{429, 200} {
		if _, err := fmt.Fprintf(conn, "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		testbed.OK(t, err)
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status {
			t.Fatalf("%d %.200s %v, want %d", res.StatusCode, answer, err, status)
		}
		if status == 429 {
			r.server.filters.leave()
		}
	}
}
