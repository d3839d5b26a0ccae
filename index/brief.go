package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Brief is a version in a list, with its current verdict.
type Brief struct {
	Ordinal     uint32
	ID, Title   string // without a title, Title is the beginning of the text
	Source, URL string
	Published   *time.Time
	Arrived     time.Time
	Verdict     Verdict // now
	Rule        Rule    // now
	Of          uint32  // now; 0: none
	Against     uint32  // the version it was judged against on arrival; 0: none
	Cluster     uint32  // now
	Series      uint32
	Distance    *int
	Margin      *float32
	Resemblance *float32
	Facts       *Facts
	Event       uint64 // the number of its last event
}

// When returns the time of publication if it is credible, else that of arrival.
func (b Brief) When() time.Time {
	if Credible(b.Published, b.Arrived) {
		return *b.Published
	}
	return b.Arrived
}

const briefQuery = `SELECT i.ordinal, i.id, i.title, coalesce(s.name, ''), coalesce(i.url, ''), i.published_at,
	i.arrived_at, coalesce(c.rule, i.rule), coalesce(CASE WHEN c.ordinal IS NULL THEN i.of ELSE c.of END, 0),
	coalesce(i.of, 0), coalesce(i.series, 0), i.distance, i.margin, i.resemblance,
	i.evidence, CASE WHEN i.title = '' THEN (SELECT body FROM texts t WHERE t.ordinal = i.ordinal) END,
	coalesce((SELECT max(number) FROM events e WHERE e.ordinal = i.ordinal AND e.cause > 2), i.event)
	FROM items i LEFT JOIN sources s ON s.number = i.source LEFT JOIN current c ON c.ordinal = i.ordinal
	WHERE i.ordinal `

// scanBrief panics on errors (must).
func (x *catalogue) scanBrief(r *sql.Rows) *Brief {
	b := new(Brief)
	var evidence sql.NullString
	var body []byte
	var published *sqlite.Millis
	must.Do(r.Scan(&b.Ordinal, &b.ID, &b.Title, &b.Source, &b.URL, &published, (*sqlite.Millis)(&b.Arrived), &b.Rule,
		&b.Of, &b.Against, &b.Series, &b.Distance, &b.Margin, &b.Resemblance, &evidence, &body, &b.Event))
	b.Published = (*time.Time)(published)
	b.Margin, b.Resemblance = verdict.Rounded(b.Margin, 100), verdict.Rounded(b.Resemblance, 1000)
	if evidence.Valid {
		b.Facts = new(Facts)
		must.Dof(json.Unmarshal([]byte(evidence.String), b.Facts), "evidence of ordinal %d", b.Ordinal)
	}
	if b.Title == "" && body != nil {
		text, err := verdict.UnpackText(body)
		must.Dof(err, "ordinal %d", b.Ordinal)
		b.Title = x.beginning(text, 40)
	}
	f := x.tables.Rows.Flags(b.Ordinal)
	b.Verdict, b.Cluster = f.Verdict(), x.ClusterOf(b.Ordinal)
	return b
}

// Text returns the kept text of a version; nil: none was kept.
func (x *catalogue) Text(ctx context.Context, ordinal uint32) (*string, error) {
	var packed []byte
	err := x.reader.QueryRowContext(ctx, `SELECT body FROM texts WHERE ordinal = ?`, ordinal).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var text string
	if err == nil {
		text, err = verdict.UnpackText(packed)
	}
	if err != nil {
		return nil, fmt.Errorf("index: text of ordinal %d: %w", ordinal, err)
	}
	return &text, nil
}

// Same returns the versions that have a normal form, rejected copies included, oldest first. It
// does not check more of the hash than package buckets keeps: among a hundred million versions,
// one look-up in three million returns another.
func (x *Index) Same(exact [16]byte) []uint32 {
	ordinals := x.tables.Exacts.Get(nil, resident.ExactKey(exact[:]))
	slices.Sort(ordinals)
	return ordinals
}

// BriefByID reads the current version of an id; nil: there is none.
func (x *catalogue) BriefByID(ctx context.Context, id string) (current *Brief, err error) {
	briefs, err := x.Briefs(ctx, x.tables.IDs.Get(nil, xxh3.HashString(id)))
	for _, b := range briefs {
		if b.ID == id && (current == nil || current.Ordinal < b.Ordinal) {
			current = b
		}
	}
	return current, err
}

// Why explains the current verdict in one sentence. The argument of is the name of
// the item it was judged against, empty for none.
func (b *Brief) Why(of, language string) string {
	e := Event{Verdict: b.Verdict, Rule: b.Rule, Of: of, Distance: b.Distance, Resemblance: b.Resemblance,
		Facts: b.Facts, Series: b.Series}
	switch {
	case b.Rule == ByEditor:
		e.Cause = CauseEditor
	case b.Rule == ByPreference && b.Verdict == Duplicate:
		e.Cause = CausePromotion
	}
	return Why(&e, language)
}

// beginning returns the first n characters of an article on one line, without the page residue before it. Lists show
// many: it looks for them in 16 KiB.
func (x *catalogue) beginning(body string, n int) string {
	o := x.matcher.Original("", strings.ToValidUTF8(body[:min(len(body), 16<<10)], ""))
	text := o.Text
	if i := strings.IndexFunc(o.Form, unicode.IsPrint); i >= 0 {
		start, _ := o.Origin(i)
		opens := func(r rune) bool { return unicode.In(r, unicode.Ps, unicode.Pi) }
		text = text[len(strings.TrimRightFunc(text[:start], opens)):]
	}
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) <= n {
		return string(line)
	}
	return string(line[:n]) + "…"
}

// Briefs reads versions by their ordinals. Unknown ordinals are omitted.
func (x *catalogue) Briefs(ctx context.Context, ordinals []uint32) (map[uint32]*Brief, error) {
	out := make(map[uint32]*Brief, len(ordinals))
	err := must.Catch(func() {
		const query = briefQuery + `IN (SELECT value FROM json_each(?))`
		for r := range sqlite.Rows(ctx, x.reader, query, sqlite.List(ordinals)) {
			b := x.scanBrief(r)
			out[b.Ordinal] = b
		}
	})
	return out, wrap.Err(err, "index: briefs")
}

// Credible reports whether a time of publication is plausible: not before 1991, and
// at most one hour after the arrival, since clocks are wrong.
func Credible(published *time.Time, arrived time.Time) bool {
	return published != nil && !published.After(arrived.Add(time.Hour)) && published.Year() > 1990
}
