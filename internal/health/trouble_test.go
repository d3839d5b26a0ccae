package health

import (
	"io"
	"testing"
)

func TestTrouble(t *testing.T) {
	var held Trouble
	if held.Err() != nil || !held.First(io.EOF) || held.First(io.ErrNoProgress) || held.Err() != io.EOF {
		t.Errorf("the first of two errors counts: %v", held.Err())
	}
	if held.Set(io.ErrNoProgress); held.Err() != io.ErrNoProgress {
		t.Errorf("%v was not replaced", held.Err())
	}
	if held.Set(nil); held.Err() != nil || !held.First(io.EOF) {
		t.Errorf("after none: %v", held.Err())
	}
}
