// Package eval is the instrument that measures detection quality, on any
// corpus and any labels.
//
// A Bench feeds documents through a real index, in order of arrival, into a
// catalogue that is thrown away. From it come
//
//   - Pairs: what happens to the later article of each labelled pair against
//     the earlier one, as if no other copy had been there. The earlier one has
//     to be found among the whole corpus, by the search the service uses; one
//     that was itself rejected in the feed is posted for the purpose.
//   - Edits: the same for articles and edited versions of them, by kind of
//     edit, strength and length.
//   - Feed's own verdicts: what was rejected or queued for people, held
//     against resemblance computed by brute force on the texts.
//   - Sweep: what moving each threshold would cost.
//
// The textbook rule (Hamming distance, also beyond what the index searches) and
// a MinHash LSH (Broder 1997; Indyk & Motwani 1998) are measured beside ours in
// the same run, on the same normal form.
//
// Everything random follows from a seed; the same corpus, policy and seed give
// the same numbers. The whole corpus is held in memory: about 3 kB an item.
package eval
