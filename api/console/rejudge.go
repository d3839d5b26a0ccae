package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"jianguo/index/maintain"
)

// longestRejudge bounds the time of a rejudge.
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

// lastRejudge is the last rejudge as it stands.
func (c *Console) lastRejudge() rejudgeView {
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

func (c *Console) rejudgePage(_ context.Context, p *page) string {
	return p.show("rejudge", "operators", "试判", "Rejudge", c.lastRejudge())
}

// startRejudge starts a rejudge, or cancels the one that runs.
func (c *Console) startRejudge(_ context.Context, p *page) string {
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
func (c *Console) runRejudge(ctx context.Context, args []string) (result maintain.Report, err error) {
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
