package redis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/rueidis"

	"jianguo/exposure/kernel"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
)

// Old is the Redis that a platform had before, during the move from it. It answers filters as well, and the histories
// of users are imported from it: each user when asked for (Ask), or all of them (ImportAll). What a policy would
// forget is left out (Plan). The rest goes into the log like any report, oldest first, so that what is imported twice
// counts once. The old store is only read. Its fields are set before its first use, and all methods may
// then be called from any goroutine.
type Old struct {
	Timeout time.Duration // of a filter request
	Shadow  bool          // the old store alone answers; where jianguo differs is counted
	Logger  *slog.Logger
	// Import stores what the old store held of a user, newest first, and that it need not be asked again.
	Import               func(ctx context.Context, user string, history []trace.Exposure) error
	prometheus.Collector // the metrics, for the caller to register

	key     string
	client  atomic.Pointer[rueidis.Client] // nil until the server has answered once
	imports chan struct{}                  // one for each user being imported
	turn    sync.Mutex                     // of reads in the background

	asked, late, imported, compared prometheus.Counter
	differences                     *prometheus.CounterVec // by reason
}

const (
	importTimeout = 10 * time.Second
	importers     = 16 // users imported at once, at most
)

// OpenOld begins to connect to a Redis, in which a user's key is as key says. It need not answer yet.
func OpenOld(ctx context.Context, url, key string, logger *slog.Logger) (*Old, error) {
	all := prometheus.NewRegistry()
	auto := promauto.With(all)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: "jianguo_legacy_" + name, Help: help})
	}
	o := &Old{Logger: logger, key: key, imports: make(chan struct{}, importers), Collector: all,
		asked:    counter("requests_total", "Filter requests that asked the old store."),
		late:     counter("unanswered_total", "Of these, the ones it did not answer in time."),
		imported: counter("imported_users_total", "Users imported because they were asked for."),
		compared: counter("compared_items_total", "Items about which both stores were asked, with --shadow."),
		differences: auto.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_legacy_differences_total",
			Help: "Of these, the ones about which they differ, by reason."}, []string{"reason"})}
	for _, reason := range reasons {
		o.differences.WithLabelValues(reason)
	}
	return o, o.connect(ctx, url)
}

// Ask adds what the old store holds to the marks of a request, and has the user imported. With Shadow it
// replaces the marks. known is false if the marks are not those of the user's state. Ask returns false if the
// old store did not answer in time.
func (o *Old) Ask(ctx context.Context, known, imported bool, q *wire.Query, marks []byte) bool {
	if imported && !o.Shadow {
		return true
	}
	o.asked.Inc()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	history, err := o.read(ctx, q.User)
	if known && !imported && !errors.Is(err, errAway) {
		o.importLater(q.User)
	}
	if err != nil {
		o.late.Inc()
		return false
	}
	held := make(map[string]bool, len(history))
	for _, e := range history {
		held[e.ID] = true
	}
	if o.Shadow && known {
		o.compare(q, marks, held, imported)
	}
	for i := range marks {
		if held[string(q.ID(i))] {
			marks[i] = kernel.Exact
		} else if o.Shadow {
			marks[i] = kernel.Unseen
		}
	}
	return true
}

// History is what the old store holds of a user. It may take a second: it is asked for by people.
func (o *Old) History(ctx context.Context, user string) ([]trace.Exposure, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return o.read(ctx, user)
}

// importLater imports a user. If too many are being imported, the user's next request asks again.
func (o *Old) importLater(user string) {
	select {
	case o.imports <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-o.imports }()
		if err := o.importUser(context.Background(), user); err != nil {
			o.Logger.Warn("exposure: a user's old history is not imported yet", "err", err)
		}
	}()
}

// importUser imports a user.
func (o *Old) importUser(ctx context.Context, user string) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	history, err := o.readInTurn(ctx, user)
	if err == nil {
		err = o.Import(ctx, user, history)
	}
	if err == nil {
		o.imported.Inc()
	}
	return err
}

// reasonOf says why jianguo, which marks an item so, and the old store differ about it.
func reasonOf(mark byte, old, imported bool) string {
	switch {
	case old && !imported:
		return "not_imported" // only the old store has it, and the user is not imported yet
	case old:
		return "retention" // only the old store has it: the policy forgot it, or it was not reported here
	case mark == kernel.Exact:
		return "unknown_to_old" // only jianguo has it: the old store dropped it, or was not told
	}
	return "false_positive" // only a shard has it: also what the old store dropped long ago
}

var reasons = []string{"not_imported", "retention", "unknown_to_old", "false_positive"}

// compare counts where marks, those of jianguo, differ from what the old store holds.
func (o *Old) compare(q *wire.Query, marks []byte, held map[string]bool, imported bool) {
	o.compared.Add(float64(len(marks)))
	for i, mark := range marks {
		if old := held[string(q.ID(i))]; old != (mark != kernel.Unseen) {
			o.differences.WithLabelValues(reasonOf(mark, old, imported)).Inc()
		}
	}
}
