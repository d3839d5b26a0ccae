package bus

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jianguo/internal/testbed"
)

// TestDamagedLetters: a dead letter that is damaged on the disk is listed; where the server removes
// letters, the log says so.
func TestDamagedLetters(t *testing.T) {
	t.Parallel()
	ctx, dir, log := t.Context(), t.TempDir(), new(bytes.Buffer)
	open := func() (*DeadLetters, func()) {
		b, err := Start(Config{Dir: dir, Gates: GatedStreams(), Logger: slog.New(slog.NewTextHandler(log, nil))})
		testbed.OK(t, err)
		nc, err := b.Connect()
		testbed.OK(t, err)
		if _, err := EnsureStreams(ctx, JetStream(nc), b, StreamsConfig{}); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDead(ctx, nc, "")
		testbed.OK(t, err)
		return d, func() {
			nc.Close()
			b.Close()
		}
	}
	d, end := open()
	for n := range 5 {
		l := DeadLetter{Subject: SubjectPublish, Data: fmt.Append(nil, "payload ", n), Arrived: time.Now(), Reason: "why"}
		testbed.OK(t, Bury(ctx, d.js, SubjectDead, fmt.Sprint(n), &l))
	}
	testbed.OK(t, d.Drop(ctx, 2))
	end()
	blocks := filepath.Join(dir, "jetstream", "$G", "streams", StreamDead, "msgs")
	block, err := os.ReadFile(filepath.Join(blocks, "1.blk"))
	if err == nil {
		err = os.WriteFile(filepath.Join(blocks, "1.blk"), bytes.Replace(block, []byte("payload 3"), []byte("pAyload 3"), 1), 0o600)
	}
	testbed.OK(t, err)
	d, end = open()
	letters, err := d.List(ctx, 0, 9)
	said := ""
	for _, l := range letters {
		said += fmt.Sprint(l.Number, " ", l.Reason, "\n")
	}
	if err != nil || !strings.Contains(said, "4 damaged") || strings.Count(said, "\n") != 4 || strings.Contains(said, "2 ") {
		t.Errorf("%v\n%s", err, said)
	}
	for _, absent := range []uint64{4, 9, 0} { // the first is damaged
		for name, err := range map[string]error{"drop": d.Drop(ctx, absent), "replay": d.Replay(ctx, absent)} {
			if want := fmt.Sprintf("there is no dead letter %d: `jianguo dead list` has the numbers", absent); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
	end()
	block = bytes.Replace(block, []byte("payload 0"), []byte("pAyload 0"), 1)
	if err := errors.Join(os.WriteFile(filepath.Join(blocks, "1.blk"), block, 0o600), os.Remove(filepath.Join(blocks, "index.db"))); err != nil {
		t.Fatal(err)
	}
	_, end = open()
	end()
	if !strings.Contains(log.String(), "damaged messages of a stream are lost") {
		t.Errorf("the log does not say what was lost: %s", log)
	}
}
