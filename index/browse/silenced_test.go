package browse

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"jianguo/index/verdict"
	"jianguo/internal/testbed"
)

// TestSilenced: a source of which nearly all articles are rejected is told once a day, also after a restart; neither one
// with a few articles nor one with half of them rejected is.
func TestSilenced(t *testing.T) {
	ctx := t.Context()
	x := openTest(t, t.TempDir(), nil)
	defer func() { _ = x.Close() }()
	seq, text := uint64(0), uint64(0)
	add := func(source string, copies, own, day int) {
		t.Helper()
		for n := range copies + own {
			if seq++; n < own {
				text++
			}
			print := uint64(0x0123456789abcdef)
			if n < own {
				print *= text
			}
			a := article(fmt.Sprint("i", seq), fmt.Sprint("text", seq), print)
			a.Source = source
			m := verdict.Mutation{Seq: seq, At: testStart.AddDate(0, 0, day), Article: a}
			if _, err := x.Add(ctx, []verdict.Mutation{m}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var told []string
	follow := func() {
		t.Helper()
		b, err := Open(ctx, x, Config{Words: noWords, Poll: time.Millisecond, Tell: func(s *Silenced) error {
			told = append(told, fmt.Sprintf("%s %s %d/%d %v", s.Day, s.Source, s.Rejected, s.Items, s.Against))
			return nil
		}})
		testbed.OK(t, err)
		if err := b.followLists(ctx); err != nil {
			t.Error(err)
		}
		hours, err := b.Hours(ctx, testStart, testStart)
		if err != nil || len(hours) != 1 || hours[0].Items != 100 {
			t.Errorf("in the first hour: %v, %v", hours, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	add("the original", 0, 1, 0)
	add("a loop", 38, 2, 0)
	add("few", silencedLeast-1, 0, 0)
	add("half", 20, 20, 0)
	follow()
	follow()
	first := testStart.In(time.FixedZone("", zone)).Format(time.DateOnly)
	if want := []string{first + " a loop 38/40 [i1]"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	add("under a clock that is ahead", 0, 1, 9999)
	follow()
	add("a loop", 20, 0, 1)
	follow()
	if len(told) != 2 {
		t.Errorf("on the next day: %q", told)
	}
}
