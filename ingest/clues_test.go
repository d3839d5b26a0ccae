package ingest

import (
	"testing"

	"jianguo/sketch"
)

// TestCluesHaveWords: what weighs in a verdict can be said.
func TestCluesHaveWords(t *testing.T) {
	for c := range sketch.Clues {
		if clueWords[c] == "" {
			t.Errorf("%v has no words", c)
		}
	}
}
