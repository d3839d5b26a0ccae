//go:build !race

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/testbed"
)

// quoted matches a single-quoted part of a command line, or a word.
var quoted = regexp.MustCompile(`'[^']*'|\S+`)

// commands returns the curl and nats lines of a README, cut into words. A comment is the
// last word of its line, with its #.
func commands(t *testing.T, file string) (lines [][]string, text string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", file))
	testbed.OK(t, err)
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

// TestReadme runs the commands of both READMEs, with their subjects, addresses and
// payloads, and checks the answers they promise.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"README.md", "README.zh-CN.md"} {
		t.Run(file, func(t *testing.T) {
			lines, text := commands(t, file)
			if len(lines) < 11 {
				t.Fatalf("%d commands", len(lines))
			}
			s := serve(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
			r := newcomer{process: s, t: t, verdicts: map[string]string{}}
			var err error
			if r.conn, err = nats.Connect(s.address.NATS); err != nil {
				t.Fatal(err)
			}
			defer r.conn.Close()
			if r.js, err = jetstream.New(r.conn); err != nil {
				t.Fatal(err)
			}
			// Subscriptions come first: one section subscribes to the events of an earlier one.
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

// TestDemoEnds: the demo ends with its terminal, or with the reader of its output, and leaves no folder.
func TestDemoEnds(t *testing.T) {
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // nohup of the tests is not for the demo
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"SIGHUP":  func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGHUP) },
		"SIGPIPE": func(_ *exec.Cmd, out io.Closer) error { return out.Close() },
	} {
		cmd := exec.Command(plainBinary(t), "demo", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")
		dir := t.TempDir()
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		out, err := cmd.StdoutPipe()
		testbed.OK(t, err)
		testbed.OK(t, testbed.Start(cmd))
		if name == "SIGHUP" {
			for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "Ctrl-C"); {
			}
		}
		testbed.OK(t, end(cmd, out))
		late := time.AfterFunc(patience, func() { t.Errorf("%s: the demo goes on: %v", name, cmd.Process.Kill()) })
		_ = cmd.Wait() // its code is 1 where it could not write
		late.Stop()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v %v", name, left, err)
		}
	}
}

// TestReadmeDemo: the demo prints the lines that both READMEs show of it, in their order. A line that ends in … is
// the beginning of one.
func TestReadmeDemo(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(plainBinary(t), "demo", "--once", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0").Output()
	testbed.OK(t, err)
	for _, file := range []string{"README.md", "README.zh-CN.md"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", file))
		testbed.OK(t, err)
		printed, shown := strings.Split(string(out), "\n"), 0
		for line := range strings.Lines(string(raw)) {
			line, ours := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
			if verdict, _, _ := strings.Cut(line, " "); !ours || !slices.Contains([]string{"unique", "suspect", "duplicate"}, verdict) {
				continue
			}
			begins := strings.TrimSuffix(line, "…")
			i := slices.IndexFunc(printed, func(p string) bool { return strings.HasPrefix(p, begins) })
			if i < 0 {
				t.Errorf("%s: the demo does not print, or not there:\n%s", file, line)
				continue
			}
			printed = printed[i+1:]
			shown++
		}
		if shown < 5 {
			t.Errorf("%s shows %d lines", file, shown)
		}
	}
}

func packed(s string) string { return strings.Join(strings.Fields(s), "") }

// newcomer runs the commands of a README.
type newcomer struct {
	*process
	t        *testing.T
	conn     *nats.Conn
	js       jetstream.JetStream
	events   *nats.Subscription
	verdicts map[string]string // by what was published, then the id
}

func (r *newcomer) listen(subject string) {
	var err error
	if r.events, err = r.conn.SubscribeSync(subject); err == nil {
		err = r.conn.Flush()
	}
	testbed.OK(r.t, err)
}

// heard waits for the event of a message, and returns its verdict and reason.
func (r *newcomer) heard(message string) string {
	r.t.Helper()
	for r.verdicts[message] == "" {
		m, err := r.events.NextMsg(time.Minute)
		if err != nil {
			r.t.Fatalf("no event came of %q: %v", message, err)
		}
		var e struct{ ID, Verdict, Cause, Why string }
		testbed.OK(r.t, json.Unmarshal(m.Data, &e))
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
	verb, acknowledged := words[1], words[2] == "-J"
	if acknowledged {
		words = words[1:]
	}
	subject, payload := words[2], []byte(strings.Join(words[3:], " "))
	switch verb {
	case "sub":
	case "pub":
		if !acknowledged {
			r.t.Errorf("nats pub %s: without -J it may be lost, and nobody is told", subject)
		}
		if _, err := r.js.Publish(r.t.Context(), subject, payload); err != nil {
			r.t.Fatal(err)
		}
		var of struct{ ID string }
		testbed.OK(r.t, json.Unmarshal(payload, &of))
		r.heard(subject + " " + of.ID)
	case "req":
		m, err := r.conn.Request(subject, payload, time.Minute)
		testbed.OK(r.t, err)
		if !strings.Contains(string(m.Data), `"verdict":"`) {
			r.t.Errorf("%s answers %s %v", subject, m.Data, m.Header)
		}
	default:
		r.t.Errorf("nats %s: what is that?", verb)
	}
}

// asks does what curl would. A comment that looks like JSON is the expected answer.
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
		status, answer, err = r.get(path)
	}
	if err != nil || status/100 != 2 {
		r.t.Errorf("curl %s: %d %s %v", path, status, answer, err)
	}
	if strings.HasPrefix(comment, "{") && strings.TrimSpace(string(answer)) != comment {
		r.t.Errorf("%s answers %s, not %s", path, answer, comment)
	}
}
