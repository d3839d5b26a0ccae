package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/index/maintain"
	"jianguo/internal/must"
)

type operations struct{ *Console }

type operatorsView struct {
	Wrong     map[string]error // by part: why it is not ready
	Pending   string           // messages that wait for their verdicts
	Lag       uint64           // events that lists do not show yet
	SearchLag uint64           // and that the search does not find yet
	Free      string           // bytes on the disk
	Dead      []bus.DeadLetter
	Next      uint64 // the letter to list the later ones after; 0: there are none
	DeadCount string
	Exempted  []index.Decision // texts that nothing is matched with, by an editor or in a flood
	Rejudge   rejudgeView
	Recipe    string
	Policy    index.Policy
	Version   string
}

func (c operations) operators(ctx context.Context, p *page) string {
	x := c.cfg.Index
	v := &operatorsView{Rejudge: c.lastRejudge(), Recipe: x.Recipe(), Policy: x.Policy(), Version: c.cfg.Version,
		Pending: "—", DeadCount: "—", Free: fmt.Sprintf("%.1f GB", float64(must.Get(c.cfg.Free()))/(1<<30))}
	v.Lag, v.SearchLag = must.Get2(c.cfg.Browse.Lag(ctx))
	v.Exempted = must.Get(x.Exemptions(ctx, 20))
	// If the bus does not answer, the page says so instead of failing.
	v.Wrong = map[string]error{"bus": must.Catch(func() { c.readBus(ctx, p, v) }), "ingest": c.cfg.Ingest.Ready()}
	for part, ready := range c.cfg.Ready {
		v.Wrong[part] = ready()
	}
	maps.DeleteFunc(v.Wrong, func(_ string, err error) bool { return err == nil })
	return p.show("operators", "operators", "运维", "Operators", v)
}

func (c operations) readBus(ctx context.Context, p *page, v *operatorsView) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	stream, err := bus.JetStream(c.cfg.Conn).Stream(ctx, c.cfg.Ingest.StreamPrefix()+bus.StreamItems)
	must.Dof(err, bus.StreamItems)
	v.Pending = p.Number(c.cfg.Ingest.Waiting(stream.CachedInfo().State.LastSeq))
	dead := must.Get(bus.OpenDead(ctx, c.cfg.Conn, c.cfg.Ingest.StreamPrefix()))
	v.DeadCount = p.Number(must.Get(dead.Len(ctx)))
	if v.Dead = must.Get(dead.List(ctx, p.number("after"), perPage+1)); len(v.Dead) > perPage {
		v.Dead, v.Next = v.Dead[:perPage], v.Dead[perPage-1].Number
	}
}

type deadView struct {
	bus.DeadLetter
	Text string
}

func (c operations) deadLetter(ctx context.Context, number string) (*bus.DeadLetters, *bus.DeadLetter) {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		must.Do(fmt.Errorf("number %q: want a number: %w", number, index.ErrQuery))
	}
	dead := must.Get(bus.OpenDead(ctx, c.cfg.Conn, c.cfg.Ingest.StreamPrefix()))
	d, err := dead.Get(ctx, n)
	if errors.Is(err, bus.ErrNoLetter) {
		err = index.ErrNotFound
	}
	return dead, must.Get(d, err)
}

func (c operations) dead(ctx context.Context, p *page) string {
	_, d := c.deadLetter(ctx, p.e.QueryParam("number"))
	v := &deadView{DeadLetter: *d, Text: string(d.Data)}
	// Readable, as far as it is JSON: an item may have all its characters escaped.
	var fields map[string]any
	if json.Unmarshal(d.Data, &fields) == nil {
		v.Text = p.JSON(fields)
	}
	v.Text = shortened(strings.ToValidUTF8(v.Text, "\ufffd"), 4*maxShown)
	return p.show("dead", "operators", "死信", "Dead letter", v)
}

func (c operations) replay(ctx context.Context, p *page) string {
	dead, d := c.deadLetter(ctx, p.e.FormValue("number"))
	must.Do(dead.Replay(ctx, d.Number))
	return "/console/operators?said=replayed"
}

const longestRejudge = 2 * time.Hour

// rejudgeDir is the folder of the data directory that a rejudge works in.
const rejudgeDir = "rejudge"

// rejudge is the last run of `jianguo rejudge` that an operator has started. At most one runs.
type rejudge struct {
	mu     sync.Mutex
	last   rejudgeView // under mu; without a time: there was none
	cancel context.CancelFunc
}

type rejudgeView struct {
	Since, Strictness string // as the form gave them
	By                string
	At                time.Time
	Running           bool
	Failed            string
	Result            maintain.Report
	Refused           string // why none can be started
}

func (c operations) lastRejudge() rejudgeView {
	c.rejudge.mu.Lock()
	defer c.rejudge.mu.Unlock()
	now := c.rejudge.last
	if now.At.IsZero() {
		now.Since = "7"
	}
	if _, err := c.cfg.Rejudge(context.Background()); err != nil {
		now.Refused = err.Error()
	}
	return now
}

func (c operations) rejudgePage(_ context.Context, p *page) string {
	return p.show("rejudge", "operators", "试判", "Rejudge", c.lastRejudge())
}

// startRejudge starts a rejudge, or cancels the one that runs.
func (c operations) startRejudge(_ context.Context, p *page) string {
	const next = "/console/rejudge"
	form, r := p.e.Request().PostForm, &c.rejudge
	r.mu.Lock()
	defer r.mu.Unlock()
	if form.Has("cancel") && r.cancel != nil {
		r.cancel()
	}
	if form.Has("cancel") || r.last.Running {
		return next
	}
	r.last = rejudgeView{Since: form.Get("since"), Strictness: form.Get("strictness"), By: p.Name, At: c.cfg.Now(),
		Running: true}
	ctx, cancel := context.WithTimeout(c.cfg.Ending, longestRejudge)
	r.cancel = cancel
	args := []string{"--json", "--language=" + p.Language, "--show=40",
		"--since=" + r.last.Since + "d", "--strictness=" + r.last.Strictness}
	go func() {
		defer cancel()
		result, err := c.runRejudge(ctx, args)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.last.Running, r.last.Result = false, result; err != nil {
			r.last.Failed = err.Error()
		}
	}()
	return next
}

// runRejudge runs the command to its end. Its copy of the catalogue is in a folder of the data
// directory, which is as large.
func (c operations) runRejudge(ctx context.Context, args []string) (result maintain.Report, err error) {
	work := filepath.Join(c.cfg.Dir, rejudgeDir)
	defer func() { err = cmp.Or(ctx.Err(), errors.Join(err, os.RemoveAll(work))) }()
	if err := os.Mkdir(work, 0o700); err != nil {
		return result, err
	}
	cmd, err := c.cfg.Rejudge(ctx, append(args, "--work="+work)...)
	if err != nil {
		return result, err
	}
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		lines := strings.Split(strings.TrimSpace(string(failed.Stderr)), "\n")
		return result, fmt.Errorf("%w: %s", err, shortened(visible(lines[len(lines)-1]), 500))
	}
	return result, cmp.Or(err, json.Unmarshal(out, &result))
}
