package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// way is one way to answer the same question, and where its figures go.
type way struct {
	open              opener
	one, several, cpu *float64
	rates             [2]samples // with one request in flight, and with several
}

// hot measures one user whose history is in memory, and Redis. All ways take turns, several times, and the median of
// each counts, so that other load on the machine affects all of them alike.
func (b *filterBench) hot() error {
	server, err := b.hotServer()
	if err != nil {
		return err
	}
	defer server.stop()
	if err := b.tellStories(server); err != nil {
		return fmt.Errorf("stories: %w", err)
	}
	body := filterBody(mixed(candidates))
	byStory := bytes.Replace(body, []byte(`{`), []byte(`{"scope":"story",`), 1)
	asked := func(accept string, body []byte) opener {
		return httpOpener(server.addr, always(httpRequest("/filter", accept, body)))
	}
	var ignored float64
	ways := []*way{
		{asked("application/json", body), &b.r.JSON1, &b.r.JSON, &b.r.CPU, [2]samples{}},
		{asked("application/octet-stream", body), &b.r.Bitmap1, &b.r.Bitmap, &b.r.CPUBitmap, [2]samples{}},
		{asked("application/json", byStory), &b.r.Story1, &b.r.Story, &ignored, [2]samples{}},
	}
	if b.redis != "" {
		redis, more, err := b.redisWays()
		if err != nil {
			return err
		}
		defer redis.stop()
		ways = append(ways, more...)
	}
	for range rounds {
		for k, w := range ways {
			for several, inFlight := range []int{1, severalFlight} {
				rate, cpu, err := closedLoop(b.ctx, server, inFlight, b.Each/rounds, w.open)
				if err != nil {
					return fmt.Errorf("way %d, %d in flight: %w", k+1, inFlight, err)
				}
				w.rates[several] = append(w.rates[several], rate)
				if w.cpu != nil && (*w.cpu == 0 || cpu < *w.cpu) {
					*w.cpu = cpu
				}
			}
		}
	}
	for _, w := range ways {
		*w.one, *w.several = w.rates[0].median(), w.rates[1].median()
	}
	return nil
}

func filterBody(ids []string) []byte {
	body, _ := json.Marshal(map[string]any{"user": "hot", "items": ids}) // strings only
	return body
}

// hotServer starts a server with one user that has seen half of the candidates.
func (b *filterBench) hotServer() (*process, error) {
	server, err := b.startServer("", "relaxed", "rotate", 256)
	if err != nil {
		return nil, err
	}
	seen := make([]string, seenIDs)
	for i := range seen {
		seen[i] = seenID(i)
	}
	body, _ := json.Marshal(map[string]any{"user": "hot", "kind": "seen", "items": seen})
	if err := server.post("/exposures", body); err != nil {
		return nil, fmt.Errorf("%w: %s", err, server.stop())
	}
	return server, nil
}

// tellStories publishes about one candidate in fifty, and for each another article, which an editor merges with it.
func (b *filterBench) tellStories(server *process) error {
	rng, told := rand.New(rand.NewPCG(5, 6)), 0
	for i, id := range mixed(candidates) {
		if i%25 != 0 || !strings.HasPrefix(id, "news-") {
			continue
		}
		for _, name := range []string{id, "reprint-" + id} {
			text := make([]rune, 400)
			for i := range text {
				text[i] = rune(0x4e00 + rng.IntN(20000))
			}
			body, _ := json.Marshal(map[string]string{"id": name, "body": string(text)})
			if err := server.post("/items", body); err != nil {
				return err
			}
		}
		told += 2
		merge := fmt.Appendf(nil, `{"kind":"merge","into":%d,"by":"bench"}`, told-1)
		if err := server.post(fmt.Sprintf("/clusters/%d/decisions", told), merge); err != nil {
			return err
		}
	}
	return server.awaitMetric(b.ctx, "jianguo_exposure_story_items",
		func(known float64) bool { return int(known) == told })
}

// load measures latencies with 10,000 candidates at 70 % of the peak.
func (b *filterBench) load() error {
	server, err := b.hotServer()
	if err != nil {
		return err
	}
	defer server.stop()
	next := always(httpRequest("/filter", "application/octet-stream", filterBody(mixed(10_000))))
	s, err := steady(b.ctx, server, next, 0.7, b.Each)
	if err != nil {
		return err
	}
	b.r.Peak10k, b.r.Rate10k = s.peak.median(), s.rate.median()
	b.r.P50At70, b.r.P99At70, b.r.Slice99 = s.p50.median(), s.p99.median(), s.slice99.median()
	b.r.Latency = s.typical().quantiles()
	return nil
}
