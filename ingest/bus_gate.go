package ingest

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"jianguo/ingest/gate"
)

// gates are those that stand before streams of a bus.
type gates struct {
	synced bool   // the bus syncs before it acknowledges
	out    string // subject that they publish on, with the public one behind it; nobody else knows it
	log    *slog.Logger

	mu   sync.Mutex
	open []*gate.Gate // under mu
}

// Gate puts a gate before a stream that there is and that takes atomic batches:
// what is published one by one on these of its subjects is synced together. A
// relaxed bus does not sync, so it needs none and gets none.
func (b *Bus) Gate(stream string, subjects ...string) error {
	return b.openGate(stream, subjects, nil)
}

// openGate is Gate with points of failure, for tests.
func (b *Bus) openGate(stream string, subjects []string, fail func(string) error) error {
	if !b.gates.synced {
		return nil
	}
	account := b.server.GlobalAccount()
	for _, s := range subjects {
		if err := account.AddMapping(b.gates.out+"."+s, numbered(s)); err != nil {
			return fmt.Errorf("bus: gate of %s: subject %s: %w", stream, s, err)
		}
	}
	g, err := gate.Open(gate.Config{Dial: func() (net.Conn, error) { return b.server.InProcessConn() }, Secret: b.secret,
		Stream: stream, Subjects: subjects, Out: b.gates.out + ".", Logger: b.gates.log, Fail: fail})
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	b.gates.mu.Lock()
	b.gates.open = append(b.gates.open, g)
	b.gates.mu.Unlock()
	// Only now that somebody listens there.
	for _, s := range subjects {
		if err := account.AddMapping(s, gate.Prefix+numbered(s)); err != nil {
			return fmt.Errorf("bus: gate of %s: subject %s: %w", stream, s, err)
		}
	}
	return nil
}

// numbered is a subject as the target of a mapping from itself.
func numbered(subject string) string {
	tokens, n := strings.Split(subject, "."), 0
	for i, t := range tokens {
		if t == "*" {
			n++
			tokens[i] = fmt.Sprintf("{{wildcard(%d)}}", n)
		}
	}
	return strings.Join(tokens, ".")
}

// throughGates adds to subjects a client may publish on what they are mapped to:
// the server asks for permission after it has mapped.
func throughGates(publish []string) []string {
	if publish == nil {
		return nil
	}
	all := slices.Clone(publish)
	for _, s := range publish {
		all = append(all, gate.Prefix+s)
	}
	return all
}

// Collectors returns the metrics of the bus, to be registered once its gates
// are open.
func (b *Bus) Collectors() (all []prometheus.Collector) {
	b.gates.mu.Lock()
	defer b.gates.mu.Unlock()
	for _, g := range b.gates.open {
		all = append(all, g.Collectors()...)
	}
	return all
}

func (b *Bus) abandon() {
	b.gates.mu.Lock()
	defer b.gates.mu.Unlock()
	for _, g := range b.gates.open {
		g.Abandon()
	}
}

// closeGates lets what came be stored and takes no more.
func (b *Bus) closeGates() {
	b.gates.mu.Lock()
	open := b.gates.open
	b.gates.open = nil
	b.gates.mu.Unlock()
	var wg sync.WaitGroup
	for _, g := range open {
		wg.Go(g.Close)
	}
	wg.Wait()
}
