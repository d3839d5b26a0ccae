// Package ingestbench measures a running ingest over its bus: the highest rate of
// articles a second, and the time from publishing to the verdict at a share of that
// rate. It publishes and listens as a platform does, and should run in a process of its
// own.
package ingestbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/ingest"
)

// Options say what to run. URL and Items are required.
type Options struct {
	URL   string         // the bus
	Items []*ingest.Item // published under new ids, each once at most
	// Rate is how many a second are published while latency is measured; 0: Share
	// of what was reached flat out.
	Rate     float64
	Share    float64       // 0: 0.5
	Duration time.Duration // of that; 0: 20 s, and as long as half of the items last
	Window   int           // articles on their way at once, flat out; 0: 2,048
	Progress func(stage string, done, total int64)
}

// Result is one run. Times are milliseconds.
type Result struct {
	Items             int     `json:"items"` // flat out
	Seconds           float64 `json:"seconds"`
	ArticlesPerSecond float64 `json:"articles_per_second"`
	// Quarters is the rate of each quarter of the articles, in order of verdicts: a
	// service is slower right after its start, while its memory grows.
	Quarters [4]float64 `json:"quarters_per_second"`

	Rate    float64 `json:"rate"` // articles a second, published one by one at even intervals
	Timed   int     `json:"timed"`
	P50     float64 `json:"verdict_p50_ms"` // from when an article was due to its verdict
	P99     float64 `json:"verdict_p99_ms"`
	P999    float64 `json:"verdict_p999_ms"`
	Longest float64 `json:"verdict_max_ms"`
	// Stored is until the bus has acknowledged an article: its part of the above.
	StoredP50 float64 `json:"stored_p50_ms"`
	StoredP99 float64 `json:"stored_p99_ms"`
}

// load is one run under way.
type load struct {
	Options
	prefix string // of the ids of this run
	conn   *nats.Conn
	js     jetstream.JetStream

	mu       sync.Mutex
	verdicts []time.Time // when the verdict of item i came
	came     int
	changed  chan struct{} // a verdict came
	window   chan struct{} // flat out: items on their way
}

// verdictWait is how long the bench waits for verdicts after the last article.
const verdictWait = 2 * time.Minute

// Run measures.
func Run(ctx context.Context, o Options) (*Result, error) {
	if len(o.Items) < 2 {
		return nil, errors.New("bench: two articles at least are needed")
	}
	if o.Share == 0 {
		o.Share = 0.5
	}
	if o.Duration == 0 {
		o.Duration = 20 * time.Second
	}
	if o.Window == 0 {
		o.Window = 2048
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	l := &load{Options: o, prefix: fmt.Sprintf("bench-%d-", time.Now().UnixNano()), verdicts: make([]time.Time, len(o.Items)),
		changed: make(chan struct{}, 1), window: make(chan struct{}, o.Window)}
	closeAll, err := l.connect()
	if err != nil {
		return nil, err
	}
	defer closeAll()
	res := new(Result)
	half := len(o.Items) / 2
	if err := l.flatOut(ctx, half, res); err != nil {
		return nil, err
	}
	res.Rate = o.Rate
	if res.Rate == 0 {
		res.Rate = res.ArticlesPerSecond * o.Share
	}
	n := min(len(o.Items)-half, int(res.Rate*o.Duration.Seconds()))
	return res, l.steady(ctx, half, max(n, 1), res)
}

// connect opens one connection to publish and one to listen.
func (l *load) connect() (closeAll func(), err error) {
	listen, err := bus.Connect(l.URL)
	if err != nil {
		return nil, err
	}
	if l.conn, err = bus.Connect(l.URL); err != nil {
		listen.Close()
		return nil, err
	}
	closeAll = func() { listen.Close(); l.conn.Close() }
	sub, err := listen.Subscribe(bus.SubjectVerdicts+">", l.verdict)
	if err == nil {
		err = errors.Join(sub.SetPendingLimits(-1, -1), listen.Flush())
	}
	if err == nil {
		l.js, err = jetstream.New(l.conn, jetstream.WithPublishAsyncMaxPending(1<<16))
	}
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("bench: %w", err)
	}
	return closeAll, nil
}

// verdict records when a verdict came. Later events of the same item do not count.
func (l *load) verdict(m *nats.Msg) {
	now := time.Now()
	var e struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(m.Data, &e) != nil {
		return
	}
	number, ours := strings.CutPrefix(e.ID, l.prefix)
	i, err := strconv.Atoi(number)
	if !ours || err != nil || i >= len(l.verdicts) {
		return
	}
	l.mu.Lock()
	first := l.verdicts[i].IsZero()
	if first {
		l.verdicts[i] = now
		l.came++
	}
	l.mu.Unlock()
	if !first {
		return
	}
	select {
	case <-l.window:
	default:
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *load) message(i int) (*nats.Msg, error) {
	it := *l.Items[i]
	it.ID = l.prefix + strconv.Itoa(i)
	data, err := json.Marshal(&it)
	m := nats.NewMsg(bus.SubjectPublish)
	m.Data = data
	return m, err
}

// await returns when n verdicts have come.
func (l *load) await(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, verdictWait)
	defer cancel()
	for {
		l.mu.Lock()
		came := l.came
		l.mu.Unlock()
		if came >= n {
			return nil
		}
		select {
		case <-l.changed:
		case <-ctx.Done():
			return fmt.Errorf("bench: %d of %d verdicts came: %w", came, n, ctx.Err())
		}
	}
}

