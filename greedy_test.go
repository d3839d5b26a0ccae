package jianguo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/testbed"
)

// served starts the service on a new directory, and returns who holds that. It is stopped at the end of the test.
func served(t *testing.T) datadir.Holder {
	t.Helper()
	data, log := filepath.Join(t.TempDir(), "data"), new(bytes.Buffer)
	cmd := exec.Command(filepath.Join(testbed.Programs(t), "jianguo"), "serve", "--data", data,
		"--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")
	cmd.Stderr = log
	testbed.OK(t, testbed.Start(cmd))
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("an orderly end: %v\n%s", err, log)
		}
	})
	for range 6000 {
		var h datadir.Holder
		raw, err := os.ReadFile(filepath.Join(data, datadir.LockName))
		if err == nil && json.Unmarshal(raw, &h) == nil && h.NATS != "" {
			if res, err := http.Get(h.HTTP + "/readyz"); err == nil {
				res.Body.Close()
				if res.StatusCode == http.StatusOK {
					return h
				}
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the service is not ready")
	return datadir.Holder{}
}

// publisher returns a function that publishes from an address of its own.
func publisher(from string, service string) func(it *ingest.Item) (status int, after string, err error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 200}}
	return func(it *ingest.Item) (int, string, error) {
		body, err := json.Marshal(it)
		if err != nil {
			return 0, "", err
		}
		res, err := client.Post(service+"/items?wait=60s", "application/json", bytes.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, res.Header.Get("Retry-After"), err
	}
}

// onBus is publisher, for a client of the bus that waits for its verdicts.
func onBus(t *testing.T, url string) func(it *ingest.Item) (status int, after string, err error) {
	t.Helper()
	nc, err := nats.Connect(url, nats.CustomInboxPrefix(bus.AnonymousInbox))
	testbed.OK(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	testbed.OK(t, err)
	p, err := ingest.NewPublisher(js)
	testbed.OK(t, err)
	return func(it *ingest.Item) (int, string, error) {
		body, err := json.Marshal(it)
		if err != nil {
			return 0, "", err
		}
		o, err := p.Submit(t.Context(), bus.SubjectPublish+"."+it.Source, body)
		if err != nil {
			return 0, "", err
		}
		if o.Error != "" {
			return http.StatusUnprocessableEntity, "", nil
		}
		return http.StatusOK, "", nil
	}
}

// TestGreedyPublisher: while one publisher sends the texts of TestGrowth, 20 a second, each ordinary article of another
// publisher is judged, and no article is compared beyond the budget of work. How soon depends on the machine: in the
// long tier p99 is within a second, else it is logged. Over HTTP the greedy one is refused beyond its share.
func TestGreedyPublisher(t *testing.T) {
	service := served(t)
	t.Run("http", func(t *testing.T) {
		greed(t, publisher("127.0.0.2", service.HTTP), publisher("127.0.0.1", service.HTTP), 3)
	})
	t.Run("bus", func(t *testing.T) { greed(t, onBus(t, service.NATS), onBus(t, service.NATS), 0) })
	res, err := http.Get(service.HTTP + "/metrics")
	testbed.OK(t, err)
	defer res.Body.Close()
	metrics, err := io.ReadAll(res.Body)
	testbed.OK(t, err)
	upTo := func(tokens string) string { // how many articles
		_, count, _ := strings.Cut(string(metrics), `jianguo_index_judged_tokens_bucket{le="`+tokens+`"} `)
		count, _, _ = strings.Cut(count, "\n")
		return count
	}
	if work := fmt.Sprint(float64(index.DefaultPolicy().Work)); upTo(work) == "" || upTo(work) != upTo("+Inf") {
		t.Errorf("compared within %s tokens: %s of %s articles", work, upTo(work), upTo("+Inf"))
	}
	if upTo("32768") == upTo("+Inf") {
		t.Errorf("%s articles, and none took much work: do the texts still cost what they did?", upTo("+Inf"))
	}
}

// greed lets two publishers send until the greedy one was refused so many times.
func greed(t *testing.T, greedy, ordinary func(it *ingest.Item) (status int, after string, err error), least int) {
	var texts []func(n, size int) string
	for _, name := range append([]string{"names", "values"}, slices.Sorted(maps.Keys(crafted))...) { // costly ones first
		texts = append(texts, func(n, size int) string {
			return crafted[name](rand.New(rand.NewPCG(uint64(n), 4)), size)
		})
	}
	for _, piece := range marks {
		texts = append(texts, func(n, size int) string {
			return edited(strings.ToValidUTF8(strings.Repeat(piece, size/len(piece)+1)[:size-2000], ""), 1000+n)
		})
	}
	var mu sync.Mutex
	statuses, refused, done := map[int]int{}, 0, make(chan bool)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			size := []int{508, 250, 120, 60, 30, 9}[n%6] << 10
			text := texts[n/6%len(texts)](n, size)
			all.Go(func() {
				status, after, err := greedy(&ingest.Item{ID: fmt.Sprint("greedy", t.Name(), n), Source: "g", Body: text})
				mu.Lock()
				defer mu.Unlock()
				if statuses[status]++; status == http.StatusTooManyRequests && after != "" {
					refused++
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	})
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return refused >= least
	}
	var took []time.Duration
	var waits errgroup.Group
	waits.SetLimit(20) // within its own share, however slow the machine is
	seconds := testbed.Count(1, 1, 60)
	for n := 0; n < 20*seconds || n < 6000 && !enough(); n++ {
		time.Sleep(50 * time.Millisecond)
		waits.Go(func() error {
			r := rand.New(rand.NewPCG(uint64(n), 5))
			start := time.Now()
			status, _, err := ordinary(&ingest.Item{ID: fmt.Sprint("ordinary", t.Name(), n), Source: "o", Title: han(r, 60), Body: han(r, 3000)})
			mu.Lock()
			defer mu.Unlock()
			if took = append(took, time.Since(start)); err != nil || status != http.StatusOK {
				t.Errorf("an ordinary article: %d %v", status, err)
			}
			return nil
		})
	}
	_ = waits.Wait()
	close(done)
	mu.Lock()
	defer mu.Unlock()
	if refused < least {
		t.Errorf("the greedy publisher was refused %d times: %v", refused, statuses)
	}
	slices.Sort(took)
	if p99 := took[len(took)*99/100]; testbed.Long() && p99 > time.Second {
		t.Errorf("p99 of %d ordinary articles: %v", len(took), p99)
	}
	t.Logf("%d ordinary articles: median %v, p99 %v, longest %v; the greedy publisher: %v", len(took),
		took[len(took)/2], took[len(took)*99/100], took[len(took)-1], statuses)
}
