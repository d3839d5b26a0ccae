package trace

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
	"jianguo/internal/clock"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Bounds of traces. A trace that is full loses its oldest lines.
const (
	Longest  = 7 * 24 * time.Hour // and then all of it is deleted
	maxBytes = 4 << 20            // of lines, of a user
	maxUsers = 16                 // users
	maxIDs   = 500                // that one line names
)

// Errors that a caller decides on.
var (
	ErrTooMany = fmt.Errorf("%d users are traced already: end a trace first, with for: 0s", maxUsers)
	ErrNone    = errors.New("there is no trace of this user: none was started, or it is over 7 days old, " +
		"or the user was forgotten")
)

// Traces record what is reported and asked about a few users. They are kept in two tables of the state file. What
// was recorded in the last second is lost with the process.
type Traces struct {
	db      *sql.DB
	clock   func() time.Time
	logger  *slog.Logger
	running atomic.Pointer[map[string]int64] // when all traces end, by user, in unix seconds; never changed; nil: none

	saving  sync.Mutex // one change of the tables at a time
	oldest  int64      // saving; when the oldest trace began, in unix seconds
	mu      sync.Mutex
	erased  int     // mu; times that a user was erased
	pending []*Line // mu; not in the file yet
	bytes   int     // mu; of their texts
	lost    int     // mu; lines for which there was no room
}

const schema = `
CREATE TABLE IF NOT EXISTS trace (user TEXT PRIMARY KEY, began INTEGER NOT NULL, ends INTEGER NOT NULL,
	reason TEXT NOT NULL, left_out INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trace_line (id INTEGER PRIMARY KEY, user TEXT NOT NULL, seq INTEGER, at INTEGER NOT NULL,
	text BLOB NOT NULL, UNIQUE (user, seq, at));
CREATE TRIGGER IF NOT EXISTS trace_left_out AFTER DELETE ON trace_line BEGIN
	UPDATE trace SET left_out = left_out + 1 WHERE user = old.user; END;`

// Open reads which traces there are from a state file.
func Open(ctx context.Context, db *sql.DB, clock func() time.Time, logger *slog.Logger) (*Traces, error) {
	t := &Traces{db: db, clock: clock, logger: logger}
	_, err := db.ExecContext(ctx, schema)
	if err == nil {
		err = t.load(ctx)
	}
	return t, err
}

// load removes what is too old, and lines without a trace.
func (t *Traces) load(ctx context.Context) error {
	ends := map[string]int64{}
	t.oldest = math.MaxInt64 / 2
	err := must.Catch(func() {
		must.Get(t.db.ExecContext(ctx, `DELETE FROM trace WHERE began <= ?;
			DELETE FROM trace_line WHERE user NOT IN (SELECT user FROM trace)`, t.clock().Add(-Longest).Unix()))
		for rows := range sqlite.Rows(ctx, t.db, "SELECT user, began, ends FROM trace") {
			var user string
			var began, end int64
			must.Do(rows.Scan(&user, &began, &end))
			ends[user], t.oldest = end, min(t.oldest, began)
		}
	})
	if err != nil {
		return fmt.Errorf("exposure: traces: %w", err)
	}
	if t.running.Store(&ends); len(ends) == 0 {
		t.running.Store(nil)
	}
	return nil
}

// Start begins a trace of a user, in place of an earlier one. With a length of 0s it only deletes that.
func (t *Traces) Start(ctx context.Context, user, length, reason string) error {
	if err := cmp.Or(wire.CheckName("user", user, true), wire.CheckName("reason", reason, true)); err != nil {
		return err
	}
	d, err := time.ParseDuration(length)
	if err != nil || d < 0 || d > Longest {
		return wire.Invalidf("for", "is %.60q: give a duration such as 24h, of 168h at most, or 0s to end a trace",
			length)
	}
	t.saving.Lock()
	defer t.saving.Unlock()
	if ends := t.running.Load(); ends != nil && len(*ends) >= maxUsers && (*ends)[user] == 0 && d > 0 {
		return ErrTooMany
	}
	t.save(ctx)
	_, err = t.db.ExecContext(ctx, `DELETE FROM trace WHERE user = ?;
		DELETE FROM trace_line WHERE user = ?`, user, user)
	if now := t.clock(); err == nil && d > 0 {
		_, err = t.db.ExecContext(ctx, "INSERT INTO trace VALUES (?, ?, ?, ?, 0)",
			user, now.Unix(), now.Add(d).Unix(), reason)
	}
	return errors.Join(err, t.load(ctx))
}

