// Command go is a client of the exposure API with nothing but the standard library:
//
//	go run ./examples/go URL USER [TOKEN]
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

type client struct {
	http       http.Client
	url, token string
}

func (c *client) post(path, contentType, accept string, body []byte) ([]byte, error) {
	req, err := http.NewRequest(http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Content-Type": {contentType}, "Accept": {accept}, "Authorization": {"Bearer " + c.token}}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 { // a problem, RFC 9457
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return answer, err
}

func (c *client) postJSON(path string, body map[string]any) ([]byte, error) {
	b, _ := json.Marshal(body) // strings always marshal
	return c.post(path, "application/json", "application/json", b)
}

// report returns when the items are durable and the next filter knows them.
func (c *client) report(user, kind string, items ...string) error {
	_, err := c.postJSON("/exposures", map[string]any{"user": user, "kind": kind, "items": items})
	return err
}

// filter asks in JSON: {"items":[...],"dropped":n}.
func (c *client) filter(user string, items ...string) ([]byte, error) {
	return c.postJSON("/filter", map[string]any{"user": user, "items": items})
}

// filterPacked is the cheap way for numeric ids: packed request, bitmap answer.
func (c *client) filterPacked(user string, ids ...int64) (unseen []int64, err error) {
	le := binary.LittleEndian
	b := append([]byte("JGF1"), 1, 0)         // int64 ids, no flags
	b = le.AppendUint16(b, uint16(len(user))) // then lengths of scene and nothing
	b = append(b, 0, 0, 0, 0)
	b = le.AppendUint32(b, uint32(len(ids))) // then max, at_least, deadline_ms
	b = append(b, make([]byte, 12)...)
	b = append(b, user...)
	for _, id := range ids {
		b = le.AppendUint64(b, uint64(id))
	}
	bitmap, err := c.post("/filter", "application/x-jianguo-packed", "application/octet-stream", b)
	for i, id := range ids {
		if err == nil && bitmap[i/8]>>(i%8)&1 != 0 {
			unseen = append(unseen, id)
		}
	}
	return unseen, err
}

func run(args []string) error {
	c := &client{http: http.Client{Timeout: 5 * time.Second}, url: args[0], token: strings.Join(args[2:], "")}
	if err := c.report(args[1], "seen", "1001", "1003", "café/中文"); err != nil {
		return err
	}
	answer, err := c.filter(args[1], "1001", "1002", "café/中文", "new")
	if err != nil {
		return err
	}
	unseen, err := c.filterPacked(args[1], 1001, 1002, 1003, 1004)
	fmt.Printf("%s\n%s\n", answer, strings.ReplaceAll(fmt.Sprint(unseen), " ", ", "))
	return err
}

func main() {
	if len(os.Args) < 3 {
		os.Args = []string{"", "http://127.0.0.1:8080", "ann"}
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
