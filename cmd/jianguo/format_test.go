//go:build !race

package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
)

// TestFormat1 reads a data directory of format 1, as this version wrote it: a later version must read it, too. It has an
// article, its copy, a telling that adds to it, another article that an editor merged into it, and a user who has seen
// the first.
func TestFormat1(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	does(t, "tar", "", "-xzf", "testdata/format-1.tar.gz", "-C", dir)
	data := filepath.Join(dir, "data")
	s := serveReady(t, plainBinary(t), data, "--nats-listen", "127.0.0.1:0")
	read := func(path string, answer any) {
		t.Helper()
		status, body, err := s.get(path)
		if err != nil || status != 200 || json.Unmarshal(body, answer) != nil {
			t.Fatalf("%s: %d %s %v", path, status, body, err)
		}
	}
	var events []struct {
		ID, Verdict, Of string
		Story           uint32
	}
	read("/verdicts", &events)
	var story struct {
		Tellings []struct{ Cluster, Size, Adds int }
	}
	read("/stories/1", &story)
	if len(events) != 5 || events[1].Verdict != "duplicate" || events[2].Verdict != "suspect" || events[2].Story != 1 ||
		events[4].Of != "first" || len(story.Tellings) != 2 || story.Tellings[0].Size != 3 || story.Tellings[1].Adds < 80 {
		t.Errorf("%+v\n%+v", events, story)
	}
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["first"]}`, nil) // what the file says of u has expired
	s.eventually("the user has seen the story", func() bool {
		var answer struct{ Items []string }
		s.ask("/filter", `{"user":"u","items":["first","copy","more","merged","new"],"scope":"story","adds":80}`, &answer)
		return slices.Equal(answer.Items, []string{"more", "new"})
	})
	s.stop()
	does(t, plainBinary(t), "", "verify", "--data", data)
}
