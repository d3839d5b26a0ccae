package streams

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/must"
)

// Point is a message that was applied. Of the last one a consumer keeps when it was stored: a stream that has lost its
// end, as one that was restored from a backup, gives the sequence again, to a message that is later.
type Point struct {
	Seq    uint64
	Logged int64 // unix nanoseconds; 0: not known
}

func (p Point) String() string { return fmt.Sprint(p.Seq, " ", p.Logged) }

// PointOf is the point of a sequence, whose time is known if String gave that text for it.
func PointOf(seq uint64, text string) (p Point) {
	if n, _ := fmt.Sscan(text, &p.Seq, &p.Logged); n < 2 || p.Seq != seq {
		p = Point{Seq: seq}
	}
	return p
}

// Behind is where to go on after a message: its sequence or, where the stream has lost its end, that of the last
// message up to it that was not stored later. A message that is no longer there counts as unchanged.
func Behind(ctx context.Context, s jetstream.Stream, at Point) (uint64, error) {
	return must.Try(func() uint64 {
		info, err := s.Info(ctx)
		must.Dof(err, "stream %s", s.CachedInfo().Config.Name)
		st := info.State
		last := min(at.Seq, st.LastSeq)
		if at.Logged == 0 || last < max(st.FirstSeq, 1) {
			return last
		}
		m, err := s.GetMsg(ctx, last)
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.Time.UnixNano() <= at.Logged {
			return last
		}
		must.Dof(err, "message %d of stream %s", last, info.Config.Name)
		return must.Get(FirstSince(ctx, s, st.FirstSeq, last, time.Unix(0, at.Logged+1))) - 1
	})
}

// FirstSince is the first sequence of [first, end) that was not stored before a time, or end.
func FirstSince(ctx context.Context, s jetstream.Stream, first, end uint64, before time.Time) (uint64, error) {
	return must.Try(func() uint64 {
		return first + uint64(sort.Search(int(end-first), func(i int) bool {
			// That one, or the next.
			m, err := s.GetMsg(ctx, first+uint64(i), jetstream.WithGetMsgSubject(">"))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return true
			}
			must.Dof(err, "old messages of stream %s", s.CachedInfo().Config.Name)
			return m.Sequence >= end || !m.Time.Before(before)
		}))
	})
}
