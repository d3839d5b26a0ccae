package read

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
	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

// Member is one current member of a cluster.
type Member struct {
	Ordinal     uint32          `json:"-"`
	ID          string          `json:"id"`
	Title       string          `json:"title"`
	Source      string          `json:"source,omitempty"`
	Published   *time.Time      `json:"published_at,omitempty"`
	Arrived     time.Time       `json:"arrived_at"`
	Verdict     verdict.Verdict `json:"verdict"`
	Rule        verdict.Rule    `json:"rule,omitempty"`
	Distance    *int            `json:"distance,omitempty"`
	Resemblance *float32        `json:"resemblance,omitempty"`
	Why         string          `json:"why,omitempty"` // empty if it is related to no other
	Event       uint64          `json:"event"`         // the number of its last event
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
func (x *Reader) Cluster(ctx context.Context, id uint32) (*Cluster, error) {
	c := &Cluster{ID: x.clusters.Resolve(id)}
	var first, last int64
	err := x.db.QueryRowContext(ctx, `SELECT size, first_at, last_at FROM clusters WHERE id = ?`, c.ID).Scan(&c.Size, &first, &last)
	if errors.Is(err, sql.ErrNoRows) {
		c.Size = 1
		err = x.db.QueryRowContext(ctx, `SELECT arrived_at, arrived_at FROM items WHERE ordinal = ? AND cluster = ordinal`, c.ID).Scan(&first, &last)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("index: cluster %d: %w", id, verdict.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("index: cluster %d: %w", id, err)
	}
	c.First, c.Last = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	return c, x.fill(ctx, c)
}

// fill reads the members of a cluster and computes the fields that depend on them.
func (x *Reader) fill(ctx context.Context, c *Cluster) error {
	from, args := x.MembersFrom(c.ID)
	err := sqlite.Each(ctx, x.db, `SELECT i.ordinal, i.id, i.title, s.name, i.published_at, i.arrived_at, coalesce(cur.verdict, i.verdict),
		coalesce(cur.rule, i.rule), i.distance, i.resemblance, i.evidence, coalesce(o.id, '')
		FROM `+from+` JOIN items i ON i.ordinal = m.ordinal LEFT JOIN sources s ON s.number = i.source LEFT JOIN current cur ON cur.ordinal = i.ordinal
		LEFT JOIN items o ON o.ordinal = CASE WHEN cur.ordinal IS NULL THEN i.of ELSE cur.of END
		ORDER BY i.ordinal`, func(r *sql.Rows) error {
		m, err := x.scanMember(r)
		c.Members = append(c.Members, m)
		return err
	}, args...)
	if err != nil {
		return fmt.Errorf("index: members of cluster %d: %w", c.ID, err)
	}
	_, lead := x.clusters.Lead(c.ID)
	c.sum(lead)
	return nil
}

func (x *Reader) scanMember(r *sql.Rows) (m Member, err error) {
	var source sql.NullString
	var published, distance sql.NullInt64
	var resemblance sql.NullFloat64
	var evidence sql.NullString
	var arrived int64
	var of string
	if err := r.Scan(&m.Ordinal, &m.ID, &m.Title, &source, &published, &arrived, &m.Verdict, &m.Rule, &distance, &resemblance, &evidence, &of); err != nil {
		return m, err
	}
	m.Source, m.Arrived = source.String, time.UnixMilli(arrived).UTC()
	m.Published, m.Distance = optionalTime(published), optionalInt(distance)
	if resemblance.Valid {
		v := float32(resemblance.Float64)
		m.Resemblance = &v
	}
	if of != "" || m.Rule == verdict.ByEditor {
		b := Brief{Verdict: m.Verdict, Rule: m.Rule, Distance: m.Distance, Resemblance: m.Resemblance}
		if err := b.evidence(evidence); err != nil {
			return m, fmt.Errorf("ordinal %d: %w", m.Ordinal, err)
		}
		m.Why = b.Why(of, x.language)
	}
	return m, nil
}

// sum computes the fields of a cluster that depend on its members.
func (c *Cluster) sum(lead uint32) {
	if len(c.Members) > 0 {
		// Of all merged clusters together; the row is of one of them.
		c.Size, c.First, c.Last = int64(len(c.Members)), c.Members[0].Arrived, c.Members[0].Arrived
	}
	sources := map[string]bool{}
	for i := range c.Members {
		m := &c.Members[i]
		if m.Source != "" {
			sources[m.Source] = true
		}
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
	c.Sources = len(sources)
	if c.Lead != nil && c.Original != nil && c.Original.ID == c.Lead.ID {
		c.Original = nil
	}
}

// MembersFrom returns the part of a query, with its arguments, that yields the ordinals
// of a cluster's members as m.ordinal.
func (x *Reader) MembersFrom(cluster uint32) (string, []any) {
	_, lead := x.clusters.Lead(cluster)
	ids := x.clusters.Behind(cluster)
	args := make([]any, len(ids), len(ids)+2)
	for i, id := range ids {
		args[i] = id
	}
	return `(SELECT ordinal FROM members WHERE cluster IN (?` + strings.Repeat(`,?`, len(ids)-1) + `) UNION SELECT ? WHERE ? != 0) m`, append(args, lead, lead)
}

// ClusterOf returns the current cluster of a version, 0 for none.
func (x *Reader) ClusterOf(ordinal uint32) uint32 {
	return x.clusters.Resolve(x.tables.Rows.Cluster(ordinal))
}

// VersionClusters returns the current clusters of versions, each once.
func (x *Reader) VersionClusters(ordinals []uint32) []uint32 {
	clusters := make([]uint32, 0, len(ordinals))
	for _, o := range ordinals {
		clusters = append(clusters, x.ClusterOf(o))
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// ClustersOf returns the current cluster of each id. Unknown ids are omitted.
func (x *Reader) ClustersOf(ctx context.Context, ids []string) (map[string]uint32, error) {
	wanted := map[string]bool{}
	versions := []uint32{}
	for _, id := range ids {
		wanted[id] = true
		versions = x.tables.IDs.Get(versions, xxh3.HashString(id))
	}
	list, err := json.Marshal(versions)
	if err != nil {
		return nil, err
	}
	out := map[string]uint32{}
	err = sqlite.Each(ctx, x.db, `SELECT ordinal, id FROM items WHERE ordinal IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var ordinal uint32
		var id string
		err := r.Scan(&ordinal, &id)
		if wanted[id] && x.tables.Rows.Flags(ordinal)&resident.Superseded == 0 {
			out[id] = x.clusters.Resolve(x.tables.Rows.Cluster(ordinal))
		}
		return err
	}, string(list))
	if err != nil {
		return nil, fmt.Errorf("index: clusters of %d ids: %w", len(ids), err)
	}
	return out, nil
}
