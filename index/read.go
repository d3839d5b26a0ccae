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

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
	"jianguo/index/verdict"
)

// Item is the current version of an item, in the form that the API returns.
type Item struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Source    string     `json:"source,omitempty"`
	URL       string     `json:"url,omitempty"`
	Published *time.Time `json:"published_at,omitempty"`
	Arrived   time.Time  `json:"arrived_at"`
	// Event is the last change of its state. History has all changes of all
	// versions, the newest first.
	Event   Event   `json:"event"`
	History []Event `json:"history"`
	// Body is the kept text; nil if it was not kept.
	Body *string `json:"body,omitempty"`
}

// Before reports whether the item arrived before another one. It compares the numbers
// of their first events, since many items arrive in one millisecond.
func (it *Item) Before(other *Item) bool {
	first := func(i *Item) uint64 { return i.History[len(i.History)-1].Number }
	return first(it) < first(other)
}

// Item looks up the current version of an id.
func (x *Index) Item(ctx context.Context, id string) (*Item, error) {
	var buf [8]uint32
	var it *Item
	for _, ordinal := range x.ids.Get(buf[:0], xxh3.HashString(id)) {
		var r itemRow
		var source sql.NullString
		err := x.reader.QueryRowContext(ctx, `SELECT id, title, url, published_at, arrived_at,
			(SELECT name FROM sources WHERE number = source) FROM items WHERE ordinal = ?`, ordinal).
			Scan(&r.id, &r.title, &r.url, &r.publishedAt, &r.arrivedAt, &source)
		if errors.Is(err, sql.ErrNoRows) || err == nil && r.id != id {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("index: item %q: %w", id, err)
		}
		if it == nil {
			it = &Item{ID: id, Title: r.title, Source: source.String, URL: r.url.String, Arrived: time.UnixMilli(r.arrivedAt).UTC()}
			it.Published = optionalTime(r.publishedAt)
			if it.Body, err = x.body(ctx, ordinal); err != nil {
				return nil, fmt.Errorf("index: item %q: %w", id, err)
			}
		}
		events, err := x.queryEvents(ctx, `e.number IN (`+eventsOf+`) ORDER BY e.number DESC`, ordinal)
		if err != nil {
			return nil, fmt.Errorf("index: item %q: %w", id, err)
		}
		it.History = append(it.History, events...)
	}
	if it == nil || len(it.History) == 0 {
		return nil, fmt.Errorf("index: item %q: %w", id, ErrNotFound)
	}
	it.Event = it.History[0]
	return it, nil
}

