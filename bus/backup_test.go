package bus

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/must"
)

// TestCopyDead: each letter is in the copy, also one with the id of another, and is kept no longer there.
func TestCopyDead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := must.Get(Start(Config{Dir: t.TempDir()}))
	defer b.Close()
	nc := must.Get(b.Connect())
	defer nc.Close()
	d := &DeadLetters{js: JetStream(nc)}
	d.stream = must.Get(d.js.CreateStream(ctx, jetstream.StreamConfig{Name: StreamDead, Subjects: deadSubjects, AllowMsgTTL: true, Duplicates: 100 * time.Millisecond}))
	l := DeadLetter{Subject: SubjectPublish, Data: []byte("payload"), Arrived: time.Now(), Reason: "why"}
	for range 2 {
		must.Do(Bury(ctx, d.js, SubjectDead, "id", &l))
		time.Sleep(300 * time.Millisecond)
	}
	must.Do(d.BuryForUser(ctx, "", "another", &l, time.Hour))
	time.Sleep(100 * time.Millisecond)
	dir := t.TempDir()
	must.Do(CopyDead(ctx, nc, "", dir))
	must.Do(Offline(dir, func(js jetstream.JetStream) error {
		s := must.Get(js.Stream(ctx, StreamDead))
		if n := s.CachedInfo().State.Msgs; n != 3 {
			t.Fatalf("%d letters of 3", n)
		}
		m, err := s.GetMsg(ctx, 3)
		ttl, unset := time.ParseDuration(m.Header.Get(jetstream.MsgTTLHeader))
		if ttl > time.Hour-100*time.Millisecond || ttl < time.Hour-time.Minute || m.Header.Get(HeaderReason) != "why" {
			t.Errorf("a letter of a user that is not known is kept for %v: %v", ttl, m.Header)
		}
		return errors.Join(err, unset)
	}))
}