// Erase removes the trace of a user, and from other traces the lines that tell of this user's history.
func (t *Traces) Erase(ctx context.Context, user string) error {
	if t.running.Load() == nil {
		return nil
	}
	t.saving.Lock()
	defer t.saving.Unlock()
	t.save(ctx)
	t.mu.Lock()
	t.erased++ // what is being recorded may tell of the user
	t.mu.Unlock()
	_, err := t.db.ExecContext(ctx, `DELETE FROM trace WHERE user = ?;
		DELETE FROM trace_line WHERE instr(text, CAST(? AS BLOB))`, user, text("linked", user))
	return errors.Join(err, t.load(ctx))
}

type Line struct {
	What, Scene, Scope, From, Reported string // What is the kind of a report, or filter
	Asked, Max, AtLeast                int    // ids
	Degraded                           string
	Refused                            error
	Groups                             []*Group

	user     string
	time     time.Time
	seq      *uint64
	erased   int
	text     string
	idsNamed int
}

// Group is the ids of a line about which the same is to be said.
type Group struct {
	Why string
	All int
	IDs []string // as many as the line may name
}

// More is how many are not in IDs.
func (g *Group) More() int { return g.All - len(g.IDs) }

// Begin begins a line if the user is traced; otherwise it returns nil. It costs one look at a pointer while no user is
// traced.
func (t *Traces) Begin(user, what string) *Line {
	ends := t.running.Load()
	if ends == nil || (*ends)[user] <= t.clock().Unix() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return &Line{What: what, user: user, time: t.clock(), erased: t.erased}
}

// Report is about an event of the log, which is recorded once however often it is applied.
func (l *Line) Report(e eventlog.Entry, q *wire.Query, outcome error) {
	l.time, l.seq = e.Time, &e.Seq
	l.Scene, l.From, l.Reported, l.Asked, l.Refused = q.Scene, q.From, q.At, q.Len(), outcome
	for i := range q.Len() {
		l.add("reported", string(q.ID(i)))
	}
}

// Answer is about an answer to a filter. evidence finds what holds some items, and story lists an item and the
// others of its story.
func (l *Line) Answer(a *wire.Answer, o wire.Outcome,
	evidence func(items []string) (Evidence, error), story func(id string) []string) {
	q := a.Query
	l.Scene, l.Scope, l.Asked, l.Max, l.AtLeast, l.Degraded = q.Scene, q.Scope, q.Len(), q.Max, q.AtLeast, o.Degraded
	said := map[byte]string{kernel.Unseen: "returned", wire.Relaxed: "returned, relaxed",
		wire.Cut: "unseen, beyond max", wire.Repeat: "repeated"}
	var dropped []string
	for i, mark := range a.Marks {
		if why := said[mark]; why != "" {
			l.add(why, string(q.ID(i)))
		} else {
			dropped = append(dropped, string(q.ID(i)))
		}
	}
	ev, err := evidence(dropped)
	for i, id := range dropped {
		var reasons []string
		if err == nil && l.idsNamed < maxIDs {
			var held bool
			if reasons, held = ev.Why(i, id); !held && l.Scope == "story" {
				if of, err := evidence(story(id)); err == nil {
					reasons = of.Explain().Reasons
				}
			}
		}
		l.add("dropped, "+cmp.Or(strings.Join(reasons, "; and "), "for a reason that is not looked up"), id)
	}
}

// add adds an id to those about which the same is to be said.
func (l *Line) add(why, id string) {
	i := slices.IndexFunc(l.Groups, func(g *Group) bool { return g.Why == why })
	if i < 0 {
		i = len(l.Groups)
		l.Groups = append(l.Groups, &Group{Why: why})
	}
	g := l.Groups[i]
	if g.All++; l.idsNamed < maxIDs {
		g.IDs = append(g.IDs, id)
		l.idsNamed++
	}
}

