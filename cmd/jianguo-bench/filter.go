package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/internal/must"
)

type filterCmd struct {
	Against string        `help:"What to compare with: redis or none." enum:"redis,none" default:"none"`
	Each    time.Duration `help:"How long each measurement takes." default:"5s"`
	Dir     string        `help:"For state; empty: a temporary directory." placeholder:"DIR"`
	serviceFlags
}

func (c *filterCmd) Help() string {
	return `The server runs on one processor, and this process makes the load on the others; on a machine with one they
share it, and "pinned" is false. Peak rates are those of a closed loop with one request in flight and with four, each on
a connection of its own, the same for every way. Latencies come from an open loop: requests are due at fixed intervals,
and each latency counts from the time its request was due, so that a stall is charged to every request it delayed (no
coordinated omission). All clients are of one kind: a socket, a prepared request, and a parser that does no more than
find the answer. Ways take turns in five rounds, and the median counts.`
}

// What is measured: filters for one user. The user has seen seenIDs ids; each request has candidates ids, of which the
// share overlap are among those. One in storyEvery is in a story with one other item.
const (
	seenIDs       = 5000
	candidates    = 5000
	overlap       = 0.5
	storyEvery    = 5
	rounds        = 5
	severalFlight = 4
)

type filterBench struct {
	filterCmd
	ctx   context.Context
	r     figures
	redis string // empty: no comparison
}

func (c *filterCmd) Run(co *streams) error {
	return must.Catch(func() {
		pinned := pinSelf() == nil // server and load on processors of their own
		b := &filterBench{filterCmd: *c, ctx: co.ctx, r: figures{"cpus": runtime.NumCPU(), "pinned": pinned}}
		b.Dir = cmp.Or(c.Dir, co.dir)
		if c.Against == "redis" {
			var err error
			b.redis, err = exec.LookPath("redis-server")
			must.Dof(err, "--against redis (Debian: apt-get install redis-server)")
		}
		server := startService(b.ctx, pinned, c.jianguo(), b.Dir, "--durability", "relaxed")
		defer server.stop()
		b.fill(server)
		b.hot(server)
		b.load(server)
		must.Do(b.ctx.Err())
		co.print(b.r)
	})
}

// fill lets one user see half of the candidates, of which some have copies. It panics on errors (must).
func (b *filterBench) fill(server *process) {
	seen := make([]string, seenIDs)
	for i := range seen {
		seen[i] = seenID(i)
	}
	body, _ := json.Marshal(map[string]any{"user": "hot", "kind": "seen", "items": seen})
	must.Do(server.post("/exposures", body))
	must.Do(publishStories(server))
}

// publishStories publishes some candidates and a copy of each, of random characters.
func publishStories(server *process) error {
	var g errgroup.Group
	g.SetLimit(connections)
	for i, id := range mixed(candidates) {
		if i%storyEvery != 0 {
			continue
		}
		text := make([]rune, 200)
		for k := range text {
			text[k] = '一' + rune(rand.IntN(5000))
		}
		for _, id := range []string{id, "copy-" + id} {
			body, _ := json.Marshal(map[string]any{"id": id, "body": string(text)}) // strings only
			g.Go(func() error { return server.post("/items", body) })
		}
	}
	return g.Wait()
}

// way is one way to answer the same question. Its figures have its name.
type way struct {
	name  string
	open  opener
	rates [2]samples // a second, with one request in flight, and with several
	cpu   samples    // of the server, each request
}

// hot measures one user whose history is in memory, and Redis. All ways take turns, several times, and the median of
// each counts, so that other load on the machine affects all of them alike. It panics on errors (must).
func (b *filterBench) hot(server *process) {
	body := filterBody(mixed(candidates))
	story := append([]byte(`{"scope":"story",`), body[1:]...)
	ways := []*way{
		{name: "json", open: filterOpener(server, "application/json", body)},
		{name: "bitmap", open: filterOpener(server, "application/octet-stream", body)},
		{name: "story", open: filterOpener(server, "application/json", story)},
	}
	if b.redis != "" {
		redis, open := b.startRedis()
		defer redis.stop()
		ways = append(ways, &way{name: "smismember", open: open})
	}
	for range rounds {
		for _, w := range ways {
			for several, inFlight := range []int{1, severalFlight} {
				rate, cpu, err := closedLoop(b.ctx, server, inFlight, b.Each/rounds, w.open)
				must.Dof(err, "%s, %d in flight", w.name, inFlight)
				w.rates[several] = append(w.rates[several], rate)
				if cpu > 0 { // else nothing was answered
					w.cpu = append(w.cpu, cpu)
				}
			}
		}
	}
	for _, w := range ways {
		b.r[w.name+"_rps_1"], b.r[w.name+"_rps"] = w.rates[0].median(), w.rates[1].median()
		if w.name != "smismember" { // its server is another one
			b.r["cpu_us_per_"+w.name+"_request"] = w.cpu.sorted().at(0)
		}
	}
}

func filterBody(ids []string) []byte {
	body, _ := json.Marshal(map[string]any{"user": "hot", "items": ids}) // strings only
	return body
}

// load measures latencies with 10,000 candidates at 70 % of the peak. Each round measures the peak again, since that of
// a shared machine moves. It panics on errors (must).
func (b *filterBench) load(server *process) {
	open := filterOpener(server, "application/octet-stream", filterBody(mixed(10_000)))
	var peaks, p50, p99 samples
	for range rounds {
		peak, _ := must.Get2(closedLoop(b.ctx, server, connections, b.Each/2, open))
		took := must.Get(openLoop(b.ctx, open, 0.7*peak, b.Each)).sorted()
		peaks, p50, p99 = append(peaks, peak), append(p50, took.at(.5)), append(p99, took.at(.99))
	}
	b.r["peak_10000_rps"] = peaks.median()
	b.r["p50_at_70_us"], b.r["p99_at_70_us"] = p50.median(), p99.median()
}

// seenID and newID are ids of 14 characters.
func seenID(i int) string { return fmt.Sprintf("seen-%09d", i) }
func newID(i int) string  { return fmt.Sprintf("news-%09d", i) }

// mixed returns n candidates, seen and new ones in a fixed order without a pattern.
func mixed(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		if float64(uint32(i)*2654435761)/(1<<32) < overlap {
			ids[i] = seenID((i * 7919) % seenIDs)
		} else {
			ids[i] = newID(i)
		}
	}
	return ids
}
