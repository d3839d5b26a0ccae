package filterbench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"jianguo/exposure"
	"jianguo/internal/userbase"
)

func TestBuildUserBase(t *testing.T) {
	mix, err := userbase.ParseMix("60x50,30x500,10x3000")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/mix.db"
	const users = 200
	if err := buildUserBase(context.Background(), path, exposure.Policy{}, users, mix, 4, nil); err != nil {
		t.Fatal(err)
	}
	rep, err := exposure.VerifyFile(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Users != users {
		t.Errorf("%+v", rep)
	}
	counts := map[int]int{}
	for i := range users {
		counts[seenBy(i, mix)]++
	}
	if counts[50] < 115 || counts[500] < 55 || counts[3000] < 15 {
		t.Errorf("shares %v", counts)
	}
	s, err := exposure.Open(context.Background(), exposure.Config{Path: path, Log: &reports{users: users, rounds: 4, mix: mix}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range users {
		u := userName(i)
		n := seenBy(i, mix)
		asked := []string{u + "-000000", u + "-000049", u + "-000050"}
		for i := range 10 {
			asked = append(asked, fmt.Sprintf("%s-90000%d", u, i))
		}
		// The file's secret is random, and a shard may have false positives among the ten.
		body, _ := json.Marshal(map[string]any{"user": u, "items": asked})
		body, _, err := s.FilterBytes(context.Background(), nil, body, exposure.JSON)
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Items []string }
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		got := r.Items
		unknown := len(got)
		if n == 50 {
			unknown--
		}
		if unknown < 6 || unknown > 10 || (n == 50) != slices.Contains(got, u+"-000050") || slices.Contains(got, asked[0]) || slices.Contains(got, asked[1]) {
			t.Fatalf("user %s of %d: %v", u, n, got)
		}
	}
}
