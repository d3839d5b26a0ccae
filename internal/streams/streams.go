// Package streams creates the JetStream streams of this service and checks that they take
// messages. It never changes a stream of another application.
package streams

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The metadata by which a stream is recognised as one of this service.
const (
	ownerKey = "application"
	owner    = "jianguo"
)

// StoreFailed is JetStream's code for a message that the stream did not take; under discard-new its one ordinary
// cause is a full stream.
const StoreFailed = jetstream.ErrorCode(server.JSStreamStoreFailedF)

func codeOf(err *jetstream.APIError) server.ErrorIdentifier {
	return server.ErrorIdentifier(err.ErrorCode)
}

// Owned returns the stream of that name, nil if there is none, and an error if it has not the mark of ours.
func Owned(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(jetstream.StreamConfig{Name: name}, err)
	}
	have := s.CachedInfo().Config
	if have.Metadata[ownerKey] == owner {
		return s, nil
	}
	return nil, fmt.Errorf("stream %s: the bus has a stream of this name that belongs to another application "+
		"(its subjects: %s): choose other names with --stream-prefix", name, strings.Join(have.Subjects, " "))
}

// Free returns an error if a stream of another name than this one has some of its subjects.
func Free(ctx context.Context, js jetstream.JetStream, name string, subjects []string) error {
	list := js.ListStreams(ctx)
	for info := range list.Info() {
		for _, taken := range info.Config.Subjects {
			if info.Config.Name != name && slices.ContainsFunc(subjects, func(s string) bool {
				return server.SubjectsCollide(s, taken)
			}) {
				return fmt.Errorf("stream %s: the bus has a stream %s for some of its subjects (%s): give the service "+
					"an account of its own", name, info.Config.Name, strings.Join(info.Config.Subjects, " "))
			}
		}
	}
	return list.Err()
}

// Plan is how the streams of a bus are made. The zero value is that of the embedded one.
type Plan struct {
	Prefix   string // of the names; subjects have none
	Replicas int    // servers that hold each message; 0: 1
	Keep     bool   // refuse a stream that exists and would lose messages, with the reasons, instead of changing it
}

// Ensure creates a stream, or updates it if it is Owned. It never takes replicas away.
func (p Plan) Ensure(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.Name, c.Replicas, c.Storage = p.Prefix+c.Name, max(p.Replicas, 1), jetstream.FileStorage
	stream, err := Owned(ctx, js, c.Name)
	if err != nil {
		return nil, err
	}
	c.Metadata = map[string]string{ownerKey: owner}
	if stream != nil {
		have := &stream.CachedInfo().Config
		if reasons := wrong(have, &c); p.Keep && len(reasons) > 0 {
			return nil, fmt.Errorf("stream %s: it %s: change that on the bus, or start once with --create-streams",
				c.Name, strings.Join(reasons, "; it "))
		}
		maps.Copy(c.Metadata, have.Metadata)
		if c.Replicas > 1 && have.PersistMode == jetstream.AsyncPersistMode {
			return nil, fmt.Errorf("stream %s: a bus cannot give replicas to a stream that it writes asynchronously: "+
				"remove the stream there, and all events are published again", c.Name)
		}
		c.Replicas, c.PersistMode = max(c.Replicas, have.Replicas), have.PersistMode
	} else if c.Replicas > 1 {
		c.PersistMode = jetstream.DefaultPersistMode // asynchronous writing is for one replica
	}
	s, err := js.CreateOrUpdateStream(ctx, c)
	if err != nil {
		return nil, explain(c, err)
	}
	return s, nil
}

