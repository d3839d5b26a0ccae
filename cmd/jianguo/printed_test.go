package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/internal/testbed"
)

// TestNotPrinted: a command whose output is lost fails. No subject commands a terminal. A token is for all sources only where none is named.
func TestNotPrinted(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), filepath.Join(t.TempDir(), "data"))
	for _, subject := range []string{"items.publish", "items.publish.\x1b[31m<红>"} {
		if _, err := s.jetstream().Publish(t.Context(), subject, []byte("{")); err != nil {
			t.Fatal(err)
		}
	}
	s.publish(1)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	testbed.OK(t, err)
	defer full.Close()
	tokens := filepath.Join(t.TempDir(), "tokens")
	for _, args := range [][]string{
		{"dead", "list", "--data", s.data},
		{"check", "--data", s.data, fileOf(t, article(2))},
		{"token", "add", "--tokens", tokens, "shop", "platform"},
		{"version"},
	} {
		var says strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), full, &says); code != 1 || !strings.Contains(says.String(), "no space left") {
			t.Errorf("%v: code %d: %s", args, code, &says)
		}
	}
	for _, args := range [][]string{
		{"token", "add", "--tokens", tokens, "desk", "platform", "--source="},
		{"dead", "drop", "--data", s.data, "--all", "1"},
	} {
		if code := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard); code != 1 {
			t.Errorf("%v: code %d", args, code)
		}
	}
	does(t, s.binary, "not a JSON object", "dead", "list", "--data", s.data)
	does(t, s.binary, `items.publish.\u001b[31m<红>`, "dead", "list", "--data", s.data)
	does(t, s.binary, "shop", "token", "list", "--tokens", tokens)
	s.stop()
}

// TestTerminal: no text of another writer commands the terminal of a command, whatever prints it, and JSON stays the same.
func TestTerminal(t *testing.T) {
	t.Parallel()
	const title = "突发\x1b[2J\x07\u009b1m\u202e公告\r"
	doc := func(body string) string {
		return fileOf(t, must.Get(json.Marshal(map[string]string{"id": "x", "title": title, "body": body})))
	}
	a, b := doc("云崖市图书馆新馆周六上午正式开放。"), doc("云崖市图书馆新馆周六上午正式开放，首日接待读者八千人。")
	out := does(t, plainBinary(t), `突发\u001b[2J\u0007\u009b1m\u202e公告`, "explain", a, b)
	if i := strings.IndexAny(out, "\x1b\x07\r\u009b\u202e"); i >= 0 {
		t.Errorf("explain prints %q", out[i:])
	}
	var x ingest.Explanation
	if err := json.Unmarshal([]byte(does(t, plainBinary(t), "", "explain", "--json", a, b)), &x); err != nil || x.Query.Title != title {
		t.Errorf("%q, %v", x.Query.Title, err)
	}
	fails(t, plainBinary(t), `\u001b[31m`, "explain", "\x1b[31m", a)
}

// TestReplayAll: a letter that cannot be published again, as only its beginning is kept, holds no other back.
func TestReplayAll(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	js := s.jetstream()
	for _, payload := range []string{strings.Repeat("x", int(js.Conn().MaxPayload())-1000), "{"} {
		if _, err := js.Publish(t.Context(), "items.publish", []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	s.publish(1)
	fails(t, s.binary, "1 letter replayed\njianguo: dead letter 1: only the beginning", "dead", "replay", "--data", s.data, "--all")
	s.stop()
}
