// Package importer moves the histories of users from another store into a running service.
//
// Redis reads users in pages: a ZSET, SET or LIST a user. What a policy would forget is not sent
// (plan.go). The rest goes to the service as reports, oldest first, so that the log keeps it like any
// other report: an import that is interrupted continues after its last whole page, and what is sent
// twice counts once.
//
// The old store is only read.
package importer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
)

// User is what the old store holds of one user.
type User struct {
	Name  string
	Scene string
	Kind  state.EventKind
	// Held is the number of exposures in the old store. Exposures may be fewer: the newest.
	Held      int
	Exposures []trace.Exposure // newest first
}

// Page is a step of an import: it is repeated as a whole after an interruption.
type Page struct {
	Users []User
	// Position is where an import continues after this page.
	Position    string
	Done, Total int64 // keys
}

// Config configures Run. Source and Client are required.
type Config struct {
	Source   *Redis
	Client   *Client
	Scene    string  // of users who have none of their own
	Resume   string  // file that keeps the position; empty: the import begins at the beginning
	Rate     float64 // exposures a second at most; 0: no limit
	Progress func(done, total int64)
	Logger   *slog.Logger
}

// Summary is what an import did.
type Summary struct {
	Users     int64   `json:"users"`
	Held      int64   `json:"held"`      // exposures in the old store
	Imported  int64   `json:"imported"`  // exposures sent and acknowledged
	Forgotten int64   `json:"forgotten"` // exposures that the policy would not keep
	Refused   int64   `json:"refused"`   // exposures that the service refuses, such as ids of more than 256 bytes
	Untimed   int64   `json:"untimed"`   // exposures without a time: they count as of now
	Seconds   float64 `json:"seconds"`
}

// workers is how many users are imported at the same time.
const workers = 16

// Run imports all users of the source. An error leaves the position of the last whole page
// in Config.Resume.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	start := time.Now()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r := &run{cfg: cfg, policies: map[string]state.Policy{}, limit: rate.NewLimiter(rate.Inf, 0)}
	if cfg.Rate > 0 {
		r.limit = rate.NewLimiter(rate.Limit(cfg.Rate), wire.MaxItems)
	}
	position, err := readPosition(cfg.Resume)
	if err != nil {
		return r.sum, err
	}
	if _, err := cfg.Client.query(ctx, "import", cfg.Scene); err != nil { // whether the service answers at all
		return r.sum, err
	}
	err = cfg.Source.Pages(ctx, position, func(p Page) error { return r.page(ctx, p) })
	r.sum.Seconds = time.Since(start).Seconds()
	return r.sum, err
}

type run struct {
	cfg   Config
	limit *rate.Limiter

	mu       sync.Mutex
	policies map[string]state.Policy // mu; by their texts
	sum      Summary                 // mu
}

// page imports the users of a page and keeps its position.
func (r *run) page(ctx context.Context, p Page) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range p.Users {
		g.Go(func() error { return r.user(gctx, &p.Users[i]) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if r.cfg.Progress != nil {
		r.cfg.Progress(p.Done, p.Total)
	}
	return writePosition(r.cfg.Resume, p.Position)
}

func (r *run) user(ctx context.Context, u *User) error {
	if u.Scene == "" {
		u.Scene = r.cfg.Scene
	}
	info, err := r.cfg.Client.query(ctx, u.Name, u.Scene)
	if refused(err) {
		r.add(Summary{Users: 1, Held: int64(u.Held), Refused: int64(u.Held)})
		r.cfg.Logger.Warn("import: user refused", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	info = historyOf(u.Kind, info)
	policy, err := r.policy(info.Policy)
	if err != nil {
		return err
	}
	reports, n := Plan(&policy, u, info, time.Now())
	for _, report := range reports {
		if err := r.limit.WaitN(ctx, min(len(report.Items), wire.MaxItems)); err != nil {
			return err
		}
		err := r.cfg.Client.report(ctx, report)
		switch {
		case refused(err):
			n.Refused += int64(len(report.Items))
			r.cfg.Logger.Warn("import: report refused", "items", len(report.Items), "error", err)
		case err != nil:
			return err
		default:
			n.Imported += int64(len(report.Items))
		}
	}
	r.add(n)
	return nil
}

// policy is a policy by its text.
func (r *run) policy(text string) (state.Policy, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.policies[text]; ok {
		return p, nil
	}
	p, err := state.ParsePolicy(text)
	if err != nil {
		return p, fmt.Errorf("import: the service's policy: %w", err)
	}
	r.policies[text] = p
	return p, nil
}

func (r *run) add(n Summary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.sum
	s.Users += n.Users
	s.Held += n.Held
	s.Imported += n.Imported
	s.Forgotten += n.Forgotten
	s.Refused += n.Refused
	s.Untimed += n.Untimed
}

func refused(err error) bool {
	var r *RefusedError
	return errors.As(err, &r)
}