// wrong lists how a stream would lose what the service relies on.
func wrong(have, want *jetstream.StreamConfig) (reasons []string) {
	check := func(is bool, format string, args ...any) {
		if is {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	check(have.Replicas < want.Replicas, "has %d of %d replicas (num_replicas)", have.Replicas, want.Replicas)
	check(have.Storage != want.Storage, "is not in files (storage)")
	check(have.Retention != want.Retention, "has the retention %v, not %v (retention)", have.Retention, want.Retention)
	check(have.Discard != want.Discard, "has the policy %v when it is full, not %v (discard)",
		have.Discard, want.Discard)
	check(have.MaxAge != 0, "forgets messages after %v (max_age)", have.MaxAge)
	check(have.MaxMsgs > 0, "holds %d messages at most (max_msgs)", have.MaxMsgs)
	check(have.MaxMsgsPerSubject > 0, "holds %d messages of a subject at most (max_msgs_per_subject)",
		have.MaxMsgsPerSubject)
	return reasons
}

// NoRoom reports whether the server has no room.
func NoRoom(err *jetstream.APIError) bool {
	return codeOf(err) == server.JSStorageResourcesExceededErr || codeOf(err) == server.JSInsufficientResourcesErr
}

// explain adds to an error what the operator of the bus can do.
func explain(c jetstream.StreamConfig, err error) error {
	advice := ""
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled),
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		advice = "the bus has no JetStream, or not for this account: enable it there: "
	case !errors.As(err, &api):
	case NoRoom(api) || codeOf(api) == server.JSAccountResourcesExceededErr:
		advice = fmt.Sprintf("the bus has no room for it: it holds up to %d MiB; ITEMS needs --backlog "+
			"(4096 MiB unless set), and VERDICTS, DEAD and EXPOSURES 1024 MiB each: raise "+
			"max_file_store of the server, or the limit of the account: ", c.MaxBytes>>20)
	case codeOf(api) == server.JSClusterNoPeersErrF || codeOf(api) == server.JSStreamReplicasNotSupportedErr:
		advice = fmt.Sprintf("the bus has fewer than %d servers with JetStream that answer: start them, "+
			"or set --replicas: ", c.Replicas)
	}
	return fmt.Errorf("stream %s: %s%w", c.Name, advice, err)
}

// Check returns nil while a stream takes messages that are published on a subject, of up to size bytes, and keeps them
// until the service removes them. It publishes one that the stream refuses, because it says that it is for another
// stream: this goes the way of every message, as far as that refusal.
func Check(ctx context.Context, s jetstream.Stream, js jetstream.JetStream, subject string, size int64) (
	*jetstream.StreamInfo, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return nil, explain(s.CachedInfo().Config, err)
	}
	_, err = js.Publish(ctx, subject, nil, jetstream.WithExpectStream("none"), jetstream.WithRetryAttempts(0))
	if api := new(jetstream.APIError); !errors.As(err, &api) || codeOf(api) != server.JSStreamNotMatchErr {
		return info, fmt.Errorf("stream %s takes no messages: %w", info.Config.Name, err)
	}
	c, held := info.Config, int64(info.State.Bytes)
	kept := c
	kept.MaxMsgs = 0 // a stream that discards new messages loses none by this, and is full below
	if reasons := wrong(&kept, &jetstream.StreamConfig{Discard: jetstream.DiscardNew}); len(reasons) > 0 {
		return info, fmt.Errorf("stream %s: it %s: change that on the bus", c.Name, strings.Join(reasons, "; it "))
	}
	if c.MaxBytes > 0 && held+size > c.MaxBytes {
		return info, fmt.Errorf("stream %s is full: it holds %d of %d MiB", c.Name, held>>20, c.MaxBytes>>20)
	}
	if c.MaxMsgs > 0 && info.State.Msgs >= uint64(c.MaxMsgs) {
		return info, fmt.Errorf("stream %s is full: it holds %d of %d messages: remove max_msgs on the bus", c.Name,
			info.State.Msgs, c.MaxMsgs)
	}
	account, err := js.AccountInfo(ctx)
	if err != nil {
		return info, fmt.Errorf("stream %s: %w", info.Config.Name, err)
	}
	if limit := account.Limits.MaxStore; limit > 0 && int64(account.Store)+size > limit {
		return info, fmt.Errorf("stream %s: the account has stored %d of %d MiB: raise its limit on the bus",
			c.Name, account.Store>>20, limit>>20)
	}
	return info, nil
}
