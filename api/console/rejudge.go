package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"jianguo/index"
	"jianguo/internal/must"
)

// longestRejudge bounds the time of a rejudge, rejudgeShown the changes that its page lists.
const (
	longestRejudge = 2 * time.Hour
	rejudgeShown   = 40
)

// rejudges holds the last rejudge that an operator has started. At most one runs.
type rejudges struct {
	*Console
	mu     sync.Mutex
	last   *rejudge // under mu, with what it points to
	cancel context.CancelFunc
}

// rejudgeDir is the folder of the data directory that a rejudge works in.
const rejudgeDir = "rejudge"

// newRejudges removes what a service that was killed may have left.
func newRejudges(c *Console) (*rejudges, error) {
	if c.cfg.Rejudge == nil {
		return &rejudges{Console: c}, nil
	}
	return &rejudges{Console: c}, os.RemoveAll(filepath.Join(c.cfg.Dir, rejudgeDir))
}

// rejudge is one run of `jianguo rejudge`.
type rejudge struct {
	Since, Strictness, Numbers string // as the form gave them
	By                         string
	At                         time.Time
	Running                    bool
	Stage                      string // the last progress that it printed
	Done, All                  int64
	Failed                     string
	Result                     rejudged
	Labels                     []byte
	Refused                    string // why none can be started
}

// rejudged is what the command prints.
type rejudged struct {
	Judged, Changed, Unkept int64
	BySource                []struct {
		Source          string
		Judged, Changed int64
		Shifts          map[string]int64 // "duplicate → suspect"
	} `json:"by_source"`
	Changes []struct {
		Source   string
		Was, Now index.Event
	}
}

// Spans are the days that a rejudge can go back.
func (*rejudge) Spans() []string { return []string{"1", "7", "30", "90"} }

// now is the last rejudge as it stands.
func (r *rejudges) now() *rejudge {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := &rejudge{Since: "7"}
	if r.last != nil {
		*now = *r.last
	}
	if r.cfg.Rejudge == nil {
		now.Refused = "—"
	} else if _, err := r.cfg.Rejudge(context.Background()); err != nil {
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
	if form.Has("cancel") || r.cfg.Rejudge == nil || r.last != nil && r.last.Running {
		return next
	}
	run := &rejudge{Since: form.Get("since"), Strictness: form.Get("strictness"),
		Numbers: strings.TrimSpace(form.Get("numbers")), By: p.Name, At: r.cfg.Now(), Running: true}
	ctx, cancel := context.WithTimeout(context.Background(), longestRejudge)
	r.last, r.cancel = run, cancel
	go func() {
		select {
		case <-r.cfg.Done:
		case <-ctx.Done():
		}
		cancel()
	}()
	language := p.Language
	go func() {
		defer cancel()
		var result rejudged
		var labels []byte
		work := filepath.Join(r.cfg.Dir, rejudgeDir)
		err := must.Catch(func() { result, labels = r.run(ctx, run, work, language) })
		err = cmp.Or(ctx.Err(), errors.Join(err, os.RemoveAll(work)))
		r.mu.Lock()
		defer r.mu.Unlock()
		run.Running, run.Result, run.Labels = false, result, labels
		if err != nil {
			run.Failed = err.Error()
		}
	}()
	return next
}

// run runs the command to its end. Its copy of the catalogue and its files are in one folder
// of the data directory, which is as large. Package must ends it.
func (r *rejudges) run(ctx context.Context, run *rejudge, work, language string) (result rejudged, labels []byte) {
	must.Do(errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700)))
	pairs := filepath.Join(work, "labels.tsv")
	args := []string{"--json", "--progress=1s", "--work=" + work, "--labels=" + pairs, "--language=" + language,
		"--show=" + strconv.Itoa(rejudgeShown), "--since=" + run.Since + "d", "--strictness=" + run.Strictness}
	if run.Numbers != "" {
		file := filepath.Join(work, "numbers.json")
		must.Do(os.WriteFile(file, []byte(run.Numbers), 0o600))
		args = append(args, "--policy="+file)
	}
	cmd := must.Get(r.cfg.Rejudge(ctx, args...))
	var out bytes.Buffer
	progress := &rejudgeProgress{all: r, run: run}
	cmd.Stdout, cmd.Stderr = &out, progress
	if err := cmd.Run(); err != nil {
		must.Do(fmt.Errorf("%w: %s", err, progress.last))
	}
	must.Do(json.Unmarshal(out.Bytes(), &result))
	result.BySource = result.BySource[:min(len(result.BySource), rejudgeShown)]
	return result, must.Get(os.ReadFile(pairs))
}

// rejudgeProgress reads what the command prints on standard error.
type rejudgeProgress struct {
	all  *rejudges
	run  *rejudge
	last string // the last line that is no progress
}

var progressLine = regexp.MustCompile(`^rejudge: (\w+).*: (\d+) of (\d+)`)

func (r *rejudgeProgress) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		m := progressLine.FindStringSubmatch(line)
		if m == nil {
			r.last = shortened(visible(line), 500)
			continue
		}
		r.all.mu.Lock()
		r.run.Stage = m[1]
		r.run.Done, _ = strconv.ParseInt(m[2], 10, 64)
		r.run.All, _ = strconv.ParseInt(m[3], 10, 64)
		r.all.mu.Unlock()
	}
	return len(b), nil
}

// download answers with the pairs that change, for editors to label.
func (r *rejudges) download(_ context.Context, p *page) string {
	labels := r.now().Labels
	if labels == nil {
		must.Do(index.ErrNotFound)
	}
	return p.download("text/tab-separated-values", "jianguo-rejudge.tsv", labels)
}
