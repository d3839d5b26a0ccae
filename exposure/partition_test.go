package exposure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestPartitions runs the owners of three partitions beside each other on one stream,
// through restarts and crashes: each user has one owner, the same one always, and
// what was published without a partition reaches it once.
func TestPartitions(t *testing.T) {
	const n = 3
	_, js := startNATS(t, t.TempDir(), false)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	dir := t.TempDir()
	var owners [n]*Store
	var dead atomic.Int64
	open := func(p int) {
		t.Helper()
		log, err := OpenNATSLog(ctx, js, StreamConfig{Partition: p, Partitions: n}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		owners[p], err = Open(ctx, Config{Path: fmt.Sprintf("%s/%d.db", dir, p), Log: log, Partition: p, Partitions: n,
			Logger: quiet, FlushAge: time.Hour, SweepRate: -1,
			Dead: func(_ context.Context, e Entry, user string, reason error) error {
				if !errors.Is(reason, ErrPartition) || Partition(user, n) == p {
					t.Errorf("%s %s refused: %v", e.Subject, e.Data, reason)
				}
				dead.Add(1)
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		if err := owners[p].WaitReady(ctx); err != nil {
			t.Fatalf("partition %d: %v", p, err)
		}
	}
	for p := range n {
		open(p)
	}
	var users []string
	for i := range 30 {
		users = append(users, fmt.Sprint("user-", i))
	}
	publish := func(subject, user, item string) {
		t.Helper()
		if _, err := js.Publish(ctx, subject, fmt.Appendf(nil, `{"user":%q,"items":[%q]}`, user, item)); err != nil {
			t.Fatal(err)
		}
	}
	unseen := func(user string, items ...string) []string {
		t.Helper()
		r, err := owners[Partition(user, n)].Filter(ctx, Request{User: user, Items: items})
		if err != nil || r.Degraded != "" {
			t.Fatal(err, r.Degraded)
		}
		return r.Items
	}
	eventually := func(user, item string) {
		t.Helper()
		for len(unseen(user, item)) > 0 {
			if ctx.Err() != nil {
				t.Fatalf("%s of %s was never applied", item, user)
			}
			time.Sleep(time.Millisecond)
		}
	}
	for _, u := range users {
		p := Partition(u, n)
		if err := owners[p].Expose(ctx, Event{Kind: Seen, User: u, Items: []string{"told"}}); err != nil {
			t.Fatal(err)
		}
		other := owners[(p+1)%n]
		if err := other.Expose(ctx, Event{Kind: Seen, User: u, Items: []string{"x"}}); !errors.Is(err, ErrPartition) {
			t.Fatalf("report to another owner: %v", err)
		}
		if _, err := other.Filter(ctx, Request{User: u, Items: []string{"x"}}); !errors.Is(err, ErrPartition) {
			t.Fatalf("filter by another owner: %v", err)
		}
		publish("exposures.seen", u, "routed")
		publish(fmt.Sprintf("exposures.seen.%d", p), u, "direct")
		publish(fmt.Sprintf("exposures.seen.%d", (p+1)%n), u, "astray")
	}
	check := func(when string) {
		t.Helper()
		for _, u := range users {
			for _, item := range []string{"routed", "direct"} {
				eventually(u, item)
			}
			if got := unseen(u, "told", "routed", "direct", "new"); !slices.Equal(got, []string{"new"}) {
				t.Fatalf("%s, %s: %q", when, u, got)
			}
		}
	}
	check("at first")
	for dead.Load() < int64(len(users)) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	for p := range n { // orderly
		if err := owners[p].Close(); err != nil {
			t.Fatal(err)
		}
		open(p)
	}
	check("after a restart")

	// What a router routes again after a crash undoes nothing.
	u := users[slices.IndexFunc(users, func(u string) bool { return Partition(u, n) != 0 })]
	publish("exposures.seen", u, "undone")
	eventually(u, "undone")
	p := Partition(u, n)
	if err := owners[p].Unsee(ctx, u, "", []string{"undone"}); err != nil {
		t.Fatal(err)
	}
	if err := owners[p].Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for i := range n {
			owners[i].fail(errors.New("crash"))
			owners[i].Close()
			open(i)
		}
		publish("exposures.seen", u, "later")
		eventually(u, "later")
		if got := unseen(u, "undone"); len(got) != 1 {
			t.Fatal("an event routed again undid what came after it")
		}
	}
	check("after crashes")
	for i := range n {
		if err := owners[i].Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(ctx, fmt.Sprintf("%s/%d.db", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
}
