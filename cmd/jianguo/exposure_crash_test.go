package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/internal/datadir"
)

// TestKillExposures kills the real binary with SIGKILL at random moments, while clients
// report, un-see and forget over HTTP and NATS, and users fold, rotate and are flushed.
// After each start every report that was answered is filtered, ids that were un-seen or
// forgotten are not, and the state file is whole.
func TestKillExposures(t *testing.T) {
	t.Parallel()
	x, r := newExposed(t, "kills")
	n := kills(3, 8)
	for round := range n {
		x.round(round, time.Duration(100+r.IntN(700))*time.Millisecond)
	}
	x.end(n)
}

// What is known of an id and a user.
const (
	held    = 1 + iota // its report was answered: never to be offered
	free               // it was taken back, and that was answered: to be offered
	unclear            // the answer was lost
)

// shown is what the only client of a user knows of that user.
type shown struct {
	name string
	ids  map[string]int // under exposed.mu but for its client
	n    int            // ids ever reported
}

// exposed is a service that is killed again and again while clients report exposures.
type exposed struct {
	*killed
	how string // what ends a round, for the log

	mu       sync.Mutex
	users    []*shown        // under mu
	answered map[string]int  // under mu; number of answers by request
	lost     int             // under mu; answers that never came
	free     map[string]bool // ids that were taken back and asked for: whether a false positive withheld them
	asked    int             // how often these were asked for
}

func newExposed(t *testing.T, how string) (*exposed, *rand.Rand) {
	k, r := newKilled(t, "--exposure-policy", "rotate,slots=20,capacity=64,tail=16", "--exposure-flush", "50ms")
	return &exposed{killed: k, how: how, answered: map[string]int{}, free: map[string]bool{}}, r
}

// round starts the service, checks what came before, and lets clients work until the kill.
func (x *exposed) round(n int, life time.Duration) {
	x.t.Helper()
	x.start()
	x.check()
	x.failing.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() { x.client(ctx, x.address.NATS, client%2 == 0) })
	}
	x.live(life, n, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.answered["seen"] > 0 && x.answered["unsee"] > 0 && x.answered["forget"] > 0
	})
	if x.failIO != nil { // reports that were answered while the disk failed hold before a new start, too
		x.failing.Store(false)
		cancel()
		clients.Wait()
		x.check()
	}
	x.kill()
	cancel()
	clients.Wait()
}

// client works for some users of its own until the service is gone. It sends one request
// at a time.
func (x *exposed) client(ctx context.Context, url string, onBus bool) {
	var ask func(what string, body []byte) error
	if onBus {
		conn, err := bus.Connect(url)
		if err != nil {
			return // the service was killed before it answered
		}
		defer conn.Close()
		ask = func(what string, body []byte) error { return askBus(ctx, conn, what, body) }
	} else {
		ask = func(what string, body []byte) error { return x.askHTTP(ctx, what, body) }
	}
	var users []*shown
	for range 3 {
		x.mu.Lock()
		users = append(users, &shown{name: fmt.Sprint("user-", len(x.users)), ids: map[string]int{}})
		x.users = append(x.users, users[len(users)-1])
		x.mu.Unlock()
	}
	for ctx.Err() == nil {
		u := users[rand.IntN(len(users))]
		what, ids := u.next()
		body, err := json.Marshal(map[string]any{"user": u.name, "kind": what, "items": ids})
		if err != nil {
			x.t.Error(err)
			return
		}
		err = ask(what, body)
		x.mu.Lock()
		if err != nil {
			x.lost++
			u.became(ids, unclear)
			x.mu.Unlock()
			return
		}
		x.answered[what]++
		u.became(ids, map[string]int{"seen": held, "unsee": free, "forget": free}[what])
		x.mu.Unlock()
	}
}

