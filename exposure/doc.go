// Package exposure remembers what each user has been shown, for tens of millions of
// users, and answers one question about it: which of these items has this user not
// seen yet?
//
// # Contract
//
// No item reported as seen is ever answered while it is within retention, and none
// reported as delivered while it is among the user's last 100 deliveries of the last
// 24 hours. Retention is a Policy: with Rotate the last (Slots-1) × Capacity
// exposures of a user who has been active within TTL; with Calendar the exposures of
// the current month and of Months whole months before it, of each month at least the
// last (Slots-1) × Capacity. The price is that an item never seen may be withheld,
// with a probability of at most Policy.Target (0.1 %) for the user as a whole, all
// shards full. Both promises are over keys: 32-bit hashes of ids under a seed of
// the user. Two ids of one user share a key once in four billion pairs.
//
// When Expose, Unsee or Forget has returned without error, the event is as durable as the
// log (Config.Relaxed), and every Filter that begins later takes it into account, on any
// connection and after a crash.
//
// # State
//
// A user's state is a tail of the newest keys, exact; then shards (Bloom filters over keys), of which a full one is
// never written again. The format of both is in state/codec.go, version 1; a reader
// refuses any other. A head, byte by byte: user "u" of the default history, who saw two items on 20 May 2024
// (day 19863) with keys 0x11223344 and 0x55667788 and nothing else:
//
//	01              format version
//	80 a6 aa b2 06  last: 1716163328 seconds after 1970
//	00 00 00        no shards, no exceptions, no deliveries
//	01              one run in the tail:
//	ae b6 02        day 19863 (zig-zag 39726)
//	02              two keys
//	44 33 22 11     the older
//	88 77 66 55     the newer
//	00 00 00        not imported, no links
//	xx xx xx xx     checksum, over the above and the row's address
//
// A link lets the history of another user count as well, until that has expired and all that its own links lead to: an
// event applied to both states. A filter asks all states that links lead to, each with the keys of its own user.
//
// ARCHITECTURE.md follows a filter request through the packages.
//
// # Writing
//
// What an event does to a state is one pure function, state.Apply; what it means for linked users are events as
// well (event.go). States are in a file (writer.go, flush.go), or in a Redis for several services (owner.go).
//
// The state file is a function of the log: events are applied in order by one owner,
// and each flush writes the users they changed together with the sequence reached, in
// one transaction. A restart continues after that sequence or, in a log that has lost its end, after the last entry
// that was not logged later than it had been. After an error of the disk the store drops what is in memory and tries,
// after one second and then at growing intervals, to resume as a restart would. Until it has, filters are degraded and
// reports fail.
//
// # Limits and compatibility
//
// 20,000 ids a request, 256 bytes an id, 8 MiB a request, 64 shards a user. Past a limit there is an
// error that names the field, never a cut. A changed policy keeps what is stored until it expires. A changed time zone
// applies to later events.
package exposure
