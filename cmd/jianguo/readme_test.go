package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// quoted is what stands between single quotes of a command line, or a word of it.
var quoted = regexp.MustCompile(`'[^']*'|\S+`)

// commands are the curl and nats lines of a README, cut into words; a comment is
// the last word of its line, with its #.
func commands(t *testing.T, file string) (lines [][]string, text string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line, shown := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if !shown || !strings.HasPrefix(line, "curl ") && !strings.HasPrefix(line, "nats ") {
			continue
		}
		command, comment, commented := strings.Cut(line, " # ")
		words := quoted.FindAllString(command, -1)
		for i := range words {
			words[i] = strings.Trim(words[i], "'")
		}
		if commented {
			words = append(words, "#"+comment)
		}
		lines = append(lines, words)
	}
	return lines, string(raw)
}

// TestReadme does what both READMEs tell a newcomer to do, with the subjects,
// addresses and payloads that stand there, and looks for what they promise.
func TestReadme(t *testing.T) {
	for _, file := range []string{"README.md", "README.zh-CN.md"} {
		t.Run(file, func(t *testing.T) {
			lines, text := commands(t, file)
			if len(lines) < 11 {
				t.Fatalf("%d commands", len(lines))
			}
			s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
			r := newcomer{running: s, t: t, verdicts: map[string]string{}}
			var err error
			if r.conn, err = nats.Connect(s.at.NATS); err != nil {
				t.Fatal(err)
			}
			defer r.conn.Close()
			// What is listened to in one section is published in an earlier one.
			for _, words := range lines {
				if words[0] == "nats" && words[1] == "sub" {
					r.listen(words[2])
				}
			}
			for _, words := range lines {
				r.does(words)
			}
			for id, want := range map[string]string{"a1": "unique", "b7": "duplicate", "c3": "unique"} {
				verdict, why, _ := strings.Cut(r.heard("items.publish "+id), " ")
				if verdict != want {
					t.Errorf("%s is %s, %s", id, verdict, why)
				}
				if id != "a1" && !strings.Contains(packed(text), packed(why)) {
					t.Errorf("the README does not say why %s is %s: %s", id, verdict, why)
				}
			}
			if got := r.heard("items.withdraw a1"); !strings.HasPrefix(got, "withdrawn ") {
				t.Errorf("withdrawn, a1 is %s", got)
			}
			s.stop()
		})
	}
}

func packed(s string) string { return strings.Join(strings.Fields(s), "") }

// newcomer types what a README says.
type newcomer struct {
	*running
	t        *testing.T
	conn     *nats.Conn
	events   *nats.Subscription
	verdicts map[string]string // by what was published, then the id
}

func (r *newcomer) listen(subject string) {
	var err error
	if r.events, err = r.conn.SubscribeSync(subject); err == nil {
		err = r.conn.Flush()
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// heard waits for the event that came of a message, and returns its verdict and
// why.
func (r *newcomer) heard(message string) string {
	r.t.Helper()
	for r.verdicts[message] == "" {
		m, err := r.events.NextMsg(time.Minute)
		if err != nil {
			r.t.Fatalf("no event came of %q: %v", message, err)
		}
		var e struct{ ID, Verdict, Cause, Why string }
		if err := json.Unmarshal(m.Data, &e); err != nil {
			r.t.Fatal(err)
		}
		if from := map[string]string{"ingest": "items.publish ", "withdrawal": "items.withdraw "}[e.Cause]; from != "" {
			r.verdicts[from+e.ID] = e.Verdict + " " + e.Why
		}
	}
	return r.verdicts[message]
}

func (r *newcomer) does(words []string) {
	r.t.Helper()
	var comment string
	if last := words[len(words)-1]; strings.HasPrefix(last, "#") {
		comment, words = strings.TrimSpace(last[1:]), words[:len(words)-1]
	}
	if words[0] == "curl" {
		r.asks(words[1:], comment)
		return
	}
	subject, payload := words[2], []byte(strings.Join(words[3:], " "))
	switch words[1] {
	case "sub":
	case "pub":
		if err := r.conn.Publish(subject, payload); err != nil {
			r.t.Fatal(err)
		}
		var of struct{ ID string }
		if err := json.Unmarshal(payload, &of); err != nil {
			r.t.Fatal(err)
		}
		r.heard(subject + " " + of.ID)
	case "req":
		m, err := r.conn.Request(subject, payload, time.Minute)
		if err != nil {
			r.t.Fatal(err)
		}
		if !strings.Contains(string(m.Data), `"verdict":"`) {
			r.t.Errorf("%s answers %s %v", subject, m.Data, m.Header)
		}
	default:
		r.t.Errorf("nats %s: what is that?", words[1])
	}
}

// asks does what curl would. A comment that looks like JSON is the answer.
func (r *newcomer) asks(words []string, comment string) {
	r.t.Helper()
	var body string
	if words[0] == "-d" {
		body, words = words[1], words[2:]
	}
	path, ours := strings.CutPrefix(words[0], "http://127.0.0.1:8080")
	if !ours || len(words) != 1 {
		r.t.Fatalf("curl %q: want an address of the service", words)
	}
	var status int
	var answer []byte
	var err error
	if body != "" {
		status, answer, err = r.post(path, []byte(body))
	} else {
		var res *http.Response
		if res, err = http.Get(r.at.HTTP + path); err == nil {
			status = res.StatusCode
			answer, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
	}
	if err != nil || status/100 != 2 {
		r.t.Errorf("curl %s: %d %s %v", path, status, answer, err)
	}
	if strings.HasPrefix(comment, "{") && strings.TrimSpace(string(answer)) != comment {
		r.t.Errorf("%s answers %s, not %s", path, answer, comment)
	}
}
