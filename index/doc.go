// Package index holds the catalogue in SQLite and the banded index in memory,
// and decides the verdict of each article.
//
// # Contract
//
// Add applies mutations (articles and withdrawals) durably and in the given
// order. A batch gives the same verdicts as its mutations one by one. Check
// returns the verdict that an article would get and stores nothing. Readers
// (Item, Events) run concurrently with the writer.
//
// # Terms
//
// ARCHITECTURE.md has the glossary. The id of a cluster never changes and has no
// other meaning. It is the ordinal of the version that founded the cluster. If that
// version already gave its ordinal to another cluster, it is the ordinal of a
// version that founded none.
//
// # Sources
//
// The policy of a source can change the verdict on its texts. A text of a licensed
// source is accepted. A text of a preferred source becomes the lead of its
// cluster. Policies are part of the catalogue. The writer sets them between two
// batches, so the same stream with the same policies at the same positions gives
// the same verdicts.
//
// # Invariants
//
// ARCHITECTURE.md lists them; `jianguo verify` proves them on a data directory. Resident data can
// be derived from the files. A failed batch is rolled back in memory too.
//
// # Memory
//
// Each item has these resident entries: four postings in the bands; one posting for
// each key (at most 12 keys for a short text and 7 for a longer one, with the digest
// of the figures); one id; one hash of the normal form. An entry takes 10 bytes in
// the bands and 8 elsewhere. From a million items on, at most a quarter is unused.
// Each version also has one row of 68 bytes (package resident). 52 of them are its
// outline, which a start reads last. There are 7,168 pages of 64 buckets, each of
// 3 KB at least. A page that is being replaced is held twice. TestMemoryFormula
// proves the bound. docs/OPERATIONS.md lists the memory of the whole service under Sizes.
//
// # Files
//
// index.db is the catalogue, SQLite in WAL mode. schema.sql describes its tables.
// jianguo refuses a file of another format.
//
// snapshot.db holds the resident data. Package buckets describes a page of postings,
// with an example in bytes, and package resident a page of columns. The file is
// written when an eighth of the index has changed, and at an orderly end. Checksums
// detect damage. The file can be removed.
package index
