// Package bus is NATS with JetStream, embedded in this process or external: its
// connections, the streams of items, dead letters, and what a client may do.
//
// # What an acknowledgement promises
//
// On an embedded bus, a message of a stream with a gate (package gate) survives a power
// cut once it is acknowledged. Its consumers may receive it earlier. So a consumer that
// makes durable that it has dealt with a message calls Embedded.Synced first, and removes
// messages only up to Embedded.Purgeable. Streams without a gate, and all streams of a
// relaxed bus, are synced by the operating system when it chooses. VERDICTS has no gate:
// its events are durable in the catalogue, which publishes again what a power cut took.
// On an external bus an acknowledgement promises what its operator has configured
// (sync_interval).
//
// # Failures
//
// A stream whose write has failed is reopened, after a full disk once there is room. After
// a failed sync nothing is acknowledged until the bus is started again (ErrBroken), because
// the system may have dropped what it could not write; the next start rewrites the files.
//
// # Clients
//
// A client of an embedded bus gives a secret. Its role says which subjects it may use
// (UserOf); the process itself may use all. Each client has an inbox that no other client
// may read, and no client can make the service publish items or events by naming such a
// subject for a reply (MayAnswer). An external bus has permissions of its own, and streams of
// other applications, which this package never changes (package streams).
//
// # Limits
//
// A message has at most MaxPayload bytes; an external bus must accept MinPayload. ITEMS
// refuses messages when it is full (4 GiB by default); VERDICTS and DEAD hold 1 GiB each
// and drop the oldest. Gates refuse messages while less than Config.Reserve is free on
// the disk.
//
// The gate reads files of nats-server, and tests hold it to the version in go.mod.
package bus
