package exposure

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// BenchmarkFilter is a whole request but for HTTP: 5,000 seen, 5,000 candidates, half
// of them seen.
func BenchmarkFilter(b *testing.B) {
	f := newFixture(b, Config{})
	f.report(Seen, "u", ids(0, 5000)...)
	var cands []string
	for i := range 5000 {
		if uint32(i)*2654435761 < 1<<31 {
			cands = append(cands, fmt.Sprintf("item-%09d", i))
		} else {
			cands = append(cands, fmt.Sprintf("news-%09d", i))
		}
	}
	body, _ := json.Marshal(map[string]any{"user": "u", "items": cands})
	for _, format := range []Format{JSON, Bitmap} {
		b.Run([]string{"json", "bitmap"}[format], func(b *testing.B) {
			var out []byte
			best := time.Hour
			b.ReportAllocs()
			for range b.N {
				start := time.Now()
				var err error
				if out, _, err = f.FilterJSON(context.Background(), out[:0], body, format); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Microseconds()), "best-µs")
		})
	}
}
