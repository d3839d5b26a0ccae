package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/streams"
	"jianguo/internal/wrap"
)

// Headers of a dead letter.
const (
	HeaderReason   = "Jianguo-Reason"   // why, in words
	HeaderField    = "Jianguo-Field"    // the field at fault, if one is
	HeaderSubject  = "Jianguo-Subject"  // the subject it was published on
	HeaderSequence = "Jianguo-Sequence" // its sequence in ITEMS
	HeaderArrived  = "Jianguo-Arrived"  // when ITEMS took it, RFC 3339
	HeaderCut      = "Jianguo-Cut"      // bytes of the original, where it did not fit
)

// deadRoom is the part of a dead letter that is reserved for its headers: a message as large
// as the bus accepts must still fit as a dead letter.
const deadRoom = 8 << 10

// Bury stores a letter in DEAD on a subject, once for each id within two minutes. What does not fit of the payload is
// left out.
func Bury(ctx context.Context, js jetstream.JetStream, subject, id string, l *DeadLetter,
	options ...jetstream.PublishOpt) error {
	msg := nats.NewMsg(subject)
	msg.Data = l.Data
	if room := int(max(js.Conn().MaxPayload()-deadRoom, 0)); len(l.Data) > room {
		msg.Data = l.Data[:room]
		msg.Header.Set(HeaderCut, strconv.Itoa(len(l.Data)))
	}
	msg.Header.Set(HeaderReason, headerValue(l.Reason))
	if l.Field != "" {
		msg.Header.Set(HeaderField, headerValue(l.Field))
	}
	msg.Header.Set(HeaderSubject, l.Subject)
	msg.Header.Set(HeaderSequence, strconv.FormatUint(l.Sequence, 10))
	msg.Header.Set(HeaderArrived, l.Arrived.UTC().Format(time.RFC3339Nano))
	_, err := js.PublishMsg(ctx, msg, append(options, jetstream.WithMsgID(id))...)
	return err
}

// deadSubject is the subject of the letters that concern a user, by which they are removed
// together. Letters of unknown users share one.
func deadSubject(user string) string {
	if user == "" {
		return SubjectDead + ".user.unknown"
	}
	sum := sha256.Sum256([]byte(user))
	return SubjectDead + ".user." + hex.EncodeToString(sum[:16])
}

// BuryForUser stores a dead letter that concerns a user. If the user could not be read, the
// letter expires after keep, because Forget will not find it.
func (d *DeadLetters) BuryForUser(ctx context.Context, user, id string, l *DeadLetter, keep time.Duration) error {
	var options []jetstream.PublishOpt
	if user == "" {
		options = append(options, jetstream.WithMsgTTL(keep))
	}
	err := Bury(ctx, d.js, deadSubject(user), id, l, options...)
	return wrap.Err(err, "dead letter of %s %d", l.Subject, l.Sequence)
}

// Forget removes the letters that concern a user.
func (d *DeadLetters) Forget(ctx context.Context, user string) error {
	return wrap.Err(d.stream.Purge(ctx, jetstream.WithPurgeSubject(deadSubject(user))), "dead letters of a user")
}

// headerValue is a text as one line of bounded length, for a header.
func headerValue(s string) string {
	line := []rune(strings.Map(func(r rune) rune { return max(r, ' ') }, s))
	return string(line[:min(len(line), 500)])
}

// DeadLetter is a message that was refused.
type DeadLetter struct {
	Number   uint64    `json:"number"` // its sequence in DEAD
	Reason   string    `json:"reason"`
	Field    string    `json:"field,omitempty"` // at fault, if one is
	Subject  string    `json:"subject"`         // it was published on
	Sequence uint64    `json:"-"`               // in its stream; Bury writes it
	Arrived  time.Time `json:"arrived_at"`
	Cut      int       `json:"cut,omitempty"` // bytes of the original, of which Data is the beginning; 0: Data is all
	Data     []byte    `json:"-"`
}

