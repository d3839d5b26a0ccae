package link

import (
	"errors"
	"testing"
)

// TestCheck: no cycles, no more than four links in a row, no more than eight histories for a user;
// a read that fails is an error, not a refusal.
func TestCheck(t *testing.T) {
	graph := map[string]Links{}
	read := Reader(func(u string) (Links, error) { return graph[u], nil })
	add := func(user, from string) {
		t.Helper()
		if err := read.Check(user, from); err != nil {
			t.Fatal(err)
		}
		u, f := graph[user], graph[from]
		u.From, f.Into = append(u.From, from), append(f.Into, user)
		graph[user], graph[from] = u, f
	}
	refused := func(user, from string) {
		t.Helper()
		if err := read.Check(user, from); !errors.Is(err, ErrRefused) {
			t.Fatalf("%s asks %s: %v", user, from, err)
		}
	}
	add("c", "d")
	add("a", "b")
	add("b", "c")
	add("d", "e")
	refused("e", "a")
	refused("c", "c")
	refused("e", "f")
	refused("x", "a")
	for _, u := range []string{"1", "2", "3", "4"} {
		add("b", u)
	}
	refused("b", "5")
	refused("c", "5")
	broken := errors.New("broken")
	if err := Reader(func(string) (Links, error) { return Links{}, broken }).Check("a", "b"); !errors.Is(err, broken) {
		t.Fatal(err)
	}
}
