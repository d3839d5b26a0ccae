package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/testbed"
)

// fleet is a cluster, a Redis Cluster with users' histories, and two services with a catalogue each. The first
// service reaches each server of the bus by a relay.
type fleet struct {
	*cluster
	redis    *redisCluster
	js       jetstream.JetStream
	services [2]*process
	relays   [3]*relay
	load     *load
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{cluster: startCluster(t), redis: startRedisNodes(t)}
	f.js = f.streams()
	var urls []string
	for i, client := range f.clients {
		f.relays[i] = startRelay(t)
		to := strings.TrimPrefix(client, "nats://")
		f.relays[i].to.Store(&to)
		urls = append(urls, f.relays[i].url())
	}
	for i, url := range []string{strings.Join(urls, ","), f.url()} {
		f.services[i] = serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats", url, "--exposure-store", f.redis.url())
		f.services[i].ready()
	}
	f.load = startLoad(f.services[:], fleetItem)
	return f
}

// fleetItem is an item whose text is new, or that of another item with a sentence more.
func fleetItem(n int) []byte {
	if n%3 != 2 {
		return article(n)
	}
	b := bytes.Replace(article(n-2), []byte(fmt.Sprintf(`"n%d"`, n-2)), []byte(fmt.Sprintf(`"n%d"`, n)), 1)
	return bytes.Replace(b, []byte("已经完成。"), []byte("已经完成。值班人员整夜没有休息。"), 1)
}

// outage is what happens to a part. i counts its outages.
type outage struct {
	part, what string
	do         func(f *fleet, i int)
	pauses     []time.Duration // the longest that no item was acknowledged, from then on until some more were
	reports    []time.Duration // the same of reports
}

var outages = []*outage{
	{part: "a server of the bus", what: "killed, started a second later", do: func(f *fleet, i int) {
		f.nodes[i%3].kill()
		time.Sleep(time.Second)
		f.start(i % 3)
	}},
	{part: "a server of the bus", what: "stopped for 3 s", do: func(f *fleet, i int) { pause(f.nodes[(i+1)%3]) }},
	{part: "all streams", what: "other leaders", do: func(f *fleet, _ int) {
		for _, name := range streamNames {
			_, _ = f.js.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+name, nil, time.Second) // no answer is one more fault
		}
	}},
	{part: "a service", what: "killed, started a second later", do: func(f *fleet, i int) {
		f.services[i%2].kill()
		time.Sleep(time.Second)
		f.load.mu.Lock() // its address changes
		defer f.load.mu.Unlock()
		f.services[i%2].start()
	}},
	{part: "a service", what: "stopped for 3 s", do: func(f *fleet, i int) { pause(f.services[i%2]) }},
	{part: "a service", what: "stopped for 8 s, longer than its leases", do: func(f *fleet, i int) {
		f.services[i%2].signal(syscall.SIGSTOP)
		time.Sleep(8 * time.Second)
		f.services[i%2].signal(syscall.SIGCONT)
	}},
	{part: "a service", what: "cut off from the bus for 3 s", do: func(f *fleet, _ int) {
		for _, r := range f.relays {
			r.frozen.Lock()
		}
		time.Sleep(3 * time.Second)
		for _, r := range f.relays {
			r.frozen.Unlock()
		}
	}},
	{part: "a master of Redis", what: "killed, started 2 s later", do: func(f *fleet, i int) {
		f.redis.settle()
		n := f.redis.master(i)
		f.redis.nodes[n].kill()
		time.Sleep(2 * time.Second)
		f.redis.start(n)
	}},
	{part: "a master of Redis", what: "stopped for 3 s", do: func(f *fleet, i int) {
		f.redis.settle()
		pause(f.redis.nodes[f.redis.master(i)])
	}},
}

func pause(p *process) {
	p.signal(syscall.SIGSTOP)
	time.Sleep(3 * time.Second)
	p.signal(syscall.SIGCONT)
}

