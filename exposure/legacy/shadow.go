package legacy

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
)

// Reasons why jianguo and the old store differ about an item.
const (
	falsePositive = "false_positive" // only jianguo has it, in a shard; also what the old store dropped long ago
	unknownToOld  = "unknown_to_old" // only jianguo has it, exactly: the old store dropped it, or was not told
	retention     = "retention"      // only the old store has it: the policy forgot it, or it was not told
	notImported   = "not_imported"   // likewise, and the user is not imported yet
)

var reasons = []string{falsePositive, unknownToOld, retention, notImported}

// Difference is an item about which the stores differ.
type Difference struct {
	User   string    `json:"user"`
	Item   string    `json:"item"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Report counts what a shadow has compared since the start of the process.
type Report struct {
	Since       time.Time      `json:"since"`
	Compared    int            `json:"compared"` // items
	Differences map[string]int `json:"differences"`
	Latest      []Difference   `json:"latest"` // newest last
}

// latest is how many differences a report lists.
const latest = 100

// shadow counts differences.
type shadow struct {
	mu     sync.Mutex
	report Report

	compared    prometheus.Counter
	differences *prometheus.CounterVec // by reason
}

func newShadow(compared prometheus.Counter) *shadow {
	s := &shadow{report: Report{Since: time.Now(), Differences: map[string]int{}, Latest: []Difference{}}, compared: compared,
		differences: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "jianguo", Subsystem: "legacy", Name: "differences_total",
			Help: "Of these, the ones about which they differ, by reason."}, []string{"reason"})}
	for _, reason := range reasons {
		s.differences.WithLabelValues(reason)
	}
	return s
}

// compare counts where marks, those of jianguo, differ from what the old store holds.
func (s *shadow) compare(q *wire.Query, marks []byte, held map[string]bool, imported bool) {
	s.compared.Add(float64(len(marks)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Compared += len(marks)
	for i, mark := range marks {
		if old := held[string(q.ID(i))]; old == (mark != kernel.Unseen) {
			continue
		} else if old && imported {
			s.count(q, i, retention)
		} else if old {
			s.count(q, i, notImported)
		} else if mark == kernel.Exact {
			s.count(q, i, unknownToOld)
		} else {
			s.count(q, i, falsePositive)
		}
	}
}

func (s *shadow) count(q *wire.Query, i int, reason string) {
	s.differences.WithLabelValues(reason).Inc()
	s.report.Differences[reason]++
	if len(s.report.Latest) == latest {
		s.report.Latest = slices.Delete(s.report.Latest, 0, 1)
	}
	s.report.Latest = append(s.report.Latest, Difference{User: q.User, Item: string(q.ID(i)), Reason: reason, At: time.Now()})
}

// Report returns what was compared, or false if the old store does not answer filters alone.
func (o *Old) Report() (r Report, ok bool) {
	if o == nil || !o.Shadow {
		return r, false
	}
	o.shadow.mu.Lock()
	defer o.shadow.mu.Unlock()
	r = o.shadow.report
	r.Differences = map[string]int{}
	maps.Copy(r.Differences, o.shadow.report.Differences)
	r.Latest = slices.Clone(r.Latest)
	return r, true
}

// Forget removes a user from the report.
func (o *Old) Forget(user string) {
	if o == nil {
		return
	}
	o.shadow.mu.Lock()
	defer o.shadow.mu.Unlock()
	o.shadow.report.Latest = slices.DeleteFunc(o.shadow.report.Latest, func(d Difference) bool { return d.User == user })
}