// next draws the next request, and the ids it concerns.
func (u *shown) next() (what string, ids []string) {
	switch r := rand.IntN(40); {
	case u.n > 1000 || r == 0: // before the oldest shard is dropped
		u.n = 0
		for id := range u.ids {
			ids = append(ids, id)
		}
		return "forget", ids
	case r < 4:
		for id, is := range u.ids { // in no order
			if is == held && len(ids) < 2 {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			return "unsee", ids
		}
	}
	for range 1 + rand.IntN(30) {
		ids = append(ids, fmt.Sprint("item-", rand.Uint64()))
	}
	u.n += len(ids)
	return "seen", ids
}

func (u *shown) became(ids []string, what int) {
	for _, id := range ids {
		u.ids[id] = what
	}
}

// askHTTP sends a request over HTTP. Any other answer than 204 is an error.
func (x *exposed) askHTTP(ctx context.Context, what string, body []byte) error {
	path := map[string]string{"seen": "/exposures", "unsee": "/exposures/unsee", "forget": "/exposures/forget"}[what]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.address.HTTP+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("%d %s", res.StatusCode, answer)
	}
	return err
}

// askBus sends a request over NATS: reports to the service or into the stream, others into
// the stream.
func askBus(ctx context.Context, conn *nats.Conn, what string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if what == "seen" && rand.IntN(2) == 0 {
		reply, err := conn.RequestWithContext(ctx, "exposures.report", body)
		if err == nil && reply.Header.Get(micro.ErrorCodeHeader) != "" {
			err = fmt.Errorf("%s", reply.Data)
		}
		return err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	subject := "exposures." + what
	if rand.IntN(2) == 0 {
		subject += ".0"
	}
	_, err = js.Publish(ctx, subject, body)
	return err
}

// check asks the service about every id there ever was, once the service is ready.
func (x *exposed) check() {
	x.t.Helper()
	x.ready()
	for _, u := range x.users {
		var ids []string
		for id := range u.ids {
			ids = append(ids, id)
		}
		for from := 0; from < len(ids); from += exposure.MaxItems {
			x.checkSome(u, ids[from:min(from+exposure.MaxItems, len(ids))])
		}
	}
	if _, err := exposure.Verify(context.Background(), filepath.Join(x.data, datadir.Exposures)); err != nil {
		x.t.Fatal(err)
	}
}

func (x *exposed) checkSome(u *shown, ids []string) {
	x.t.Helper()
	body, err := json.Marshal(map[string]any{"user": u.name, "items": ids})
	if err != nil {
		x.t.Fatal(err)
	}
	res, err := http.Post(x.address.HTTP+"/filter", "application/json", bytes.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Items    []string
		Degraded string
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK || answer.Degraded != "" {
		x.t.Fatal(res.StatusCode, answer.Degraded, err)
	}
	offered := map[string]bool{}
	for _, id := range answer.Items {
		offered[id] = true
	}
	for _, id := range ids {
		switch is := u.ids[id]; {
		case is == held && offered[id]:
			x.t.Errorf("%s of %s was reported, and is offered again", id, u.name)
		case is == free:
			x.free[u.name+" "+id] = x.free[u.name+" "+id] || !offered[id]
			x.asked++
		}
	}
}

// end starts the service once more, checks, ends it in order and logs what was tried.
func (x *exposed) end(rounds int) {
	x.t.Helper()
	x.start()
	x.check()
	x.stop()
	all, kept, withheld := 0, 0, 0
	for _, u := range x.users {
		for _, is := range u.ids {
			all++
			if is == held {
				kept++
			}
		}
	}
	for _, refused := range x.free {
		if refused {
			withheld++
		}
	}
	x.t.Logf("%d %s; answered: %d reports, %d un-sees, %d forgets of %d ids and %d users; %d answers never came; "+
		"%d ids are held, %d of %d ids taken back were withheld at least once, asked for %d times",
		rounds, x.how, x.answered["seen"], x.answered["unsee"], x.answered["forget"], all, len(x.users), x.lost, kept, withheld, len(x.free), x.asked)
	if x.answered["seen"] == 0 || x.answered["unsee"] == 0 || x.answered["forget"] == 0 {
		x.t.Errorf("too little was tried: %v", x.answered)
	}
	// The promise is 0.1 % false positives. Chance exceeds this bound less than once in a
	// million runs.
	if most := 0.001 * float64(len(x.free)); float64(withheld) > most+5*math.Sqrt(most)+3 {
		x.t.Errorf("%d of %d ids taken back are withheld", withheld, len(x.free))
	}
}
