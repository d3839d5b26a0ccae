// Package examples holds clients in other languages; its test builds each of them and
// runs it against a real server.
package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jianguo/internal/testbed"
)

const (
	token     = "jg_example_of-the-test"
	publisher = "jg_press_of-the-test"

	hashes = `example recall example $argon2id$v=19$m=8,t=1,p=1$b2YgdGVzdHM$8rHt+8NqR2qeJ8WTUg1KYA
press platform press $argon2id$v=19$m=8,t=1,p=1$b2YgdGVzdHM$UYdVmFqaNMdGC79pD/IyHw
`
)

// startServer builds jianguo and runs it on loopback with a token.
func startServer(t *testing.T) (url, bus string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(testbed.Programs(t), "jianguo")
	tokens := filepath.Join(dir, "tokens")
	testbed.OK(t, os.WriteFile(tokens, []byte(hashes), 0o600))
	data := filepath.Join(dir, "data")
	cmd := exec.Command(binary, "serve", "--data", data, "--listen", "127.0.0.1:0",
		"--nats-listen", "127.0.0.1:0", "--durability", "relaxed", "--tokens", tokens)
	var log bytes.Buffer
	cmd.Stderr, cmd.Stdout = &log, &log
	testbed.OK(t, testbed.Start(cmd))
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(2 * time.Minute):
			cmd.Process.Kill()
			t.Error("the server did not end")
		}
		run(t, "..", binary, "verify", "--data", data)
	})
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		// The server says in its directory which port it got.
		var at struct{ HTTP, NATS string }
		raw, err := os.ReadFile(filepath.Join(data, "LOCK"))
		if err == nil && json.Unmarshal(raw, &at) == nil {
			url, bus = at.HTTP, at.NATS
		}
		resp, err := http.Get(url + "/readyz")
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK && bus != "" {
				return url, bus
			}
		}
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("the server ended: %v\n%s", err, log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server did not become ready\n%s", log.String())
		}
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

func TestClients(t *testing.T) {
	t.Parallel()
	url, _ := startServer(t)
	dir := t.TempDir()
	python, err := filepath.Abs("python/client.py")
	testbed.OK(t, err)
	for name, c := range map[string]struct{ build, run []string }{ // build: the folder, the command
		"go":     {[]string{"..", "go", "build", "-o", filepath.Join(dir, "go-client"), "./examples/go"}, []string{filepath.Join(dir, "go-client")}},
		"cpp":    {[]string{"cpp", "g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-O2", "-o", filepath.Join(dir, "cpp-client"), "client.cpp", "-lcurl"}, []string{filepath.Join(dir, "cpp-client")}},
		"java":   {[]string{"java", "javac", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-d", dir, "ExposureClient.java"}, []string{"java", "-cp", dir, "ExposureClient"}},
		"python": {nil, []string{"python3", "-Werror", python}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.build != nil {
				run(t, c.build[0], c.build[1], c.build[2:]...)
			}
			args := append(c.run[1:], url, "user-of-"+name, token)
			want := "{\"items\":[\"1002\",\"new\"],\"dropped\":2}\n[1002, 1004]\n"
			if got := run(t, dir, c.run[0], args...); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			args[len(args)-1] = "not-the-token-at-all"
			if out, err := exec.Command(c.run[0], args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "401") {
				t.Errorf("with a wrong token: %v, %s", err, out)
			}
		})
	}
}

// TestPythonTriesAgain: the client in Python repeats a request that the service cannot take now, or whose connection
// broke, and gives up at its deadline.
func TestPythonTriesAgain(t *testing.T) {
	t.Parallel()
	at, _ := startServer(t)
	url, err := url.Parse(at)
	testbed.OK(t, err)
	proxy := httputil.NewSingleHostReverseProxy(url)
	var asked atomic.Int64
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) % 4 {
		case 1:
			http.Error(w, "later", http.StatusServiceUnavailable)
		case 2:
			http.Error(w, "later", http.StatusTooManyRequests)
		case 3:
			panic(http.ErrAbortHandler)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	defer flaky.Close()
	want := "{\"items\":[\"1002\",\"new\"],\"dropped\":2}\n[1002, 1004]\n"
	if got := run(t, "python", "python3", "client.py", flaky.URL, "ann", token, "60"); got != want || asked.Load() != 12 {
		t.Errorf("%d requests: got\n%swant\n%s", asked.Load(), got, want)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))
	defer silent.Close()
	if out, err := exec.Command("python3", "python/client.py", silent.URL, "ann", token, "0.2").CombinedOutput(); err == nil || !strings.Contains(string(out), "no answer within 0.2s") {
		t.Errorf("a service that does not answer: %v, %s", err, out)
	}
}

