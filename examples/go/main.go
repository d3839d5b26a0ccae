// Command go is a client of the exposure API with nothing but the standard library:
//
//	go run ./examples/go URL USER [TOKEN]
package main

import (
	"bytes"
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

func (c *client) post(path, accept string, body map[string]any) ([]byte, error) {
	b, _ := json.Marshal(body) // strings and numbers always marshal
	req, err := http.NewRequest(http.MethodPost, c.url+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {accept},
		"Authorization": {"Bearer " + c.token}}
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

// report returns when the items are durable and the next filter knows them.
func (c *client) report(user, kind string, items ...string) error {
	_, err := c.post("/exposures", "application/json", map[string]any{"user": user, "kind": kind, "items": items})
	return err
}

// filter asks in JSON: {"items":[...],"dropped":n}.
func (c *client) filter(user string, items ...string) ([]byte, error) {
	return c.post("/filter", "application/json", map[string]any{"user": user, "items": items})
}

// filterBits is the cheap way: the answer is a bitmap.
func (c *client) filterBits(user string, ids ...int64) (unseen []int64, err error) {
	bitmap, err := c.post("/filter", "application/octet-stream", map[string]any{"user": user, "items": ids})
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
	unseen, err := c.filterBits(args[1], 1001, 1002, 1003, 1004)
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
