package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"
)

type filterCmd struct {
	Against string        `help:"What to compare with: redis or none." enum:"redis,none" default:"none"`
	Redis   string        `help:"The redis-server to start." default:"redis-server"`
	Users   int           `help:"Users of the mix; 0: do not measure it." default:"20000"`
	Events  int           `help:"Single-item events to publish; 0: do not measure them." default:"200000"`
	Each    time.Duration `help:"How long each measurement takes." default:"5s"`
	Dir     string        `help:"For state; empty: a temporary directory." placeholder:"DIR"`
	Only    []string      `help:"Only these parts: ${enum}." enum:"hot,load,events,mix" placeholder:"PART"`
	output
	serviceFlags
}

// Help explains how it is measured.
func (c *filterCmd) Help() string {
	return `The server runs on one processor, and this process makes the load on the others; on a machine with one they
share it, and "pinned" is false. Peak rates are those of a closed loop with one request in flight and with four, each on
a connection of its own, the same for every way. Latencies come from an open loop: requests are due at fixed intervals,
and each latency counts from the time its request was due, so that a stall is charged to every request it delayed (no
coordinated omission). All clients are of one kind: a socket, a prepared request, and a parser that does no more than
find the answer. Ways take turns in five rounds, and the median counts.`
}

// What is measured: one user who has seen so many ids and is asked for so many candidates, half of them seen.
const (
	seenIDs       = 5000
	candidates    = 5000
	overlap       = 0.5
	rounds        = 5
	severalFlight = 4
)

// filterResult is one run. Rates are per second.
type filterResult struct {
	// InFlight requests at a time.
	JSON       float64 `json:"json_rps"`
	Bitmap     float64 `json:"bitmap_rps"`
	Story      float64 `json:"story_rps"` // JSON, scope story, about one candidate in fifty in a story of two
	SMIsMember float64 `json:"smismember_rps"`
	ZRange     float64 `json:"zrange_map_rps"`
	Blobs      float64 `json:"bloom_blobs_rps"`
	InFlight   int     `json:"in_flight"`
	// One request at a time.
	JSON1       float64 `json:"json_rps_1"`
	Bitmap1     float64 `json:"bitmap_rps_1"`
	Story1      float64 `json:"story_rps_1"`
	SMIsMember1 float64 `json:"smismember_rps_1"`
	ZRange1     float64 `json:"zrange_map_rps_1"`
	Blobs1      float64 `json:"bloom_blobs_rps_1"`

	CPU       float64 `json:"cpu_us_per_request"`        // of the server, JSON
	CPUBitmap float64 `json:"cpu_us_per_bitmap_request"` // of the server

	Peak10k  float64    `json:"peak_10000_rps"`     // 10,000 candidates, as many connections as it takes
	Rate10k  float64    `json:"rate_10000_rps"`     // 70 % of that
	P50At70  float64    `json:"p50_at_70_us"`       // the same at that rate: the median of five rounds
	P99At70  float64    `json:"p99_at_70_us"`       //
	Slice99  float64    `json:"p99_at_70_slice_us"` // of the median slice of 250 ms
	Latency  []quantile `json:"latency_at_70,omitempty"`
	ColdRate float64    `json:"cold_rps"` // half of the peak, for users that are not in memory
	ColdP50  float64    `json:"cold_p50_us"`
	ColdP99  float64    `json:"cold_p99_us"`
	ColdS99  float64    `json:"cold_p99_slice_us"`
	MixUsers int        `json:"mix_users"`
	FileMix  float64    `json:"file_bytes_per_user_mix"`

	EventsSync  float64 `json:"events_per_second_synced"`
	EventsRelax float64 `json:"events_per_second_relaxed"`
	Syncs       float64 `json:"fdatasync_per_s"` // of the disk, 4 KiB appended each time

	CPUs       int     `json:"cpus"`
	Pinned     bool    `json:"pinned"` // server and load on processors of their own
	Seen       int     `json:"seen"`
	Candidates int     `json:"candidates"`
	Overlap    float64 `json:"overlap"`
}

// filterBench is one run under way.
type filterBench struct {
	filterCmd
	ctx     context.Context
	r       filterResult
	log     io.Writer
	jianguo string
	redis   string // empty: no comparison
}

// Run starts servers and measures them.
func (c *filterCmd) Run(co *streams) (err error) {
	b := &filterBench{filterCmd: *c, ctx: co.ctx, log: co.err}
	if b.jianguo, err = c.serviceFlags.jianguo(); err != nil {
		return err
	}
	if c.Against == "redis" {
		if b.redis, err = exec.LookPath(c.Redis); err != nil {
			return fmt.Errorf("--against redis: %w (Debian: apt-get install redis-server)", err)
		}
	}
	dir, remove, err := orTemporary(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b.Dir = dir
	if err := b.measure(); err != nil {
		return err
	}
	return c.print(co.out, &b.r)
}

// measure measures everything asked for.
func (b *filterBench) measure() error {
	b.r = filterResult{Seen: seenIDs, Candidates: candidates, Overlap: overlap, InFlight: severalFlight,
		CPUs: runtime.NumCPU(), Pinned: pinSelf() == nil}
	for _, part := range []struct {
		name string
		do   func() error
		on   bool
	}{
		{"hot", b.hot, true}, {"load", b.load, true},
		{"events", b.events, b.Events > 0}, {"mix", b.mix, b.Users > 0},
	} {
		if !part.on || len(b.Only) > 0 && !slices.Contains(b.Only, part.name) {
			continue
		}
		fmt.Fprintf(b.log, "%s\n", part.name)
		if err := errors.Join(part.do(), b.ctx.Err()); err != nil {
			return fmt.Errorf("bench: %s: %w", part.name, err)
		}
	}
	return nil
}

// startServer starts a service on a directory, or a new one. Its cache of users has so many MiB.
func (b *filterBench) startServer(dir, durability, policy string, cacheMB int) (*process, error) {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp(b.Dir, "server-"); err != nil {
			return nil, err
		}
	}
	return startService(b.ctx, b.r.Pinned, b.jianguo, dir, "--durability", durability,
		"--exposure-cache", fmt.Sprint(cacheMB), "--exposure-policy", policy)
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
