package testbed

import (
	"flag"
	"testing"
)

func TestCount(t *testing.T) {
	short := flag.Lookup("test.short")
	was := short.Value.String()
	defer func() { _ = short.Value.Set(was) }()
	for _, c := range []struct {
		short, tier, count string
		want               int
	}{
		{"true", "", "", 1},
		{"true", "long", "", 1},
		{"false", "", "", 2},
		{"false", "normal", "", 2},
		{"false", "long", "", 3},
		{"true", "", "7", 7},
		{"false", "long", "7", 7},
	} {
		if err := short.Value.Set(c.short); err != nil {
			t.Fatal(err)
		}
		t.Setenv(Env, c.tier)
		t.Setenv("TIER_TEST_COUNT", c.count)
		if got := CountOr("TIER_TEST_COUNT", 1, 2, 3); got != c.want {
			t.Errorf("short %s, tier %q, count %q: %d, want %d", c.short, c.tier, c.count, got, c.want)
		}
	}
}

func TestUnknownTier(t *testing.T) {
	if testing.Short() {
		short := flag.Lookup("test.short")
		_ = short.Value.Set("false")
		defer func() { _ = short.Value.Set("true") }()
	}
	t.Setenv(Env, "longer")
	defer func() {
		if recover() == nil {
			t.Error("an unknown tier is accepted")
		}
	}()
	Count(1, 2, 3)
}
