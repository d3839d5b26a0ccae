package index

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"jianguo/index/verdict"
	"jianguo/simhash"
)

// event is a row as it is published: the same bytes whenever it is rendered.
// of is the id behind e.of.
func (x *Index) event(e *eventRow, r *itemRow, of string) (Event, error) {
	ev := Event{
		Number: e.number, ID: r.id, Revision: e.revision, Verdict: e.verdict, Previous: e.previous, Cause: e.cause, Rule: e.rule, Of: of,
		Cluster: e.cluster, Fingerprint: simhash.Fingerprint(r.fingerprint).String(),
		Recipe: x.stampHash(r.recipe), Policy: x.stampHash(e.policy), At: time.UnixMilli(e.at).UTC(),
	}
	if e.cause == CauseIngest || e.cause == CauseRevision {
		ev.Series = uint32(r.series.Int64)
		if r.of.Valid {
			distance, s, resemblance := -1, float32(-1), float32(math.NaN())
			if r.distance.Valid {
				distance = int(r.distance.Int64)
			}
			if r.margin.Valid {
				s = float32(r.margin.Float64)
			}
			if r.resemblance.Valid {
				resemblance = float32(r.resemblance.Float64)
			}
			ev.Measure(distance, s, resemblance)
		}
		if r.evidence.Valid {
			ev.Facts = new(Facts)
			if err := json.Unmarshal([]byte(r.evidence.String), ev.Facts); err != nil {
				return Event{}, fmt.Errorf("evidence of ordinal %d: %w", r.ordinal, err)
			}
		}
	}
	ev.Why = Why(&ev, x.cfg.Language)
	if e.note.Valid {
		ev.Why += verdict.NoteSeparator(x.cfg.Language) + e.note.String
	}
	return ev, nil
}

// Note is the name and reason, or the source's reason, that an event's
// sentence ends with; empty for most.
func (x *Index) Note(e *Event) string {
	rest, ok := strings.CutPrefix(e.Why, Why(e, x.cfg.Language))
	if !ok {
		return ""
	}
	return strings.TrimPrefix(rest, verdict.NoteSeparator(x.cfg.Language))
}
