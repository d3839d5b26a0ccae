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

// rejudges holds the last rejudge that an operator has started. At most one runs.
type rejudges struct {
	*Console
	mu     sync.Mutex
	last   *rejudge // under mu, with what it points to
	cancel context.CancelFunc
}

// rejudgeDir is the folder of the data directory that a rejudge works in.
const rejudgeDir = "rejudge"

// rejudge is one run of `jianguo rejudge`.
type rejudge struct {
	Since, Strictness string // as the form gave them
	By                string
	At                time.Time
	Running           bool
	Failed            string
	Result            maintain.Report
	Refused           string // why none can be started
}

// now is the last rejudge as it stands.
func (r *rejudges) now() *rejudge {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := &rejudge{Since: "7"}
	if r.last != nil {
		*now = *r.last
	}
	if _, err := r.cfg.Rejudge(context.Background()); err != nil {
		now.Refused = err.Error()
	}
	return now
}

func (r *rejudges) page(_ context.Context, p *page) string {
	return p.show("rejudge", "operators", "试判", "Rejudge", r.now())
}

// start starts a rejudge, or cancels the one that runs.
func (r *rejudges) start(_ context.Context, p *page) string {
	const next = "/console/rejudge"
	form := p.e.Request().PostForm
	r.mu.Lock()
	defer r.mu.Unlock()
	if form.Has("cancel") && r.cancel != nil {
		r.cancel()
	}
	if form.Has("cancel") || r.last != nil && r.last.Running {
		return next
	}
	run := &rejudge{Since: form.Get("since"), Strictness: form.Get("strictness"), By: p.Name, At: r.cfg.Now(),
		Running: true}
	ctx, cancel := context.WithTimeout(r.cfg.Ending, longestRejudge)
	r.last, r.cancel = run, cancel
	args := []string{"--json", "--language=" + p.Language, "--show=40",
		"--since=" + run.Since + "d", "--strictness=" + run.Strictness}
	go func() {
		defer cancel()
		result, err := r.run(ctx, args)
		r.mu.Lock()
		defer r.mu.Unlock()
		if run.Running, run.Result = false, result; err != nil {
			run.Failed = err.Error()
		}
	}()
	return next
}

// run runs the command to its end. Its copy of the catalogue is in a folder of the data
// directory, which is as large.
func (r *rejudges) run(ctx context.Context, args []string) (result maintain.Report, err error) {
	work := filepath.Join(r.cfg.Dir, rejudgeDir)
	defer func() { err = cmp.Or(ctx.Err(), errors.Join(err, os.RemoveAll(work))) }()
	if err := os.Mkdir(work, 0o700); err != nil {
		return result, err
	}
	cmd, err := r.cfg.Rejudge(ctx, append(args, "--work="+work)...)
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