// DeadLetters reads the stream DEAD.
type DeadLetters struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

// OpenDead opens the dead letters of a bus, whose streams have a prefix (StreamsConfig). It
// creates no stream: without one, the error wraps jetstream.ErrStreamNotFound.
func OpenDead(ctx context.Context, nc *nats.Conn, prefix string) (*DeadLetters, error) {
	js := JetStream(nc)
	stream, err := streams.Owned(ctx, js, prefix+StreamDead)
	if err == nil && stream == nil {
		err = jetstream.ErrStreamNotFound
	}
	return &DeadLetters{js: js, stream: stream}, wrap.Err(err, "dead letters")
}

func (d *DeadLetters) Len(ctx context.Context) (uint64, error) {
	info, err := d.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("dead letters: %w", err)
	}
	return info.State.Msgs, nil
}

// List returns up to limit letters whose number is above after, in order. Of a letter that cannot be read, it has the
// number.
func (d *DeadLetters) List(ctx context.Context, after uint64, limit int) ([]DeadLetter, error) {
	info, err := d.stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	var letters []DeadLetter
	for n := max(after+1, info.State.FirstSeq); n <= info.State.LastSeq && len(letters) < limit; n++ {
		l, err := d.Get(ctx, n)
		if errors.Is(err, ErrNoLetter) {
			if _, dropped := slices.BinarySearch(info.State.Deleted, n); dropped {
				continue
			}
			l, err = &DeadLetter{Number: n, Reason: "damaged on the disk: it cannot be read"}, nil
		}
		if err != nil {
			return nil, err
		}
		letters = append(letters, *l)
	}
	return letters, nil
}

// ErrNoLetter is the error of a letter that is missing or damaged.
var ErrNoLetter = errors.New("`jianguo dead list` has the numbers")

// Get returns one letter, or an error that wraps ErrNoLetter.
func (d *DeadLetters) Get(ctx context.Context, number uint64) (*DeadLetter, error) {
	m, err := d.stream.GetMsg(ctx, max(number, 1))
	if number == 0 || errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("there is no dead letter %d: %w", number, ErrNoLetter)
	}
	if err != nil {
		return nil, fmt.Errorf("dead letter %d: %w", number, err)
	}
	arrived, err := time.Parse(time.RFC3339Nano, m.Header.Get(HeaderArrived))
	if err != nil {
		arrived = m.Time
	}
	cut, _ := strconv.Atoi(m.Header.Get(HeaderCut)) // 0 where there is none
	return &DeadLetter{Number: number, Cut: cut, Reason: m.Header.Get(HeaderReason), Field: m.Header.Get(HeaderField),
		Subject: m.Header.Get(HeaderSubject), Arrived: arrived.UTC(), Data: m.Data}, nil
}

// Replay publishes a letter again on its subject and removes it once the bus
// has it.
func (d *DeadLetters) Replay(ctx context.Context, number uint64) error {
	l, err := d.Get(ctx, number)
	if err != nil {
		return err
	}
	if l.Cut > 0 {
		return fmt.Errorf("dead letter %d: only the beginning of the %d bytes is kept: publish the original",
			number, l.Cut)
	}
	subject := l.Subject
	if !strings.HasPrefix(subject, SubjectPublish) &&
		subject != SubjectWithdraw && !strings.HasPrefix(subject, "exposures.") {
		return fmt.Errorf("dead letter %d: was published on %q, which is not ours to replay", number, subject)
	}
	if _, err := d.js.Publish(ctx, subject, l.Data); err != nil {
		return fmt.Errorf("dead letter %d: %w", number, err)
	}
	return d.Drop(ctx, number)
}

// Drop removes a letter, or returns an error as Get does.
func (d *DeadLetters) Drop(ctx context.Context, number uint64) error {
	if _, err := d.Get(ctx, number); err != nil {
		return err
	}
	return wrap.Err(d.stream.DeleteMsg(ctx, number), "dead letter %d", number)
}
