package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/zeebo/xxh3"

	"jianguo/compare"
	"jianguo/index/resident"
	"jianguo/index/sources"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/simhash"
)

// version is one version of an item: its row, which has the verdict on arrival, and its current state. Fields that
// both have can only be read as itemRow.verdict or current.verdict.
type version struct {
	itemRow
	flags resident.Flags
	current
}

// current is the part of a version that can change after its arrival. Once it has, it is a row of the table current.
type current struct {
	verdict  Verdict
	rule     Rule
	of       uint32
	cluster  uint32
	revision int64
	seq      uint64
}

// batch is one transaction of the writer. Guarded by writeMu.
type batch struct {
	x        *catalogue
	ctx      context.Context
	rollback rollback
	// Counters of this batch; the commit copies them to the catalogue.
	ordinal uint32
	event   uint64
	asides  []string // ids of texts that were set aside
	// outlines holds the outlines of the new versions, in order; a blank version has none.
	outlines []compare.Outline
}

// message is the last one that a batch applies.
type message struct{ seq, logged uint64 }

// apply runs f as one batch: in one transaction, with its changes in memory.
func (x *catalogue) apply(ctx context.Context, last message, f func(b *batch)) error {
	b := &batch{x: x, ctx: context.WithoutCancel(ctx), ordinal: x.nextOrdinal, event: x.nextEvent,
		rollback: rollback{rows: map[uint32]residentRow{}, clusters: map[uint32]clusterRow{}}}
	err := x.transaction(ctx, func() {
		f(b)
		for source, s := range x.boilerplate.Changed() {
			must.Get(x.conn.ExecContext(b.ctx, sources.InsertClauses, s.Row(source)...))
		}
		x.setMeta(b.ctx, "applied", strconv.FormatUint(last.seq, 10))
		x.setMeta(b.ctx, "logged", strconv.FormatUint(last.logged, 10))
	})
	if err != nil {
		x.rollBack(&b.rollback)
		return errors.Join(err, must.Catch(func() { x.flood.load(b.ctx, x.reader) }))
	}
	for i := range b.outlines {
		x.tables.Rows.SetOutline(x.nextOrdinal+uint32(i), &b.outlines[i])
	}
	x.nextOrdinal, x.nextEvent = b.ordinal, b.event
	x.boilerplate.End(true)
	x.mu.Lock()
	x.applied, x.logged, x.events = last.seq, last.logged, b.event-1
	x.mu.Unlock()
	for _, id := range b.asides {
		x.metrics.asides.Inc()
		x.log.WarnContext(ctx, "a text was set aside: it has met too many suspects in a minute", "item", id)
	}
	snapshots{x}.snapshotWhenDue(ctx)
	sweeper{x}.sweepWhenDue(ctx)
	return nil
}

// exec runs a statement of the writer.
func (b *batch) exec(text string, args []any, what string, whatArgs ...any) sql.Result {
	res, err := b.x.conn.ExecContext(b.ctx, text, args...)
	must.Dof(err, what, whatArgs...)
	return res
}

// query reads one row, and sees what the batch has changed.
func (b *batch) query(text string, args ...any) *sql.Row {
	return b.x.conn.QueryRowContext(b.ctx, text, args...)
}

// unchanged returns the last event of a version as the outcome.
func (b *batch) unchanged(v *version) Outcome {
	return Outcome{Event: b.x.lastEvent(b.ctx, b.x.conn, v.ordinal, `1`)}
}

// latest returns the latest version of an id, or nil if there is none.
func (b *batch) latest(id string) *version {
	if own := b.x.versions(b.ctx, &b.x.inBatch, id); len(own) > 0 {
		return b.version(own[0])
	}
	return nil
}

func (b *batch) version(ordinal uint32) *version { return b.x.version(b.ctx, &b.x.inBatch, ordinal) }

