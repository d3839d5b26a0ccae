package state

import (
	"errors"
	"testing"

	"jianguo/internal/testbed"
)

// TestLinks: no cycles, no more than four links in a row, no more than eight histories for a user;
// a read that fails is an error, not a refusal.
func TestLinks(t *testing.T) {
	graph := map[string]Links{}
	read := LinkReader(func(u string) (Links, error) { return graph[u], nil })
	check := func(user, from string) error { return read.Check(user, from) }
	add := func(user, from string) {
		t.Helper()
		testbed.OK(t, check(user, from))
		u, f := graph[user], graph[from]
		u.From, f.Into = append(u.From, from), append(f.Into, user)
		graph[user], graph[from] = u, f
	}
	refused := func(user, from string) {
		t.Helper()
		if err := check(user, from); !errors.Is(err, ErrLink) {
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
	read = func(string) (Links, error) { return Links{}, broken }
	if err := check("a", "b"); !errors.Is(err, broken) {
		t.Fatal(err)
	}
}
