// Package filterbench measures POST /filter against a real server process and against
// plain Redis, in one run on one machine.
//
// The server runs in a process of its own on one processor, and this process makes the
// load on the others. On a machine with one processor they share it, and the result
// says so. Peak rates are those of a closed loop on one connection, with one request in
// flight and with several, the same number for every way. Latencies come from
// an open loop: requests are due at fixed intervals, and each latency counts from the
// time its request was due, so that a stall is charged to every request it delayed (no
// coordinated omission). All clients are of the same kind: a socket, a prepared request,
// and a parser that does no more than find the answer.
//
// Numbers are of one machine at one time. Compare within a run, not between runs.
package filterbench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"jianguo/cmd/jianguo-bench/proc"
	"jianguo/exposure"
	"jianguo/internal/userbase"
)

// Options say what to run. Jianguo and Control are required; the zero values of the others are those
// of the documented benchmark.
type Options struct {
	Jianguo string   // the service's binary
	Control []string // the command that runs ServeControl; the size of an answer is added to it
	Dir     string   // for state; default a temporary directory, removed at the end

	Seen, Candidates int           // of the hot user; 5,000 and 5,000
	Overlap          float64       // share of the candidates that are seen; 0.5
	Each             time.Duration // measurement takes this long; 5 s
	Redis            string        // path of redis-server; empty: no comparison
	Rate             float64       // of requests where latencies are measured; 0: a share of the peak
	Pipeline         int           // requests in flight on one connection, where they are pipelined; 4

	Users  int              // of the mix; 0: no mix
	Mix    []userbase.Share // 60x50,30x500,10x20000
	Policy exposure.Policy  // of the mix; rotate, 3 slots, 10,000 after the first 1,000
	Events int              // single-item events to publish; 0: none

	Only []string // names of Parts; none: all that the sizes above do not leave out

	Log io.Writer // progress, for people; default none
}

// Parts are what a run consists of, in its order.
var Parts = []string{"process", "hot", "load", "events", "mix"}

