package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"jianguo/index"
	"jianguo/index/bands"
	"jianguo/index/resident"
	"jianguo/internal/must"
	"jianguo/simhash"
)

// copyS is the S below which copies are counted: more than 95 % of real ones are below it.
const copyS = 5

// query is a query over the first n items, with the fingerprint and the number of the item that it is a copy of. Of
// three queries two are copies of known items and one is unrelated.
func (b *indexBench) query(k int, n uint64) (q simhash.Print, original simhash.Fingerprint, item uint64) {
	if k%3 == 2 {
		return b.items.print(b.N + uint64(k)), 0, b.N
	}
	i := b.r.Uint64N(n)
	return b.items.copy(i, uint64(k), []float64{0.03, 0.1, 0.2}[k/3%3]), b.items.print(i).Fingerprint, i
}

// timeLookups times both look-ups of judging, in microseconds.
func (b *indexBench) timeLookups(q *simhash.Print) (hamming, margin float64) {
	var buf [64]bands.Hit
	postings, policy := b.x.Probe().Bands, b.x.Policy()
	start := time.Now()
	postings.Hamming(buf[:0], q.Fingerprint, 3, math.MaxInt)
	middle := time.Now()
	postings.Margin(buf[:0], q, policy.MaxS, policy.Judged)
	return micros(middle.Sub(start)), micros(time.Since(middle))
}

func (b *indexBench) lookups(context.Context) {
	var hamming, margin samples
	copies, found := 0, 0
	for k := range b.Queries {
		q, original, i := b.query(k, b.N)
		h, m := b.timeLookups(&q)
		hamming, margin = append(hamming, h), append(margin, m)
		if b.indexed(i) && q.S(original) < copyS {
			copies++
			all := b.x.Probe().Bands.Margin(nil, &q, b.x.Policy().MaxS, math.MaxInt)
			if slices.ContainsFunc(all, func(h bands.Hit) bool { return h.Fingerprint == original }) {
				found++
			}
		}
	}
	// The share of the copies asked for that are found; an empty measurement is no success.
	b.res["margin_found"], b.res["margin_copies"] = float64(found)/float64(max(copies, 1)), copies
	b.res.latency("hamming", "us", hamming)
	b.res.latency("margin", "us", margin)
}

// indexed reports whether an item is an exemplar; the number of an unrelated query is beyond those of all items.
func (b *indexBench) indexed(i uint64) bool {
	return i < b.N && b.x.Probe().Rows.Flags(uint32(i+1))&resident.Exemplar != 0
}

// verdicts times whole dry runs of copies of any items. Members of families are copied in their share.
func (b *indexBench) verdicts(ctx context.Context) {
	var took samples
	at := uint32(b.began.Add(time.Duration(b.N) * time.Millisecond).Unix())
	for k := range uint64(b.Queries) {
		i := b.r.Uint64N(b.N)
		a := b.article(i, b.items.copy(i, k, 0.1))
		a.ID, a.Exact[7] = fmt.Sprint("query-", k), a.Exact[7]^1 // another normal form: another key
		start := time.Now()
		must.Get(b.x.Check(ctx, a, at))
		took = append(took, micros(time.Since(start)))
	}
	b.res.latency("verdict", "us", took)
}

func (b *indexBench) sizes(context.Context) {
	n, t := float64(b.N), b.x.Probe().Tables
	resident := t.Bands.Bytes() + t.IDs.Bytes() + t.Exacts.Bytes() + t.Rows.Bytes()
	b.res["resident_bytes_per_item"] = float64(resident) / n // everything of ours
	disk := 0.0                                              // without kept texts
	for _, name := range []string{index.FileName, index.SnapshotFileName} {
		disk += float64(must.Get(os.Stat(filepath.Join(b.Dir, name))).Size())
	}
	b.res["disk_bytes_per_item"] = disk / n
}
