package console

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// health remembers since when a part of the service is not ready, and what its last trouble was.
type health struct {
	ready map[string]func() error

	mu    sync.Mutex
	parts map[string]trouble // the last of each part; under mu
}

// trouble is why a part was not ready. Until is zero while it lasts.
type trouble struct {
	Part, Why    string
	Since, Until time.Time
}

func newHealth(cfg *Config) *health {
	h := &health{ready: map[string]func() error{}, parts: map[string]trouble{}}
	maps.Copy(h.ready, cfg.Ready)
	if cfg.Ingest != nil {
		h.ready["ingest"] = cfg.Ingest.Ready
	}
	return h
}

// watch looks at the parts until done is closed.
func (h *health) watch(done <-chan struct{}, now func() time.Time) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		h.look(now())
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

func (h *health) look(now time.Time) {
	for part, ready := range h.ready {
		h.note(part, ready(), now)
	}
}

// note remembers how a part stands.
func (h *health) note(part string, err error, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, had := h.parts[part]
	lasts := had && last.Until.IsZero()
	switch {
	case err != nil && lasts:
		last.Why = err.Error()
	case err != nil:
		last = trouble{Part: part, Why: err.Error(), Since: now}
	case lasts:
		last.Until = now
	default:
		return
	}
	h.parts[part] = last
}

// list returns the troubles, those that last first, and then the latest.
func (h *health) list() (list []trouble) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.parts {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b trouble) int {
		if x, y := a.Until.IsZero(), b.Until.IsZero(); x != y {
			return map[bool]int{true: -1, false: 1}[x]
		}
		return cmp.Or(b.Until.Compare(a.Until), b.Since.Compare(a.Since), cmp.Compare(a.Part, b.Part))
	})
	return list
}