// Result is one run. Rates are per second.
type Result struct {
	// One connection, InFlight requests on it.
	JSON       float64 `json:"json_rps"`
	Bitmap     float64 `json:"bitmap_rps"`
	Story      float64 `json:"story_rps"` // JSON, scope story, about one candidate in fifty in a story of two
	SMIsMember float64 `json:"smismember_rps"`
	ZRange     float64 `json:"zrange_map_rps"`
	Blobs      float64 `json:"bloom_blobs_rps"`
	InFlight   int     `json:"in_flight"`
	// One connection, one request on it.
	JSON1       float64 `json:"json_rps_1"`
	Bitmap1     float64 `json:"bitmap_rps_1"`
	Story1      float64 `json:"story_rps_1"`
	SMIsMember1 float64 `json:"smismember_rps_1"`
	ZRange1     float64 `json:"zrange_map_rps_1"`
	Blobs1      float64 `json:"bloom_blobs_rps_1"`

	KernelNS    float64 `json:"kernel_ns"`
	CPU         float64 `json:"cpu_us_per_request"`        // of the server, JSON
	CPUBitmap   float64 `json:"cpu_us_per_bitmap_request"` // of the server
	FileMix     float64 `json:"file_bytes_per_user_mix"`
	ColdP50     float64 `json:"cold_p50_us"`
	ColdP99     float64 `json:"cold_p99_us"`
	FPR         float64 `json:"fpr"`
	EventsSync  float64 `json:"events_per_second_synced"`
	EventsRelax float64 `json:"events_per_second_relaxed"`

	Peak10k       float64 `json:"peak_10000_rps"`     // 10,000 candidates, as many connections as it takes
	Rate10k       float64 `json:"rate_10000_rps"`     // 70 % of that, or what was asked for
	P50At70       float64 `json:"p50_at_70_us"`       // the same at that rate: the median of five rounds,
	P99At70       float64 `json:"p99_at_70_us"`       // of which each is cut into slices of 250 ms
	Slice99At70   float64 `json:"p99_at_70_slice_us"` // of the median slice
	Quiet50At70   float64 `json:"p50_at_70_quiet_us"` // of the slices in which the host of this machine ran no other machine
	Quiet99At70   float64 `json:"p99_at_70_quiet_us"`
	QuietAt70     float64 `json:"quiet_at_70"` // the share of these
	ControlQuiet  float64 `json:"control_quiet_us"`
	ControlP50    float64 `json:"control_p50_us"`      // ServeControl at that rate and as busy, slice by slice in turns with it
	ControlP99    float64 `json:"control_p99_us"`      //
	ControlS99    float64 `json:"control_slice_us"`    // p99 of its median slice
	ControlBusy   float64 `json:"control_busy"`        // how busy it was
	ControlCold50 float64 `json:"control_cold_p50_us"` // and like the cold users
	ControlCold99 float64 `json:"control_cold_p99_us"` //
	ControlColdS  float64 `json:"control_cold_slice_us"`
	ControlColdQ  float64 `json:"control_cold_quiet_us"`
	Late99        float64 `json:"late_p99_us"`       // of how late the load itself sent, part of p99_at_70_us
	ColdLate99    float64 `json:"cold_late_p99_us"`  // and of cold_p99_us
	BusyAt70      float64 `json:"busy_at_70"`        // share of its processor the server used then
	ColdBusy      float64 `json:"cold_busy"`         // and at the rate of cold users
	ColdSlice99   float64 `json:"cold_p99_slice_us"` // of the median slice
	ColdQuiet99   float64 `json:"cold_p99_quiet_us"` // of slices as above
	ColdQuiet     float64 `json:"cold_quiet"`        // the share of these
	ColdRate      float64 `json:"cold_rps"`          // at which cold latencies were measured: half of the peak, or what was asked for
	ColdUsers     int     `json:"cold_users"`        // asked, each as often as all others
	MixUsers      int     `json:"mix_users"`         //
	Syncs         float64 `json:"fdatasync_per_s"`   // of the disk, 4 KiB appended each time
	CPUs          int     `json:"cpus"`              //
	Pinned        bool    `json:"pinned"`            // server and load on processors of their own
	Seen          int     `json:"seen"`              //
	Candidates    int     `json:"candidates"`        //
	Overlap       float64 `json:"overlap"`           //
	Theory        float64 `json:"fpr_theory"`        //
	Latencies     []Point `json:"latency_at_70,omitempty"`
}

// Point is a quantile of the latencies at 70 % of the peak.
type Point struct {
	Quantile float64 `json:"q"`
	Micros   float64 `json:"us"`
}

func (o *Options) defaults() {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Seen, 5000)
	def(&o.Candidates, 5000)
	def(&o.Pipeline, 4)
	if o.Overlap == 0 {
		o.Overlap = 0.5
	}
	if o.Each == 0 {
		o.Each = 5 * time.Second
	}
	if o.Mix == nil {
		o.Mix = []userbase.Share{{Part: 0.6, Keys: 50}, {Part: 0.3, Keys: 500}, {Part: 0.1, Keys: 20000}}
	}
	if o.Policy == (exposure.Policy{}) {
		o.Policy = exposure.Policy{Slots: 3, Large: 10000}
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
}

// Run measures everything asked for.
func Run(ctx context.Context, o Options) (*Result, error) {
	o.defaults()
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "jianguo-bench-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		o.Dir = dir
	}
	r := &Result{Seen: o.Seen, Candidates: o.Candidates, Overlap: o.Overlap, InFlight: o.Pipeline}
	serverCPU, loadCPUs := proc.CPUs()
	r.CPUs = len(loadCPUs) + 1
	r.Pinned = proc.PinSelf(loadCPUs) == nil && len(loadCPUs) > 0
	b := &bench{Options: o, ctx: ctx, r: r, cpu: serverCPU}
	steps := map[string]struct {
		name string
		do   func() error
		on   bool
	}{
		"process": {"kernel, false positives", b.inProcess, true},
		"hot":     {"one hot user", b.hot, true},
		"load":    {"one hot user, 10,000 candidates, at 70 % of the peak", b.load, true},
		"events":  {"events", b.events, o.Events > 0},
		"mix":     {"a user base of the mix", b.mix, o.Users > 0},
	}
	for _, part := range Parts {
		s := steps[part]
		if !s.on || len(o.Only) > 0 && !slices.Contains(o.Only, part) {
			continue
		}
		fmt.Fprintf(o.Log, "%s\n", s.name)
		if err := s.do(); err != nil {
			return r, fmt.Errorf("bench: %s: %w", s.name, err)
		}
		if err := ctx.Err(); err != nil {
			return r, err
		}
	}
	return r, nil
}

