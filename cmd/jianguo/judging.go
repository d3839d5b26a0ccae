package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/internal/must"
)

// judging is how a service judges, as it answers on bus.SubjectJudging.
type judging struct {
	Name   string       `json:"name"` // of the process
	Recipe string       `json:"recipe"`
	Policy index.Policy `json:"policy"`
	// Histories is how users' histories in a Redis are kept, whichever service applies a report. Empty: not in a Redis.
	Histories string `json:"histories,omitempty"`
}

func (s *service) judges() judging {
	j := judging{Name: s.name, Recipe: s.index.Recipe(), Policy: s.index.Policy()}
	if h := &s.histories; s.flags.ExposureStore != "" {
		j.Histories = fmt.Sprintf("%v %v %v %s", h.Policies, h.Kinds, h.Scenes, s.flags.TimeZone)
	}
	return j
}

// judgingWait is how long a start waits for what other services on the bus answer. A later answer ends this one.
const judgingWait = 500 * time.Millisecond

// compareJudging ends the start if another service on the bus judges otherwise, unless that is allowed. From then on
// this one answers how it judges. It panics on errors (must).
func (s *service) compareJudging(ctx context.Context) {
	must.Get(s.conn.Subscribe(bus.SubjectJudging, func(m *nats.Msg) {
		s.answer(m, s.judges())
	}))
	s.otherwise = make(chan error, 1)
	inbox := s.conn.NewInbox()
	must.Get(s.conn.Subscribe(inbox, func(m *nats.Msg) {
		err := s.judgesOtherwise(m.Data)
		switch {
		case err == nil:
		case s.flags.JudgeOtherwise:
			s.log.Warn("--judge-otherwise", "error", err)
		default:
			select {
			case s.otherwise <- err:
			default: // one is enough
			}
		}
	}))
	must.Do(s.conn.PublishRequest(bus.SubjectJudging, inbox, nil))
	ctx, cancel := context.WithTimeout(ctx, judgingWait)
	defer cancel()
	must.Do(s.watchJudging(ctx))
}

// watchJudging returns an error once another service has answered that it judges otherwise.
func (s *service) watchJudging(ctx context.Context) error {
	select {
	case err := <-s.otherwise:
		return fmt.Errorf("%w: start it with the same version, flags and files, or stop the other one first "+
			"(docs/scale.md); --judge-otherwise starts it all the same", err)
	case <-ctx.Done():
		return nil
	}
}

// judgesOtherwise returns an error if another service, which answers for itself, judges otherwise.
func (s *service) judgesOtherwise(answer []byte) error {
	var other judging
	if err := json.Unmarshal(answer, &other); err != nil || other.Name == s.name || other.Recipe == "" {
		return nil // its own, or of no service: a stream of another application stores requests and acknowledges them
	}
	own := s.judges()
	changes := own.Policy.Changes(other.Policy)
	if own.Recipe != other.Recipe {
		changes += fmt.Sprintf(" recipe %s → %s (version, --user-dict, --residue)", other.Recipe, own.Recipe)
	}
	what := "judges otherwise, and one of the two would end"
	if changes == "" && own.Histories != other.Histories && own.Histories != "" && other.Histories != "" {
		what = "keeps users' histories otherwise (--exposure-policy, --time-zone), and one applies the other's reports"
		changes = other.Histories + " → " + own.Histories
	}
	if changes == "" {
		return nil
	}
	return fmt.Errorf("another service on this bus %s: its → this one's: %s", what, changes)
}

// warnOfLoss logs what a start finds missing of the directory, if nothing else would say so.
func (s *service) warnOfLoss() {
	if err := s.disk.HasSpace(); err != nil {
		s.log.Warn("writes are refused until there is room", "error", err)
	}
	_, events := s.index.Applied()
	if _, err := os.Stat(filepath.Join(s.dir, "bus")); err != nil && events > 0 {
		s.log.Warn("the streams are not there: dead letters, and what waited for a verdict, are gone", "error", err)
	}
}
