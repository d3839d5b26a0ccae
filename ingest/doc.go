// Package ingest takes items from the bus to their verdicts.
//
// A message of the stream ITEMS is decoded, segmented, fingerprinted, sketched and judged
// ahead of time by several workers. The index then applies the messages in stream order;
// one transaction covers all that are ready. The outbox publishes the events on the stream
// VERDICTS, and applied messages are removed later. A message that cannot be decoded goes
// to the stream DEAD with the reason in its headers.
//
// # Delivery
//
// In: at least once, and in order. The index writes the sequence of the last message
// applied in the transaction that applies it. A service starts behind that sequence, and
// removes only messages before it from ITEMS. A message that is delivered again changes
// nothing. An embedded bus delivers a message before it has synced it, so the sequence is
// written after Embedded.Synced: a power cut never leaves a stream that ends before it.
// Should a stream end there all the same, it counts as another stream (index.Attach), and
// none of its messages is skipped.
//
// Out: the outbox continues after the last event that VERDICTS holds and states the expected
// sequence with every message, so a crash of either side skips and doubles no event. The
// number of an event is its sequence, until a client of an external bus has published on its
// subjects. A VERDICTS stream that was created again receives all events again.
//
// Streams that are deleted while the service runs are created again. For ITEMS that is a new
// epoch, as at a start.
//
// A publisher that wants the outcome of its message sets the header Jianguo-Reply
// (bus.HeaderReply) to a subject that it listens on, and receives an Outcome there once
// the message has been applied.
//
// # Limits
//
// An id has 1 to 256 bytes, title and body together 512 KiB, source, url and reason 4 KiB
// each. Errors of decoding are *FieldError. At most 32 MiB of payloads are between intake
// and commit.
package ingest
