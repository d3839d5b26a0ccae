package main

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"jianguo/compare"
	"jianguo/exposure/story"
	"jianguo/index"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wait"
	"jianguo/internal/wrap"
)

const (
	// relatedQuery lists the events that may begin or end the relation of an item to an earlier one, and how many
	// characters it adds to that. The event of a promoted copy no longer names what it was a copy of: its row does.
	relatedQuery = `SELECT i.id, coalesce(o.id, ''), e.verdict, e.previous, e.cause, e.rule,
	CASE WHEN i.evidence ->> '$.reason' IN (?5, ?6, ?7) THEN coalesce(i.evidence ->> '$.new.characters', 0) ELSE 0 END
	FROM events e JOIN items i ON i.ordinal = e.ordinal LEFT JOIN items o ON o.ordinal = coalesce(e.of,
		CASE e.cause WHEN ?1 THEN i.of END)
	WHERE e.number > ?2 AND e.number <= ?3 AND
	(e.of IS NOT NULL OR e.previous <> 0 OR e.cause <> ?4) ORDER BY e.number`
	relatedStep = 100_000 // events read at a time
	relatedPoll = 200 * time.Millisecond
)

// followStories keeps the stories of the filter up to date with the catalogue.
func followStories(ctx context.Context, view *index.Index, stories *story.Stories, log *slog.Logger) {
	for after := uint64(0); ; {
		_, last := view.Applied()
		for after < last && ctx.Err() == nil {
			to := min(after+relatedStep, last)
			if err := relate(ctx, view.Tables(), stories, after, to); err != nil {
				if ctx.Err() == nil {
					log.ErrorContext(ctx, "stories of the filter lag behind", "error", err)
				}
				break
			}
			after = to
		}
		if after >= last {
			stories.SetReady()
		}
		if wait.For(ctx, relatedPoll) != nil {
			return
		}
	}
}

// relate gives the events (after, to] to the stories.
func relate(ctx context.Context, tables *sql.DB, stories *story.Stories, after, to uint64) error {
	err := must.Catch(func() {
		for rows := range sqlite.Rows(ctx, tables, relatedQuery, index.CausePromotion, after, to, index.CauseIngest,
			compare.Extends, compare.Overlap, compare.Update) {
			var id, of string
			var adds int
			var verdict, previous index.Verdict
			var cause index.Cause
			var rule index.Rule
			must.Do(rows.Scan(&id, &of, &verdict, &previous, &cause, &rule, &adds))
			related := verdict == index.Suspect || rule == index.ByLicence || rule == index.ByPreference ||
				cause == index.CausePromotion
			switch {
			case verdict == index.Withdrawn: // it is not shown any more, but may have been
			case of == "" || of == id || verdict.Accepted() && !related:
				if verdict.Accepted() {
					stories.Unlink(id)
				}
			case verdict.Accepted():
				stories.Link(id, of, adds)
			case previous.Accepted(): // it was published before
				stories.Link(id, of, 0)
			default:
				stories.Link(id, of, story.Rejected)
			}
		}
	})
	return wrap.Err(err, "stories: events after %d", after)
}
