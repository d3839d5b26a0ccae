package clock

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	tolerance = time.Minute // a difference between the clocks that is no jump
	downtime  = time.Hour   // a difference between two processes that is no jump
	// Hold is the time after which a jump is believed: an operator has seen it by then, and a
	// service that starts again every night has not started again yet.
	Hold = 20 * time.Hour
)

// Source reads the wall clock, and a clock that never jumps.
type Source func() (wall time.Time, elapsed time.Duration)

func System() Source {
	start := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(start)
	}
}

// Steady tells the time by which stored data expires. It is the wall clock as long as
// that agrees with the monotonic clock. When the wall clock jumps ahead (a wrong time server,
// an operator's mistake, a machine that slept), steady time goes on from where it was, so that
// nothing is erased because of a mistake that is corrected soon. A jump is believed after Hold,
// or when the clock of another machine confirms it. The cost is that data expires later.
// All methods may be called from any goroutine.
type Steady struct {
	source Source
	log    *slog.Logger

	mu      sync.Mutex
	wall    time.Time     // mu; at the last reading
	elapsed time.Duration // mu; at the last reading
	lag     time.Duration // mu; by how much steady time is behind wall; 0: no jump is waited out
	since   time.Duration // mu; elapsed when that jump was noticed
}

// NewSteady returns a clock that agrees with the wall clock.
func NewSteady(source Source, log *slog.Logger) *Steady {
	c := &Steady{source: source, log: log}
	c.wall, c.elapsed = source()
	return c
}

func (c *Steady) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return c.wall.Add(-c.lag)
}

// read reads the clocks. The caller holds mu.
func (c *Steady) read() {
	wall, elapsed := c.source()
	jump := wall.Sub(c.wall) - (elapsed - c.elapsed)
	c.wall, c.elapsed = wall, elapsed
	was := c.lag
	switch c.lag = max(was+jump, 0); {
	case c.lag <= tolerance:
		if c.lag = 0; was > 0 {
			c.log.Info("the clock is back: data expires by it again")
		}
	case was == 0:
		c.since = elapsed
		c.log.Warn("the clock has jumped ahead: until it goes back, for a day at most, data expires by "+
			"the time that has passed", "ahead", c.lag.Round(time.Second))
	case elapsed-c.since >= Hold:
		c.believe("it has stayed ahead for a day")
	}
}

// believe ends the wait for the clock to go back. The caller holds mu.
func (c *Steady) believe(why string) {
	c.log.Warn("data expires by the clock again, which is ahead", "why", why, "ahead", c.lag.Round(time.Second))
	c.lag = 0
}

// Resume tells the clock the last steady time of an earlier process. If the wall clock is
// ahead of it, it may have jumped meanwhile: steady time goes on from there.
func (c *Steady) Resume(last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	if ahead := c.wall.Sub(last); ahead > c.lag+downtime {
		c.lag, c.since = ahead, c.elapsed
		c.log.Info("the service was down for long, or the clock has jumped: for a day data expires by the time "+
			"when it last ran", "ahead", ahead.Round(time.Second))
	}
}

// Witness tells the clock the present time of another machine. If the wall clock agrees with
// it, it has not jumped by mistake.
func (c *Steady) Witness(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read(); c.lag > 0 && t.Sub(c.wall).Abs() <= tolerance {
		c.believe("the clock of the bus agrees with it")
	}
}

func (c *Steady) Collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "jianguo_clock_ahead_seconds",
		Help: "How far the clock is ahead of the time by which data expires."}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.read()
		return c.lag.Seconds()
	})
}
