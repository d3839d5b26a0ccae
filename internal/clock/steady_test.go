package clock

import (
	"log/slog"
	"testing"
	"time"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clocks are two clocks that a test moves.
type clocks struct {
	wall    time.Time
	elapsed time.Duration
}

func (c *clocks) read() (time.Time, time.Duration) { return c.wall, c.elapsed }

// pass lets time pass.
func (c *clocks) pass(d time.Duration) { c.wall, c.elapsed = c.wall.Add(d), c.elapsed+d }

func newTest() (*clocks, *Steady) {
	c := &clocks{wall: begin}
	return c, NewSteady(c.read, slog.New(slog.DiscardHandler))
}

func TestClock(t *testing.T) {
	const jump = 6 * 24 * time.Hour
	source, clock := newTest()
	want := func(what string, after time.Duration) {
		t.Helper()
		if got := clock.Now().Sub(begin); got != after {
			t.Fatalf("%s: %v after the begin, want %v", what, got, after)
		}
	}
	source.pass(90 * time.Hour)
	want("as time passes", 90*time.Hour)
	source.wall = source.wall.Add(jump)
	source.pass(time.Minute)
	want("in a jump", 90*time.Hour+time.Minute)
	source.pass(5 * time.Second)
	source.wall = source.wall.Add(-jump)
	source.pass(time.Hour)
	want("after it", 91*time.Hour+65*time.Second)
	source.wall = source.wall.Add(-time.Hour)
	want("back", 90*time.Hour+65*time.Second)

	source.wall = source.wall.Add(jump)
	clock.Now()
	source.pass(Hold - time.Second)
	want("shortly before it is believed", 90*time.Hour+65*time.Second+Hold-time.Second)
	source.pass(time.Second)
	want("believed", 90*time.Hour+65*time.Second+Hold+jump)
}

func TestWitness(t *testing.T) {
	source, clock := newTest()
	source.wall = source.wall.Add(72 * time.Hour)
	clock.Witness(begin)
	if got := clock.Now(); !got.Equal(begin) {
		t.Fatalf("another machine says otherwise: %v", got)
	}
	clock.Witness(source.wall.Add(-3 * time.Second))
	if got := clock.Now(); !got.Equal(source.wall) {
		t.Fatalf("another machine agrees: %v", got)
	}
}

// TestResume: a process that starts during a jump goes on where the one before ended.
func TestResume(t *testing.T) {
	source, clock := newTest()
	clock.Resume(begin.Add(-144 * time.Hour))
	source.pass(time.Hour)
	if got := clock.Now().Sub(begin); got != -143*time.Hour {
		t.Fatalf("%v", got)
	}
	source.wall = source.wall.Add(-144 * time.Hour)
	if got := clock.Now().Sub(begin); got != -143*time.Hour {
		t.Fatalf("when the clock is back: %v", got)
	}
	clock.Resume(begin.Add(-10 * time.Minute))
	clock.Resume(begin.Add(time.Hour))
	if got := clock.Now().Sub(begin); got != -143*time.Hour {
		t.Fatalf("after a short time, or a clock that went back: %v", got)
	}
}
