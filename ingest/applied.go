package ingest

import (
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
)

// answerApplied serves bus.SubjectApplied until stop is called, for all and for those who name this process.
func (s *Service) answerApplied() (stop func(), err error) {
	sub, err := s.cfg.Conn.Subscribe(bus.SubjectApplied, func(m *nats.Msg) {
		if !bus.MayAnswer(m.Reply) || len(m.Data) > 0 && string(m.Data) != s.cfg.Name {
			return
		}
		if err := m.Respond(strconv.AppendUint(nil, s.applied.Load(), 10)); err != nil {
			s.log.Warn("answer on items.applied", "error", err)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

// Waiting returns how many messages of ITEMS wait for their verdicts, if the stream ends at last.
func (s *Service) Waiting(last uint64) uint64 { return last - min(last, s.applied.Load()) }