// Events returns up to limit events after a number, in order.
func (x *Index) Events(ctx context.Context, after uint64, limit int) ([]Event, error) {
	if events, ok := x.recent.after(after, limit); ok {
		return events, nil
	}
	events, err := x.queryEvents(ctx, `e.number > ? ORDER BY e.number LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("index: events after %d: %w", after, err)
	}
	return events, nil
}

// Member is one current member of a cluster.
type Member struct {
	Ordinal     uint32     `json:"-"`
	ID          string     `json:"id"`
	Title       string     `json:"title"`
	Source      string     `json:"source,omitempty"`
	Published   *time.Time `json:"published_at,omitempty"`
	Arrived     time.Time  `json:"arrived_at"`
	Verdict     Verdict    `json:"verdict"`
	Rule        Rule       `json:"rule,omitempty"`
	Distance    *int       `json:"distance,omitempty"`
	Resemblance *float32   `json:"resemblance,omitempty"`
	Why         string     `json:"why,omitempty"` // empty if it is related to no other
	Event       uint64     `json:"event"`         // the number of its last event
}

// Cluster is a lead and its rejected copies.
type Cluster struct {
	ID uint32 `json:"cluster"`
	// Lead is nil if the cluster has none any more. Original is the presumed
	// original: the member with the earliest credible time of publication.
	Lead     *Member   `json:"lead"`
	Original *Member   `json:"original,omitempty"`
	Size     int64     `json:"size"`
	Sources  int       `json:"sources"`
	First    time.Time `json:"first_at"`
	Last     time.Time `json:"last_at"`
	Members  []Member  `json:"members,omitempty"`
}

// Cluster returns a cluster and its members, the lead first, then by arrival. For the
// id of a merged cluster it returns the cluster that this one was merged into. For
// the id of an item without copies it returns a cluster of one.
func (x *Index) Cluster(ctx context.Context, id uint32) (*Cluster, error) {
	c := &Cluster{ID: x.clusters.Resolve(id)}
	var first, last int64
	err := x.reader.QueryRowContext(ctx, `SELECT size, first_at, last_at FROM clusters WHERE id = ?`, c.ID).Scan(&c.Size, &first, &last)
	if errors.Is(err, sql.ErrNoRows) {
		c.Size = 1
		err = x.reader.QueryRowContext(ctx, `SELECT arrived_at, arrived_at FROM items WHERE ordinal = ? AND cluster = ordinal`, c.ID).Scan(&first, &last)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("index: cluster %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("index: cluster %d: %w", id, err)
	}
	c.First, c.Last = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	return c, x.fill(ctx, c)
}

// fill reads the members of a cluster and computes the fields that depend on them.
func (x *catalogue) fill(ctx context.Context, c *Cluster) error {
	_, lead := x.clusters.Lead(c.ID)
	from, args := x.membersFrom(c.ID)
	seen := map[string]bool{}
	err := each(ctx, x.reader, `SELECT i.ordinal, i.id, i.title, s.name, i.published_at, i.arrived_at, coalesce(cur.verdict, i.verdict),
		coalesce(cur.rule, i.rule), i.distance, i.resemblance, i.evidence, coalesce(o.id, '')
		FROM `+from+` JOIN items i ON i.ordinal = m.ordinal LEFT JOIN sources s ON s.number = i.source LEFT JOIN current cur ON cur.ordinal = i.ordinal
		LEFT JOIN items o ON o.ordinal = CASE WHEN cur.ordinal IS NULL THEN i.of ELSE cur.of END
		ORDER BY i.ordinal`, func(r *sql.Rows) error {
		var m Member
		var source sql.NullString
		var published, distance sql.NullInt64
		var resemblance sql.NullFloat64
		var evidence sql.NullString
		var arrived int64
		var of string
		if err := r.Scan(&m.Ordinal, &m.ID, &m.Title, &source, &published, &arrived, &m.Verdict, &m.Rule, &distance, &resemblance, &evidence, &of); err != nil {
			return err
		}
		m.Source, m.Arrived = source.String, time.UnixMilli(arrived).UTC()
		m.Published, m.Distance = optionalTime(published), optionalInt(distance)
		if resemblance.Valid {
			v := float32(resemblance.Float64)
			m.Resemblance = &v
		}
		if m.Source != "" {
			seen[m.Source] = true
		}
		if of != "" || m.Rule == ByEditor {
			b := Brief{Verdict: m.Verdict, Rule: m.Rule, Distance: m.Distance, Resemblance: m.Resemblance}
			if err := b.evidence(evidence); err != nil {
				return fmt.Errorf("ordinal %d: %w", m.Ordinal, err)
			}
			m.Why = b.Why(of, x.cfg.Language)
		}
		c.Members = append(c.Members, m)
		return nil
	}, args...)
	if err != nil {
		return fmt.Errorf("index: members of cluster %d: %w", c.ID, err)
	}
	c.Sources = len(seen)
	if len(c.Members) > 0 {
		// Of all merged clusters together; the row is of one of them.
		c.Size, c.First, c.Last = int64(len(c.Members)), c.Members[0].Arrived, c.Members[0].Arrived
	}
	for i := range c.Members {
		m := &c.Members[i]
		if m.Arrived.Before(c.First) {
			c.First = m.Arrived
		}
		if m.Arrived.After(c.Last) {
			c.Last = m.Arrived
		}
		if m.Ordinal == lead {
			copied := *m
			c.Lead = &copied
		}
		if Credible(m.Published, m.Arrived) && (c.Original == nil || m.Published.Before(*c.Original.Published)) {
			copied := *m
			c.Original = &copied
		}
	}
	if c.Lead != nil && c.Original != nil && c.Original.ID == c.Lead.ID {
		c.Original = nil
	}
	return nil
}

// membersFrom returns the part of a query that yields the members of a cluster as m.
func (x *catalogue) membersFrom(cluster uint32) (string, []any) {
	_, lead := x.clusters.Lead(cluster)
	ids := x.clusters.Behind(cluster)
	args := make([]any, len(ids), len(ids)+2)
	for i, id := range ids {
		args[i] = id
	}
	return `(SELECT ordinal FROM members WHERE cluster IN (?` + strings.Repeat(`,?`, len(ids)-1) + `) UNION SELECT ? WHERE ? != 0) m`, append(args, lead, lead)
}

// ClusterOf returns the current cluster of a version, 0 for none.
func (x *Index) ClusterOf(ordinal uint32) uint32 {
	return x.clusters.Resolve(x.rows.Cluster(ordinal))
}

// VersionClusters returns the current clusters of versions, each once.
func (x *Index) VersionClusters(ordinals []uint32) []uint32 {
	clusters := make([]uint32, 0, len(ordinals))
	for _, o := range ordinals {
		clusters = append(clusters, x.ClusterOf(o))
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// ClustersOf returns the current cluster of each id. Unknown ids are omitted.
func (x *Index) ClustersOf(ctx context.Context, ids []string) (map[string]uint32, error) {
	wanted := map[string]bool{}
	versions := []uint32{}
	for _, id := range ids {
		wanted[id] = true
		versions = x.ids.Get(versions, xxh3.HashString(id))
	}
	list, err := json.Marshal(versions)
	if err != nil {
		return nil, err
	}
	out := map[string]uint32{}
	err = each(ctx, x.reader, `SELECT ordinal, id FROM items WHERE ordinal IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var ordinal uint32
		var id string
		err := r.Scan(&ordinal, &id)
		if wanted[id] && x.rows.Flags(ordinal)&resident.Superseded == 0 {
			out[id] = x.clusters.Resolve(x.rows.Cluster(ordinal))
		}
		return err
	}, string(list))
	if err != nil {
		return nil, fmt.Errorf("index: clusters of %d ids: %w", len(ids), err)
	}
	return out, nil
}

// Note returns the end of an event's sentence: the name and reason of the editor, or
// the reason of the source's policy. Most events have none.
func (x *Index) Note(e *Event) string {
	rest, ok := strings.CutPrefix(e.Why, Why(e, x.cfg.Language))
	if !ok {
		return ""
	}
	return strings.TrimPrefix(rest, verdict.NoteSeparator(x.cfg.Language))
}
