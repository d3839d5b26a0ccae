// Package ingest takes items from the bus to their verdicts.
//
// A message of the stream ITEMS is decoded, segmented, fingerprinted, sketched
// and judged beforehand by several workers; the index then applies the messages
// in stream order, as many a transaction as are ready; the events go out on the
// stream VERDICTS; and the message is removed later. What cannot be decoded goes to the stream DEAD
// with the reason in its headers.
//
// # Delivery
//
// In: at least once, and in order. The index writes the sequence of the last
// message applied in the transaction that applies it; a service that starts
// goes on behind that sequence, and removes from ITEMS only what lies before
// it. A message delivered again changes nothing. An embedded bus delivers a message
// before it has synced it; the sequence is written after (Bus.Synced), so that a power
// cut never leaves a stream that ends before it. Should one end there all the same, it
// is taken for another stream (index.Attach), and none of its messages is passed over.
//
// Out: the number of an event is its sequence in VERDICTS. The publisher goes
// on from the last sequence that the stream holds and states the sequence it
// expects with every message, so that no event is skipped or doubled, whoever
// crashed when. A VERDICTS stream that is made anew gets all events again.
//
// A publisher that wants the outcome of its own message sets the header
// Jianguo-Reply to a subject it listens on, and gets an Outcome there once the
// message has been applied.
package ingest
