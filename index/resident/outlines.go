package resident

import (
	"context"
	"database/sql"
	"time"

	"jianguo/compare"
	"jianguo/internal/clock"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Nine in ten proposals of a large index are unrelated texts whose fingerprints are
// near by chance. Reading their sketches would be most of the cost of judging, so
// the outline of every version stays in memory: it recognises an unrelated text
// exactly as its sketch would. Outlines are not in the snapshot (the rows of the
// catalogue hold them, and they do not compress). A start answers without them,
// with the same verdicts but slower, and reads them in the background, the newest
// first. An outline that was set does not change until the next start.

// outlinesStep is how many rows are read in one query: a long one would keep the
// log of the catalogue from being emptied. outlinesPause is the pause between two
// queries, each of which takes about twice as long.
const (
	outlinesStep  = 1 << 14
	outlinesPause = 10 * time.Millisecond
)

// Outlines reads the outlines of the versions up to Last. Writers may add versions
// meanwhile. progress receives the share that has been read.
func (b *Builder) Outlines(ctx context.Context, progress func(share float64)) error {
	return must.Catch(func() { b.outlines(ctx, progress) })
}

func (b *Builder) outlines(ctx context.Context, progress func(share float64)) {
	last := uint32(b.Last.Ordinal)
	query := `SELECT ordinal, sketch FROM ` + b.Compared + ` WHERE ordinal BETWEEN ? AND ?`
	for to := last; to > 0; to -= min(to, outlinesStep) {
		// The driver checks a context that can end for every row.
		for r := range sqlite.Rows(context.WithoutCancel(ctx), b.DB, query, to-min(to, outlinesStep)+1, to) {
			var ordinal uint32
			var encoded sql.RawBytes
			if must.Do(r.Scan(&ordinal, &encoded)); len(encoded) > 0 { // a blank version is found by no look-up
				sketch, err := compare.DecodeSketch(encoded)
				must.Dof(err, "sketch of ordinal %d", ordinal)
				b.Rows.SetOutline(ordinal, &sketch.Outline)
			}
		}
		progress(1 - float64(to-min(to, outlinesStep))/float64(last))
		must.Do(clock.Sleep(ctx, outlinesPause))
	}
	progress(1)
}