type bench struct {
	Options
	ctx context.Context
	r   *Result
	cpu int // of the server

	json, bitmap, story, smismember, zrange, blobs rates
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.Log, "  "+format+"\n", args...) }

// inProcess measures what needs no server.
func (b *bench) inProcess() error {
	var err error
	if b.r.KernelNS, err = kernelCost(b.Seen, b.Candidates); err != nil {
		return err
	}
	if b.r.FPR, b.r.Theory, err = measuredRate(10, 5_000_000); err != nil {
		return err
	}
	b.say("kernel %.1f ns a candidate; false positives %.4f %% (by formula %.4f %%)", b.r.KernelNS, 100*b.r.FPR, 100*b.r.Theory)
	return nil
}

// seenID and newID are ids of 14 characters.
func seenID(i int) string { return fmt.Sprintf("seen-%09d", i) }
func newID(i int) string  { return fmt.Sprintf("news-%09d", i) }

// candidates mixes seen and new ids in a fixed order without a pattern.
func (b *bench) candidates(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		if float64(uint32(i)*2654435761)/(1<<32) < b.Overlap {
			ids[i] = seenID((i * 7919) % b.Seen)
		} else {
			ids[i] = newID(i)
		}
	}
	return ids
}

func filterBody(user string, ids []string) []byte {
	body, _ := json.Marshal(map[string]any{"user": user, "items": ids})
	return body
}

// rates of one way, in each round, with one request in flight and with several.
type rates struct{ one, several []float64 }

