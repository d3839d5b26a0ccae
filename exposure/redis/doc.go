// Package redis keeps users' histories in a Redis, or in a server that speaks its protocol,
// for several services at once. It does not decode them: that is the business of package exposure. It also reads the
// Redis that a platform had before (Old).
//
// # Records
//
// A user in one history is one hash, under the key PREFIX:{USER}:HISTORY, so that all
// of a user lies on one node of a cluster:
//
//	v       version of the record, 32 hexadecimal digits: epoch and sequence
//	h       head; missing where nothing is remembered, as after a forget
//	NUMBER  a shard, by its number in the head
//	aside   what stood under the key before and could not be read, as DUMP gives it
//
// A record expires when its policy has forgotten all of it. One without a head stays for as
// long as the log may hold older events of the user.
//
// # One writer
//
// Users are spread over Partitions by a hash. Each partition of the log has one owner at a time, by a lease in a
// key-value bucket of the bus (Owners). What keeps a former owner from doing harm is Redis itself: progress is
// refused to all epochs but the newest (Acquire, Advance), and a record is written only over the version that the
// writer has read, and over no later one (Put). A version that no owner can have written orders nothing: events are
// applied to what the head holds.
//
// PREFIX:part:NUMBER is a hash that holds the progress of a partition:
//
//	epoch    of its owner
//	base     versions of epochs before it count entries of another log or of its lost end, or lack earlier ones
//	common   sequence up to which those are the same
//	log      identity of the log
//	applied  sequence of the last entry applied
//	logged   that sequence, in decimal, and the unix nanoseconds when the entry was logged; may be missing
//	refused  of recent entries, by sequence: why they were not applied
//
// A Redis that fails over may lose the writes of its last moments. The log still has them: an owner applies the
// last minute of it again when it begins, and begins again when another server has become a master (Masters).
package redis
