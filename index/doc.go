// Package index is the catalogue in SQLite, the banded index in memory, and
// the verdicts that come of both.
//
// # Contract
//
// Add applies mutations (articles and withdrawals) strictly in the order given
// and durably; their verdicts are those of applying them one by one. Check
// answers what an article would get, without storing anything. Readers
// (Item, Events, Clusters, Cluster) run beside the writer.
//
// # Words
//
// A version is one text under an id; it has an ordinal, dense from 1. An
// exemplar is a version that new items are compared with: leads, blocked
// texts, and old leads of living clusters. A cluster is a lead and its rejected
// copies; its id never changes. It is the ordinal of the version that founded
// it, or, where that one's cluster is led by another, of a version that founded
// none: an id says no more than which cluster it is. A suspect is accepted, and
// leads a cluster of its own.
//
// # Sources
//
// What the judge makes of a text can be changed by the policy of its source:
// licensed ones are accepted, preferred ones take the lead over (sources.go).
// A policy is part of the catalogue, set by the same writer between two
// batches, so that the same stream and the same policies at the same places of
// it give the same verdicts. SourcesFileName is a copy of it for people.
//
// # Invariants
//
//  1. Ordinals and event numbers are gapless from 1.
//  2. The last event of a version is its state.
//  3. A current version is accepted if and only if it leads its cluster.
//  4. The lead of a cluster is accepted, or blocked, or there is none; a cluster
//     without a lead matches nothing.
//  5. A duplicate was judged against what then was accepted or blocked, never
//     against something that was itself rejected.
//  6. Every exemplar is in every band, and nothing else is.
//  7. Facts (tables items, texts, events, decisions) are only appended to;
//     projections (current, clusters, members) can be derived from them.
//  8. What is resident follows from the files: after a failed batch it is taken
//     back, after a restart it is built anew.
//
// Verify proves 1 to 4, 6 and 8 on a data directory.
//
// # Judging
//
// Preview judges an article beforehand, beside the writer; Add brings that up to
// date. Verdicts are those of judging in turn (preview.go says why). An article
// that was not previewed is judged in turn.
//
// # Memory
//
// Resident of an item: four postings in the bands, one under each key (up to 12 of
// a short text, up to 7 of another, figures' digest included), one id and one hash
// of the normal form, 10 bytes each in the bands and 8 elsewhere, with at most
// a quarter of slack from a million items on; one row of 68 bytes (package resident),
// 52 of which are an outline (outlines.go), which a start reads last.
// MemoryBytes is the formula. A page of 64 buckets takes 3 KB at least, and there
// are 7,168; one that is being replaced is held twice.
// What is bounded besides stands in ARCHITECTURE.md under Memory.
//
// # Recipes
//
// A version is compared by its form: what it was judged by, or what Reindex has
// made of its kept text since (overlay.go). Facts stay as they were.
//
// # Retention
//
// See sweep.go: memory follows the exemplars of the window, but for rows and
// look-ups, which ids never leave.
//
// # Files
//
// index.db is the catalogue, SQLite in WAL mode; its tables are described in
// migrations/. A version of jianguo that finds a newer format refuses it.
//
// snapshot.db holds what is resident (snapshot.go: the file and its versions;
// package buckets: a page of postings with an example in bytes; package resident:
// a page of columns). It is written whenever an eighth of the index has changed and
// at an orderly end, is told damaged by its checksums, and can be removed.
package index

import "jianguo/index/resident"

// MemoryBytes bounds what is resident of so many items, at so many keys an
// item, in bytes: the formula of the package comment.
func MemoryBytes(items int64, keysAnItem int) int64 {
	const pages = 7 * 1024
	narrow := int64(keysAnItem) + 2
	return items*(4*10+narrow*8)*5/4 + items*resident.RowBytes + pages*3<<10 + 5<<20
}