// insert adds the row of a new version, its look-ups and, if it is an exemplar, its postings. The row refers to the
// next event: the caller emits the first one of this version before any other.
func (b *batch) insert(r *itemRow, a *Article) {
	x := b.x
	r.event = b.event
	b.exec(`INSERT INTO items (`+itemColumns+`, sum) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		sqlite.WithSum(r.columns()...), "insert")
	if a != nil && a.Packed != nil {
		b.exec(`INSERT INTO texts (ordinal, body) VALUES (?,?)`, []any{r.ordinal, a.Packed}, "insert text")
	}
	f := resident.Arrival(r.verdict, r.exact == nil)
	b.rollback.saveRow(b.x.tables.Rows, r.ordinal)
	x.tables.Rows.Set(r.ordinal, f, r.cluster, uint32(r.arrivedAt/1000))
	x.tables.IDs.Put(xxh3.HashString(r.id), r.ordinal)
	if r.exact != nil {
		x.tables.Exacts.Put(resident.ExactKey(r.exact), r.ordinal)
	}
	if f&resident.Exemplar != 0 {
		x.matcher.Cache(r.ordinal, a)
		b.post(r.ordinal, resident.NewPosting(simhash.Fingerprint(r.fingerprint), &a.Sketch))
	}
	var outline compare.Outline
	if a != nil && r.exact != nil {
		outline = a.Sketch.Outline
	}
	b.outlines = append(b.outlines, outline)
	b.ordinal++
}

// setCurrent changes the state of a version: its row in current and its resident row. It adds or removes its postings
// if the version becomes an exemplar or is one no longer.
func (b *batch) setCurrent(v *version, f resident.Flags, s current) {
	x := b.x
	b.repost(v.ordinal)
	f = f.With(s.verdict)
	b.exec(`INSERT OR REPLACE INTO current (ordinal, verdict, rule, of, cluster, flags, revision, seq, sum)
		VALUES (?,?,?,?,?,?,?,?,?)`,
		sqlite.WithSum(v.ordinal, s.verdict, s.rule, ordinalOrNull(s.of), s.cluster, f, s.revision, s.seq),
		"state of ordinal %d", v.ordinal)
	b.rollback.saveRow(b.x.tables.Rows, v.ordinal)
	x.tables.Rows.SetFlags(v.ordinal, f)
	x.tables.Rows.SetCluster(v.ordinal, s.cluster)
	if (v.flags^f)&resident.Exemplar != 0 {
		if p := b.posting(v.ordinal); f&resident.Exemplar != 0 {
			b.post(v.ordinal, p)
		} else {
			b.unpost(v.ordinal, p)
		}
	}
	v.flags, v.current = f, s
}

// posting is what a version is posted under, by the form that it is compared by now.
func (b *batch) posting(ordinal uint32) resident.Posting {
	return must.Get(resident.ReadPosting(b.ctx, b.x.conn, b.x.inBatch.Compared, ordinal))
}

// emit appends one event and returns it in its published form.
func (b *batch) emit(e eventRow, r *itemRow) Event {
	e.number = b.event
	e.ordinal = uint64(r.ordinal)
	e.effectiveCause = cmp.Or(e.effectiveCause, e.cause)
	if e.policy = b.x.levels[""].stamp; e.cause == CauseIngest || e.cause == CauseRevision {
		e.policy = r.policy
	}
	if e.cause != CauseIngest || e.verdict != Unique || e.of.Valid || e.story.Valid { // else it follows nothing
		story := b.storyOf(e.cluster)
		e.story = sql.NullInt64{Int64: int64(story), Valid: story != e.cluster}
	}
	b.exec(`INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, sqlite.WithSum(e.columns()...), "event %d",
		e.number)
	b.event++
	var of string
	if e.of.Valid {
		of = must.Get(idOf(b.ctx, b.x.conn, uint32(e.of.Int64)))
	}
	return b.x.event(&e, r, of)
}

// sourceNumber returns the number of a source, a new one for a new name, and NULL
// for an empty name.
func (b *batch) sourceNumber(name string) sql.NullInt64 {
	if name == "" {
		return sql.NullInt64{}
	}
	var n int64
	err := b.query(`SELECT number FROM sources WHERE name = ?`, name).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		n, err = b.exec(`INSERT INTO sources (name) VALUES (?)`, []any{name}, "source %q", name).LastInsertId()
	}
	must.Dof(err, "source %q", name)
	return sql.NullInt64{Int64: n, Valid: true}
}

// repost posts a swept exemplar again, because its item or cluster changes.
func (b *batch) repost(ordinal uint32) {
	rows := b.x.tables.Rows
	f := rows.Flags(ordinal)
	if f&resident.Swept == 0 {
		return
	}
	b.post(ordinal, b.posting(ordinal))
	b.rollback.saveRow(b.x.tables.Rows, ordinal)
	rows.SetFlags(ordinal, f&^resident.Swept)
}