// Every part of a fleet is killed, paused and cut off in turn while clients publish and report. What was acknowledged
// has exactly one verdict, events have no gaps and never change, verdicts are those of one process that takes the same
// items in the same order, and at neither service do users see again what they have seen. JIANGUO_FLEET_SECONDS says how long it
// goes on; each outage happens once at least.
func TestFleet(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	until := time.Now().Add(time.Duration(testbed.CountOr("JIANGUO_FLEET_SECONDS", 1, 60, 600)) * time.Second)
	for i := 0; i == 0 || time.Now().Before(until); i++ {
		for _, o := range outages {
			f.load.pause()
			o.do(f, i)
			items, reports := f.load.count()
			f.services[1].eventually("work goes on after: "+o.part+" "+o.what, func() bool {
				moreItems, moreReports := f.load.count()
				return moreItems >= items+testbed.Count(8, 20, 20) && moreReports >= reports+testbed.Count(2, 5, 5)
			})
			item, report := f.load.pause()
			o.pauses, o.reports = append(o.pauses, item), append(o.reports, report)
		}
	}
	items, seenBy := f.load.stop()
	events := f.events(len(items))
	seen := map[string]int{}
	for _, e := range events {
		seen[e.id]++
	}
	lost := 0
	for _, n := range items {
		if got := seen[fmt.Sprint("n", n)]; got != 1 {
			t.Errorf("item n%d was acknowledged and has %d events", n, got)
			lost++
		}
	}
	f.services[0].ready()
	t.Log(f.services[0].jianguo("verify", "--exposure-store", f.redis.url()))
	for _, s := range f.services {
		s.ready()
		s.eventually("it has all events", func() bool { return s.status(fmt.Sprint("/items/", events[len(events)-1].id)) == 200 })
		for user, list := range seenBy {
			var answer struct{ Items []string }
			body, _ := json.Marshal(map[string]any{"user": user, "items": append([]string{"other"}, list...)})
			s.ask("/filter", string(body), &answer)
			if len(answer.Items) != 1 {
				t.Errorf("user %s sees again what they have seen: %v", user, answer.Items[1:])
				lost++
			}
		}
		s.stop()
	}
	f.compare(events)
	for _, late := range f.load.late {
		t.Errorf("a report was acknowledged, and a filter of the other service did not know it: %s", late)
	}
	t.Logf("%d items and %d reports acknowledged, %d events, %d lost\n%s", len(items), f.load.reports, len(events), lost, outageTable())
}

// published is an event of the stream VERDICTS.
type published struct{ id, line string }

var eventTime = regexp.MustCompile(`"at":"[^"]*"`)

// events reads VERDICTS, which holds as many events as there are items at least.
func (f *fleet) events(atLeast int) (all []published) {
	f.t.Helper()
	stream, err := f.js.Stream(f.t.Context(), bus.StreamVerdicts)
	testbed.OK(f.t, err)
	// The events of the last items may still be on their way.
	var last uint64
	f.services[1].eventually("all events are published", func() bool {
		info, err := stream.Info(f.t.Context())
		if err == nil {
			last = info.State.LastSeq
		}
		return last >= uint64(atLeast)
	})
	for seq := uint64(1); seq <= last; seq++ {
		m, err := stream.GetMsg(f.t.Context(), seq)
		testbed.OK(f.t, err)
		var e struct {
			Number uint64 `json:"event"`
			ID     string `json:"id"`
		}
		if err := json.Unmarshal(m.Data, &e); err != nil || e.Number != seq {
			f.t.Fatalf("message %d is event %d: %v", seq, e.Number, err)
		}
		all = append(all, published{e.ID, eventTime.ReplaceAllString(string(m.Data), "")})
	}
	return all
}

// compare has one process judge the same items in the same order.
func (f *fleet) compare(events []published) {
	f.t.Helper()
	dir := f.t.TempDir()
	var lines []byte
	for _, e := range events {
		var n int
		if _, err := fmt.Sscanf(e.id, "n%d", &n); err != nil {
			f.t.Fatal(err)
		}
		lines = append(append(lines, fleetItem(n)...), '\n')
	}
	name, verdicts := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "verdicts")
	testbed.OK(f.t, os.WriteFile(name, lines, 0o600))
	does(f.t, f.services[0].binary, "", "ingest", "--create", "--data", filepath.Join(dir, "data"), "--verdicts", verdicts, name)
	raw, err := os.ReadFile(verdicts)
	testbed.OK(f.t, err)
	alone, duplicates := strings.Split(strings.TrimSpace(string(raw)), "\n"), 0
	slices.SortFunc(alone, func(a, b string) int { return cmp.Compare(eventNumber(a), eventNumber(b)) })
	for i, e := range events {
		if i >= len(alone) || eventTime.ReplaceAllString(alone[i], "") != e.line {
			f.t.Fatalf("event %d of %d is\n%s\nand one process says\n%s", i+1, len(alone), e.line, alone[min(i, len(alone)-1)])
		}
		if strings.Contains(e.line, `"duplicate"`) {
			duplicates++
		}
	}
	if duplicates == 0 {
		f.t.Error("no event is a duplicate")
	}
}

