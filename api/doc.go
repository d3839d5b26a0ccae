// Package api serves clients: HTTP with its OpenAPI description, the request-reply
// services on the bus, health, metrics, and the pages for people.
//
// # Contract
//
// Every change of an item goes through the stream ITEMS, a POST /items as much
// as a message on items.publish: the handler publishes, waits for the verdict
// and answers with the outcome. The request's body is checked before it is
// published, so that a caller with a mistake gets an error and the dead letters
// stay empty. A verdict that does not come within Config.Wait is answered with
// 202: the item is stored and will be judged. Publishing the same item again
// is always safe.
//
// Exposures go through their own log in the same way (Config.Exposure). Everything
// else reads the index beside its writer, and changes nothing.
//
// Errors are problem details (RFC 9457, see Problem) with a sentence and, where
// one field is at fault, its name. 400 is a mistake in what was sent, 422 one in
// what it means, 413 a limit of size passed, 429 too many requests or a full stream,
// 503 something below that is not ready, 507 a disk that is nearly full. After 429 and
// 503 try again when Retry-After has passed.
// Every answer has an X-Request-Id, the caller's if it sent one; the log names
// the request by it.
//
// # Addresses
//
// /openapi.yaml describes them all; the tests hold real traffic against it. An
// id in a path is percent-encoded as a whole, but slashes may be left as they
// are: /items/a/b and /items/a%2Fb are the same. Ids that clients rewrite on
// their way (".", "..") can be asked for as /items?id=.
//
// # Limits
//
// A body has 4 MiB at most (512 KiB of text in which every character is
// escaped still fits; exposures 8 MiB), headers 64 KiB, a page of events 1,000,
// a page of clusters 200, a long poll 30 seconds. Config.Concurrency requests
// are worked on at once, as many may wait for events, and as many for a verdict; what
// comes beyond that is refused at once (limiter). Connections are bounded in all and by address;
// bodies by the memory that they hold and by the rate at which they come.
//
// # Permissions
//
// Without tokens everything is open, and CheckListen keeps such a service on
// loopback. With tokens, a request carries one as a bearer token, or as the
// password of HTTP Basic for reading, which is what browsers offer. Each route
// names the roles it is for, and the role operator may do everything; health,
// readiness and the spec are open to all. Requests that change something are
// refused when a browser says that another site makes them, and without tokens
// only localhost and addresses are answered to, no names. On an embedded bus the
// same tokens let clients in, and their roles become permissions on subjects
// (tokens.Set.BusUser); an external bus has permissions of its own.
//
// # Compatibility
//
// Fields and routes are added, not renamed or given another meaning; clients
// ignore fields they do not know. The pages for people are not an interface.
package api
