package reindex

import (
	"fmt"
	"io"
	"time"
)

// MiB is a number of bytes in words.
func MiB(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20) }

// Print prints how much a reindex has to do.
func (e *Estimate) Print(w io.Writer) {
	about := "about "
	if int64(e.Sampled) == e.Left {
		about = ""
	}
	if e.Other == 0 && about == "" && (e.Force == "" || e.Force == e.Recipe) {
		fmt.Fprintf(w, "nothing to do: all %d items are compared by recipe %s\n", e.Items, e.Recipe)
		return
	}
	if e.Resumed > 0 {
		fmt.Fprintf(w, "continues after item %d\n", e.Resumed)
	}
	fmt.Fprintf(w, "recipe %s: %d of %d items to be looked at, %s%d of them of another recipe\n",
		e.Recipe, e.Left, e.Items, about, e.Other)
	fmt.Fprintf(w, "  %s%d get another fingerprint or sketch\n", about, e.Changed)
	fmt.Fprintf(w, "  %s%d have no kept text, and keep their fingerprint\n", about, e.WithoutText)
	fmt.Fprintf(w, "  about %s on this machine, %s on the disk at most, %s of memory while it lasts\n",
		time.Duration(max(e.Seconds, 1)*float64(time.Second)).Round(time.Second), MiB(e.Bytes), MiB(e.Memory))
}
