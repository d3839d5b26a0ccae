package exposure

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// TestRate: all shards full, the user's false positives stay within the budget, and
// are what the formula says.
func TestRate(t *testing.T) {
	for _, p := range []Policy{{}, {Slots: 3, Large: 10000, Small: 1}, {Kind: Calendar, Slots: 2, Large: -1}} {
		got, theory, err := MeasuredRate(p, 4, 2_000_000)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.5f %% measured, %.5f %% by formula", p, 100*got, 100*theory)
		// 2,000,000 tests of 0.08 % are 1,600 ± 40 hits: 25 % is far beyond chance.
		if got > 0.001 || got < 0.75*theory || got > 1.25*theory {
			t.Errorf("%s: %.5f %%, the formula says %.5f %%", p, 100*got, 100*theory)
		}
	}
}

func TestBuildMix(t *testing.T) {
	mix, err := ParseMix("60x50,30x500,10x3000")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/mix.db"
	const users = 200
	if err := BuildMix(context.Background(), path, Policy{}, users, mix, 4, nil); err != nil {
		t.Fatal(err)
	}
	rep, err := Verify(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Users != users {
		t.Errorf("%+v", rep)
	}
	counts := map[int]int{}
	for i := range users {
		counts[MixKeys(i, mix)]++
	}
	if counts[50] < 115 || counts[500] < 55 || counts[3000] < 15 {
		t.Errorf("shares %v", counts)
	}
	f := newFixture(t, Config{Path: path})
	for i := range users {
		u := MixUser(i)
		n := MixKeys(i, mix)
		asked := []string{u + "-000000", u + "-000049", u + "-000050"}
		for i := range 10 {
			asked = append(asked, fmt.Sprintf("%s-90000%d", u, i))
		}
		// The file's secret is a random one, and of the ten a shard may take one or two for
		// its own.
		got := f.unseenOf(u, asked...)
		strangers := len(got)
		if n == 50 {
			strangers--
		}
		if strangers < 6 || strangers > 10 || (n == 50) != slices.Contains(got, u+"-000050") || slices.Contains(got, asked[0]) || slices.Contains(got, asked[1]) {
			t.Fatalf("user %s of %d: %v", u, n, got)
		}
	}
}
