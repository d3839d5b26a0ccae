package prepared

import "time"

// BeatEvery is how often a segmenter says that it is there.
const BeatEvery = 500 * time.Millisecond

// Depth is how many items a worker of a segmenter has or waits for.
const Depth = 16

// Beat is what a segmenter says about itself.
type Beat struct {
	ID      string `json:"id"`
	Recipe  string `json:"recipe"`
	Workers int    `json:"workers"`
}
