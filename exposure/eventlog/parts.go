package eventlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// partSubjects are those of a partition.
func partSubjects(part int) []string {
	subjects := []string{SubjectPrefix + "*." + strconv.Itoa(part)}
	if part == 0 {
		subjects = append(subjects, SubjectPrefix+"*")
	}
	return subjects
}

// ConsumePart is Consume for one partition: the last part of a subject. It begins after a sequence or, if that is earlier,
// with the entries logged since a time. Partition 0 has the entries without a partition as well.
func (l *NATS) ConsumePart(ctx context.Context, part int, after uint64, since time.Time, fn func(Entry) error) error {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("exposure: stream %s: %w", StreamName, err)
	}
	if first := info.State.FirstSeq; info.State.Msgs > 0 && after >= first {
		recent, err := l.firstSince(ctx, first, after+1, since)
		if err != nil {
			return fmt.Errorf("exposure: recent entries of %s: %w", StreamName, err)
		}
		after = recent - 1
	}
	return l.consume(ctx, after, partSubjects(part), fn)
}

// AppendOnce is Append, unless an event with the same id was appended within the last minutes.
func (l *NATS) AppendOnce(ctx context.Context, id, subject string, data []byte) error {
	_, err := l.append(ctx, subject, data, jetstream.WithMsgID(id))
	return err
}

// ReleasePart is Release for one partition. The server removes exactly what it is told to.
func (l *NATS) ReleasePart(ctx context.Context, part int, upTo uint64) error {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("exposure: stream %s: %w", StreamName, err)
	}
	st, end := info.State, upTo+1
	if st.Msgs == 0 || upTo < st.FirstSeq {
		return nil
	}
	if int64(st.Bytes) < l.cfg.MaxBytes/2 {
		if end, err = l.firstSince(ctx, st.FirstSeq, end, l.cfg.Clock().Add(-ErasureDelay)); err != nil {
			return fmt.Errorf("exposure: erase old entries of %s: %w", StreamName, err)
		}
	}
	if end <= st.FirstSeq {
		return nil
	}
	for _, subject := range partSubjects(part) {
		if err := l.stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(end)); err != nil {
			return fmt.Errorf("exposure: purge partition %d of %s: %w", part, StreamName, err)
		}
	}
	return nil
}