func median(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// contender is one way to answer the same question.
type contender struct {
	name string
	run  func(inFlight int, d time.Duration) (rps float64, err error)
	to   *rates
}

// rounds measures all ways in turn, several times, and takes the median of each, so
// that other load on the machine affects all of them alike.
func (b *bench) rounds(srv *server) error {
	const rounds = 5
	body := filterBody("hot", b.candidates(b.Candidates))
	byStory := bytes.Replace(body, []byte(`{`), []byte(`{"scope":"story",`), 1)
	var ways []*contender
	for _, m := range []struct {
		name, accept string
		body         []byte
		to           *rates
		cpu          *float64
	}{{"JSON", "application/json", body, &b.json, &b.r.CPU}, {"bitmap", "application/octet-stream", body, &b.bitmap, &b.r.CPUBitmap},
		{"scope story", "application/json", byStory, &b.story, new(float64)}} {
		req := httpRequest("/filter", m.accept, m.body)
		ways = append(ways, &contender{name: "POST /filter, " + m.name, to: m.to, run: func(inFlight int, d time.Duration) (float64, error) {
			rps, cpu, err := srv.ask(b.ctx, req, inFlight, d)
			if *m.cpu == 0 || cpu < *m.cpu {
				*m.cpu = cpu
			}
			return rps, err
		}})
	}
	if b.Redis != "" {
		more, stop, err := b.redis()
		if err != nil {
			return err
		}
		defer stop()
		ways = append(ways, more...)
	}
	for range rounds {
		for _, w := range ways {
			for _, m := range []struct {
				inFlight int
				to       *[]float64
			}{{1, &w.to.one}, {b.Pipeline, &w.to.several}} {
				rps, err := w.run(m.inFlight, b.Each/rounds)
				if err != nil {
					return fmt.Errorf("%s, %d in flight: %w", w.name, m.inFlight, err)
				}
				*m.to = append(*m.to, rps)
			}
		}
	}
	for _, w := range ways {
		for _, m := range []struct {
			inFlight int
			rates    []float64
		}{{1, w.to.one}, {b.Pipeline, w.to.several}} {
			b.say("%s, %d in flight: %.0f requests/s (%.0f to %.0f)", w.name, m.inFlight, median(m.rates), slices.Min(m.rates), slices.Max(m.rates))
		}
	}
	b.say("processor time of the server: %.0f µs a request in JSON, %.0f µs with a bitmap", b.r.CPU, b.r.CPUBitmap)
	b.r.JSON1, b.r.JSON = median(b.json.one), median(b.json.several)
	b.r.Bitmap1, b.r.Bitmap = median(b.bitmap.one), median(b.bitmap.several)
	b.r.Story1, b.r.Story = median(b.story.one), median(b.story.several)
	b.r.SMIsMember1, b.r.SMIsMember = median(b.smismember.one), median(b.smismember.several)
	b.r.ZRange1, b.r.ZRange = median(b.zrange.one), median(b.zrange.several)
	b.r.Blobs1, b.r.Blobs = median(b.blobs.one), median(b.blobs.several)
	return nil
}

// hotServer starts a server with one user that has seen half of the candidates.
func (b *bench) hotServer() (*server, error) {
	srv, err := b.startServer(serverArgs{relaxed: true, policy: "rotate", cacheMB: 256})
	if err != nil {
		return nil, err
	}
	seen := make([]string, b.Seen)
	for i := range seen {
		seen[i] = seenID(i)
	}
	body, _ := json.Marshal(map[string]any{"user": "hot", "kind": "seen", "items": seen})
	if err := srv.Post("/exposures", body); err != nil {
		srv.Stop()
		return nil, err
	}
	return srv, nil
}

// hot measures one user whose history is in memory.
func (b *bench) hot() error {
	srv, err := b.hotServer()
	if err != nil {
		return err
	}
	defer srv.Stop()
	if err := b.tellStories(srv); err != nil {
		return fmt.Errorf("stories: %w", err)
	}
	return b.rounds(srv)
}

// tellStories publishes about one candidate in fifty, and for each another article, which an editor merges with it.
func (b *bench) tellStories(srv *server) error {
	rng, told := rand.New(rand.NewPCG(5, 6)), 0
	for i, id := range b.candidates(b.Candidates) {
		if i%25 != 0 || !strings.HasPrefix(id, "news-") {
			continue
		}
		for _, name := range []string{id, "reprint-" + id} {
			text := make([]rune, 400)
			for i := range text {
				text[i] = rune(0x4e00 + rng.IntN(20000))
			}
			body, _ := json.Marshal(map[string]string{"id": name, "body": string(text)})
			if err := srv.Post("/items", body); err != nil {
				return err
			}
		}
		told += 2
		if err := srv.Post(fmt.Sprintf("/clusters/%d/decisions", told), fmt.Appendf(nil, `{"kind":"merge","into":%d,"by":"bench"}`, told-1)); err != nil {
			return err
		}
	}
	for {
		known, err := srv.Metric(b.ctx, "jianguo_exposure_story_items")
		if err != nil || int(known) == told {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// load measures latencies with 10,000 candidates at 70 % of the peak.
func (b *bench) load() error {
	srv, err := b.hotServer()
	if err != nil {
		return err
	}
	defer srv.Stop()
	req := httpRequest("/filter", "application/octet-stream", filterBody("hot", b.candidates(10_000)))
	one := always(req)
	control, err := b.startControl(10_000 / 8)
	if err != nil {
		return err
	}
	defer control.Stop()
	st, err := srv.steady(b.ctx, one, control, one, pace{b.Rate, 0.7}, b.Each)
	if err != nil {
		return err
	}
	b.r.Peak10k, b.r.Rate10k = st.peak, st.rate
	b.r.BusyAt70, b.r.P50At70, b.r.P99At70, b.r.Slice99At70, b.r.Late99 = st.own.busy, st.own.p50, st.own.p99, st.own.slice99, st.own.late99
	b.r.Quiet50At70, b.r.Quiet99At70, b.r.QuietAt70, b.r.ControlQuiet = st.own.quiet50, st.own.quiet99, st.own.quiet, st.control.quiet99
	b.r.ControlP50, b.r.ControlP99, b.r.ControlS99, b.r.ControlBusy = st.control.p50, st.control.p99, st.control.slice99, st.control.busy
	for _, q := range []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 1} {
		b.r.Latencies = append(b.r.Latencies, Point{q, st.lat.at(q)})
	}
	b.say("10,000 candidates: peak %.0f/s; at %.0f/s: %s", st.peak, st.rate, st)
	return nil
}
