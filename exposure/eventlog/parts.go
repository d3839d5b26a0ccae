package eventlog

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/must"
)

// partSubjects are those of a partition.
func partSubjects(part int) []string {
	subjects := []string{SubjectPrefix + "*." + strconv.Itoa(part)}
	if part == 0 {
		subjects = append(subjects, SubjectPrefix+"*")
	}
	return subjects
}

// ConsumePart is Consume for one partition: the last part of a subject. It begins after a sequence or, if that is
// earlier, with the entries logged since a time. Partition 0 has the entries without a partition as well.
func (l *NATS) ConsumePart(ctx context.Context, part int, after uint64, since time.Time, fn func(Entry) error) error {
	return must.Catch(func() {
		if st := l.info(ctx).State; st.Msgs > 0 && after >= st.FirstSeq {
			after = l.firstSince(ctx, st.FirstSeq, after+1, since) - 1
		}
		l.consume(ctx, after, partSubjects(part), fn)
	})
}

// AppendOnce is Append, unless an event with the same id was appended within the last minutes.
func (l *NATS) AppendOnce(ctx context.Context, id, subject string, data []byte) error {
	_, err := l.publish(ctx, subject, data, jetstream.WithMsgID(id))
	return err
}

// ReleasePart is Release for one partition. The server removes exactly what it is told to.
func (l *NATS) ReleasePart(ctx context.Context, part int, upTo uint64) error {
	return must.Catch(func() {
		st, end := l.info(ctx).State, upTo+1
		if st.Msgs == 0 || upTo < st.FirstSeq {
			return
		}
		if int64(st.Bytes) < l.cfg.MaxBytes/2 {
			end = l.firstSince(ctx, st.FirstSeq, end, l.cfg.Clock().Add(-ErasureDelay))
		}
		for _, subject := range partSubjects(part) {
			if end > st.FirstSeq {
				err := l.stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(end))
				must.Dof(err, "exposure: purge partition %d of %s", part, StreamName)
			}
		}
	})
}
