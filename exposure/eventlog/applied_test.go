package eventlog

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// TestWaitGivesUp: a request that gives up leaves nothing behind, and another one for the same entry still has its outcome.
func TestWaitGivesUp(t *testing.T) {
	var a Applied
	ended, end := context.WithCancel(t.Context())
	end()
	if err := a.Wait(ended, 7, func() error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := a.Wait(t.Context(), 8, func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if len(a.waiting) > 0 {
		t.Errorf("%d sequences are waited for, by nobody", len(a.waiting))
	}
	refused := make(chan error)
	go func() { refused <- a.Wait(t.Context(), 7, func() error { return nil }) }()
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := a.Wait(short, 7, func() error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	a.Advance(7, map[uint64]error{7: io.EOF})
	if err := <-refused; err != io.EOF {
		t.Errorf("the other request for it: %v", err)
	}
}

// TestManyRefused: however many entries are refused that no request waits for, one that looks a moment later finds its own.
func TestManyRefused(t *testing.T) {
	var a Applied
	refused := errors.New("refused")
	for seq := uint64(1); seq <= maxRefused+2; seq++ {
		a.Advance(seq, map[uint64]error{seq: refused})
	}
	if err := a.Wait(t.Context(), maxRefused+1, func() error { return nil }); err != refused {
		t.Errorf("of the last but one: %v", err)
	}
	if len(a.refused) > maxRefused {
		t.Errorf("%d are kept", len(a.refused))
	}
}
