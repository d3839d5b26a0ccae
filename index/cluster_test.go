package index

import (
	"context"
	"fmt"

	"jianguo/internal/sqlite"
)

// Cluster reads the cluster that an id resolves to, with its members by arrival.
func (x *Index) Cluster(ctx context.Context, id uint32) (*Cluster, error) {
	c := new(Cluster)
	var lead uint32
	c.ID, lead = x.clusters.Lead(id)
	from, args := x.MembersFrom(c.ID)
	query := `SELECT m.ordinal FROM ` + from + ` JOIN items USING (ordinal) ORDER BY 1`
	ordinals, err := sqlite.Column[uint32](ctx, x.reader, query, args...)
	if err != nil {
		return nil, err
	}
	briefs, err := x.Briefs(ctx, ordinals)
	if err != nil {
		return nil, err
	}
	for _, o := range ordinals {
		m := briefs[o]
		if o == lead {
			c.Lead = m
		}
		if c.Size == 0 || m.Arrived.Before(c.First) {
			c.First = m.Arrived
		}
		c.Size++
		c.Members = append(c.Members, *m)
	}
	if c.Size == 0 && x.tables.Rows.Cluster(id) == 0 {
		return nil, fmt.Errorf("cluster %d: %w", id, ErrNotFound)
	}
	return c, nil
}