func eventNumber(line string) (n int) {
	_, _ = fmt.Sscanf(line, `{"event":%d`, &n)
	return n
}

func outageTable() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "part\tfault\ttimes\tno item acknowledged for\tno report")
	for _, o := range outages {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", o.part, o.what, len(o.pauses), span(o.pauses), span(o.reports))
	}
	_ = w.Flush()
	return b.String()
}

// span is from the least to the most.
func span(list []time.Duration) string {
	return fmt.Sprint(slices.Min(list).Round(10*time.Millisecond), " to ", slices.Max(list).Round(10*time.Millisecond))
}

// load publishes items and reports exposures until it is stopped, and remembers what was
// acknowledged.
type load struct {
	services []*process
	item     func(n int) []byte
	client   http.Client
	mu       sync.RWMutex // held for writing while the address of a service changes
	done     chan struct{}
	wg       sync.WaitGroup

	ackedMu sync.Mutex
	items   []int               // under ackedMu
	seenBy  map[string][]string // by user; under ackedMu
	reports int                 // under ackedMu
	late    []string            // under ackedMu
	last    [2]time.Time        // an item, a report was acknowledged; under ackedMu
	longest [2]time.Duration    // between two, since the last call of pause; under ackedMu
}

func startLoad(services []*process, item func(n int) []byte) *load {
	l := &load{services: services, last: [2]time.Time{time.Now(), time.Now()}, item: item, client: http.Client{Timeout: time.Second}, done: make(chan struct{}), seenBy: map[string][]string{}}
	pause := time.Duration(testbed.Count(250, 10, 0)) * time.Millisecond // between two of a client
	if os.Getenv("JIANGUO_FLEET_SECONDS") != "" {
		pause = 0
	}
	for worker := range 4 {
		l.wg.Go(func() {
			for n, tries := worker, 0; ; n += 4 {
				select {
				case <-l.done:
					return
				default:
				}
				user, seen, to := fmt.Sprint("u", n/4%97), fmt.Sprint("x", n), n/4+tries
				ok := false
				if worker < 3 {
					ok, _ = l.post(to, "/items", item(n))
				} else if ok, _ = l.post(to, "/exposures", fmt.Appendf(nil, `{"user":%q,"kind":"seen","items":[%q]}`, user, seen)); ok {
					l.check(to+1, user, seen)
				}
				if !ok {
					time.Sleep(50 * time.Millisecond)
					n -= 4 // again, the other service: to publish twice is safe
					tries++
					continue
				}
				l.ackedMu.Lock()
				kind := 0
				if worker < 3 {
					l.items = append(l.items, n)
				} else {
					kind = 1
					l.seenBy[user] = append(l.seenBy[user], seen)
					l.reports++
				}
				now := time.Now()
				l.longest[kind], l.last[kind] = max(l.longest[kind], now.Sub(l.last[kind])), now
				l.ackedMu.Unlock()
				time.Sleep(pause)
			}
		})
	}
	return l
}

// post reports whether a service has answered with success.
func (l *load) post(service int, path string, body []byte) (ok bool, answer []byte) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	status, answer, err := answered(l.client.Post(l.services[service%len(l.services)].address.HTTP+path, "application/json", bytes.NewReader(body)))
	return err == nil && status/100 == 2, answer
}

// check asks another service at once for what has just been acknowledged.
func (l *load) check(service int, user, seen string) {
	ok, answer := l.post(service, "/filter", fmt.Appendf(nil, `{"user":%q,"items":[%q]}`, user, seen))
	if ok && !bytes.Contains(answer, []byte("degraded")) && !bytes.Contains(answer, []byte(`"dropped":1`)) {
		l.ackedMu.Lock()
		defer l.ackedMu.Unlock()
		l.late = append(l.late, fmt.Sprintf("%s %s %s: %s", time.Now().Format(time.TimeOnly), user, seen, answer))
	}
}

// count is how many items and reports were acknowledged.
func (l *load) count() (items, reports int) {
	l.ackedMu.Lock()
	defer l.ackedMu.Unlock()
	return len(l.items), l.reports
}

// pause returns the longest times between two acknowledged items and two reports since its last call.
func (l *load) pause() (items, reports time.Duration) {
	l.ackedMu.Lock()
	defer l.ackedMu.Unlock()
	items, reports = l.longest[0], l.longest[1]
	l.longest = [2]time.Duration{}
	return items, reports
}

func (l *load) stop() (items []int, seenBy map[string][]string) {
	close(l.done)
	l.wg.Wait()
	return l.items, l.seenBy
}