// End records a line.
func (t *Traces) End(l *Line) {
	l.text = text("line", l)
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.erased != t.erased || t.bytes+len(l.text) > maxBytes {
		t.lost++
		return
	}
	t.pending, t.bytes = append(t.pending, l), t.bytes+len(l.text)
}

// SaveLoop calls Save until the context ends.
func (t *Traces) SaveLoop(ctx context.Context) {
	for ctx.Err() == nil {
		_ = clock.Sleep(ctx, time.Second) // what was recorded until the end is written as well
		t.Save(context.WithoutCancel(ctx))
	}
}

func (t *Traces) warn(err error) {
	if err != nil {
		t.logger.Warn("exposure: a trace is not whole", "err", err)
	}
}

// Save writes what was recorded, and removes old traces.
func (t *Traces) Save(ctx context.Context) {
	t.saving.Lock()
	defer t.saving.Unlock()
	if t.save(ctx); t.clock().Unix() >= t.oldest+int64(Longest/time.Second) {
		t.warn(t.load(ctx))
	}
}

// save writes what is pending. The caller holds saving.
func (t *Traces) save(ctx context.Context) {
	t.mu.Lock()
	lines, lost, erased := t.pending, t.lost, t.erased
	t.pending, t.bytes, t.lost = nil, 0, 0
	t.mu.Unlock()
	if len(lines)+lost == 0 {
		return
	}
	const full = `DELETE FROM trace_line WHERE id IN (SELECT id FROM (
		SELECT id, sum(length(text)) OVER (PARTITION BY user ORDER BY id DESC) AS bytes FROM trace_line)
			WHERE bytes > ?);
		UPDATE trace SET left_out = left_out + ?`
	t.warn(must.Catch(func() {
		tx := must.Get(t.db.BeginTx(ctx, nil))
		defer tx.Rollback()
		for _, l := range lines {
			if l.erased == erased {
				must.Get(tx.ExecContext(ctx, `INSERT OR IGNORE INTO trace_line (user, seq, at, text)
					SELECT user, ?, ?, ? FROM trace WHERE user = ? AND began <= ?`,
					l.seq, l.time.UnixMilli(), []byte(l.text), l.user, l.time.Unix()))
			}
		}
		must.Get(tx.ExecContext(ctx, full, maxBytes, lost))
		must.Do(tx.Commit())
	}))
}

type Trace struct {
	User    string    `json:"user"`
	Reason  string    `json:"reason"`
	Began   time.Time `json:"began"`
	Ends    time.Time `json:"ends"`
	LeftOut int       `json:"left_out"` // lines, of the oldest or of any while too many came at once
	Lines   []Entry   `json:"lines"`
}

// Entry is one line of it, which may have several lines of text.
type Entry struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

func (t *Trace) String() string { return text("trace", t) }

func (t *Traces) Read(ctx context.Context, user string) (*Trace, error) {
	return must.Try(func() *Trace {
		must.Do(wire.CheckName("user", user, true))
		t.saving.Lock()
		defer t.saving.Unlock()
		t.save(ctx)
		out, zone := &Trace{User: user, Lines: []Entry{}}, t.clock().Location()
		var began, ends int64
		err := t.db.QueryRowContext(ctx, "SELECT began, ends, reason, left_out FROM trace WHERE user = ?", user).
			Scan(&began, &ends, &out.Reason, &out.LeftOut)
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrNone
		}
		must.Do(err)
		out.Began, out.Ends = time.Unix(began, 0).In(zone), time.Unix(ends, 0).In(zone)
		const lines = "SELECT at, text FROM trace_line WHERE user = ? ORDER BY id"
		for at, line := range sqlite.Pairs[int64, string](ctx, t.db, lines, user) {
			out.Lines = append(out.Lines, Entry{time.UnixMilli(at).In(zone), line})
		}
		return out
	})
}