// flatOut publishes the first n articles as fast as the service takes them, with a
// window of articles in flight.
func (l *load) flatOut(ctx context.Context, n int, res *Result) error {
	messages := make([]*nats.Msg, n)
	for i := range messages {
		var err error
		if messages[i], err = l.message(i); err != nil {
			return err
		}
	}
	failed := make(chan error, 1)
	start := time.Now()
	for i, m := range messages {
		select {
		case l.window <- struct{}{}:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		stored, err := l.publish(m)
		if err != nil {
			return fmt.Errorf("bench: article %d: %w", i, err)
		}
		go func() {
			if err := <-stored; err != nil {
				select {
				case failed <- fmt.Errorf("bench: article %d was not stored: %w", i, err):
				default:
				}
			}
		}()
		l.Progress("flat out", int64(i), int64(n))
	}
	if err := l.await(ctx, n); err != nil {
		return err
	}
	res.Items, res.Seconds = n, time.Since(start).Seconds()
	res.ArticlesPerSecond = float64(n) / res.Seconds
	l.mu.Lock()
	defer l.mu.Unlock()
	res.Quarters = quarters(start, slices.Clone(l.verdicts[:n]))
	return nil
}

// quarters returns the rate of each quarter of the verdicts that came from start on; 0
// for a quarter without verdicts.
func quarters(start time.Time, came []time.Time) (rates [4]float64) {
	slices.SortFunc(came, time.Time.Compare)
	before := 0
	for i := range rates {
		n := len(came) * (i + 1) / len(rates)
		if n == before {
			continue
		}
		if took := came[n-1].Sub(start); took > 0 {
			rates[i] = float64(n-before) / took.Seconds()
		}
		before, start = n, came[n-1]
	}
	return rates
}

// steady publishes n articles one by one, each at its due time, whether or not earlier
// ones have their verdicts (an open loop). Latencies count from the due time.
func (l *load) steady(ctx context.Context, from, n int, res *Result) error {
	messages := make([]*nats.Msg, n)
	for k := range messages {
		var err error
		if messages[k], err = l.message(from + k); err != nil {
			return err
		}
	}
	stored := make([]time.Time, n)
	outcomes := make(chan (<-chan error), n)
	acks := make(chan error, 1)
	go func() { acks <- acknowledged(ctx, outcomes, stored) }()
	start, step := time.Now(), time.Duration(float64(time.Second)/res.Rate)
	due := func(k int) time.Time { return start.Add(time.Duration(k) * step) }
	for k, m := range messages {
		time.Sleep(time.Until(due(k)))
		outcome, err := l.publish(m)
		if err != nil {
			return fmt.Errorf("bench: article %d: %w", from+k, err)
		}
		outcomes <- outcome
		l.Progress("steady", int64(k), int64(n))
	}
	close(outcomes)
	if err := errors.Join(<-acks, l.await(ctx, from+n)); err != nil {
		return err
	}
	took, storing := make([]float64, n), make([]float64, n)
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range took {
		took[k] = milliseconds(l.verdicts[from+k].Sub(due(k)))
		storing[k] = milliseconds(stored[k].Sub(due(k)))
	}
	res.Timed = n
	res.P50, res.P99, res.P999 = at(took, .5), at(took, .99), at(took, .999)
	res.Longest = took[n-1]
	res.StoredP50, res.StoredP99 = at(storing, .5), at(storing, .99)
	return nil
}

// publish publishes one article; the outcome is nil when the bus has stored it.
func (l *load) publish(m *nats.Msg) (<-chan error, error) {
	future, err := l.js.PublishMsgAsync(m)
	if err != nil {
		return nil, err
	}
	outcome := make(chan error, 1)
	go func() {
		select {
		case <-future.Ok():
			outcome <- nil
		case err := <-future.Err():
			outcome <- err
		}
	}()
	return outcome, nil
}

// acknowledged records when the bus acknowledged each article; acknowledgements come in
// order.
func acknowledged(ctx context.Context, outcomes <-chan (<-chan error), stored []time.Time) error {
	k := 0
	for outcome := range outcomes {
		select {
		case err := <-outcome:
			if err != nil {
				return fmt.Errorf("bench: not stored: %w", err)
			}
			stored[k] = time.Now()
		case <-ctx.Done():
			return ctx.Err()
		}
		k++
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func at(v []float64, q float64) float64 {
	slices.Sort(v)
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

// Print writes a result for people.
func (r *Result) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `flat out             %9.0f articles/s     %d in %.1f s; by quarters %.0f
at %6.0f /s         %9.2f ms p50 %9.2f p99 %9.2f p99.9 %9.2f max     publish to verdict, %d articles one by one
  of it, stored      %9.2f ms p50 %9.2f p99
`, r.ArticlesPerSecond, r.Items, r.Seconds, r.Quarters, r.Rate, r.P50, r.P99, r.P999, r.Longest, r.Timed, r.StoredP50, r.StoredP99)
	return err
}