// TestFeed: a reader of the first report is shown the update and other news, but no copy of it.
func TestFeed(t *testing.T) {
	t.Parallel()
	service, _ := startServer(t)
	characters := func(n, from int) string {
		r := rand.New(rand.NewPCG(uint64(from), 1))
		text := make([]rune, n)
		for i := range text {
			text[i] = rune(0x4e00 + r.IntN(5000))
		}
		return string(text)
	}
	articles := filepath.Join(t.TempDir(), "articles.jsonl")
	var lines []byte
	report := characters(250, 1)
	for _, a := range [][2]string{{"report", report}, {"copy", report + "。"}, {"update", report + "。" + characters(140, 2)}, {"other", characters(250, 3)}} {
		line, _ := json.Marshal(map[string]string{"id": a[0], "title": "title of " + a[0], "body": a[1]})
		lines = append(append(lines, line...), '\n')
		req, _ := http.NewRequest(http.MethodPost, service+"/items", bytes.NewReader(line))
		req.Header.Set("Authorization", "Bearer "+publisher)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
	}
	testbed.OK(t, os.WriteFile(articles, lines, 0o600))
	cmd := exec.Command("python3", "-Werror", "feed.py", service, articles, token)
	cmd.Dir, cmd.Stderr = "python", os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = testbed.Start(cmd)
	}
	testbed.OK(t, err)
	defer cmd.Wait()
	defer cmd.Process.Kill()
	address, err := bufio.NewReader(out).ReadString('\n')
	testbed.OK(t, err)
	titles := func(resp *http.Response, err error) (list []string) {
		testbed.OK(t, err)
		defer resp.Body.Close()
		page, _ := io.ReadAll(resp.Body)
		for _, m := range regexp.MustCompile(`<button>title of (\w+)</button>`).FindAllSubmatch(page, -1) {
			list = append(list, string(m[1]))
		}
		return list
	}
	address = strings.TrimSpace(address)
	if got := titles(http.Get(address)); strings.Join(got, " ") != "report copy update other" {
		t.Fatalf("before: %q", got)
	}
	http.PostForm(address, url.Values{"user": {"ann"}, "id": {"report"}})
	for range 100 { // the filter knows stories within a moment
		if got := titles(http.Get(address)); strings.Join(got, " ") == "update other" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("after: %q", titles(http.Get(address)))
}

// TestClientsAreShort keeps the promise that each is a hundred lines at most.
func TestClientsAreShort(t *testing.T) {
	for _, name := range []string{"java/ExposureClient.java", "cpp/client.cpp", "go/main.go", "python/client.py", "python/feed.py"} {
		f, err := os.Open(name)
		testbed.OK(t, err)
		defer f.Close()
		lines := 0
		for sc := bufio.NewScanner(f); sc.Scan(); lines++ {
		}
		if lines >= 100 {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}

// TestDocumentedClient: the client of docs/API.md prints the verdict of what it published, and an answer that is none.
func TestDocumentedClient(t *testing.T) {
	t.Parallel()
	url, bus := startServer(t)
	page, err := os.ReadFile("../docs/API.md")
	testbed.OK(t, err)
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	for secret, want := range map[string]string{publisher: "1 x1 unique ", "not-the-token-at-all": "401 Unauthorized"} {
		dir := t.TempDir()
		file, client := filepath.Join(dir, "main.go"), filepath.Join(dir, "client")
		text := strings.NewReplacer(`"nats://127.0.0.1:4222")`, `"`+strings.Replace(bus, "//", "//"+publisher+"@", 1)+`", nats.CustomInboxPrefix("_INBOX.press"))`,
			"http://127.0.0.1:8080", strings.Replace(url, "//", "//any:"+secret+"@", 1)).Replace(code)
		testbed.OK(t, os.WriteFile(file, []byte(text), 0o600))
		run(t, "..", "go", "build", "-o", client, file)
		cmd := exec.Command(client)
		out, printed := io.Pipe()
		cmd.Stdout, cmd.Stderr = printed, printed
		testbed.OK(t, testbed.Start(cmd))
		line, err := bufio.NewReader(out).ReadString('\n')
		out.Close()
		cmd.Process.Kill()
		if cmd.Wait(); err != nil || !strings.Contains(line, want) {
			t.Errorf("%q %v, want %q", line, err, want)
		}
	}
}
