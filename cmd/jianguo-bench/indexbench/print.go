package indexbench

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Print writes a result for people.
func (r *Result) Print(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if r.NoCatalogue {
		line("%d fingerprints, their postings and snapshot only: no catalogue", r.N)
		line("inserts, resident    %9.0f /s     nothing on disk yet", r.ResidentPerSecond)
	} else {
		line("%d items, %d of them there already", r.N, r.Resumed)
		line("inserts, durable     %9.0f /s     first tenth %.0f, last tenth %.0f, slowest batch %.0f ms; not judged", r.InsertsPerSecond, r.InsertsFirstTenth, r.InsertsLastTenth, r.SlowestBatch)
		line("inserts, judged      %9.0f /s     the last %d items", r.JudgedPerSecond, r.JudgedN)
	}
	line("hamming              %9.1f µs p50 %9.1f p99 %9.1f p99.9", r.HammingP50, r.HammingP99, r.HammingP999)
	line("margin               %9.1f µs p50 %9.1f p99 %9.1f p99.9     at S < %g finds %.1f %% of %d copies, %.1f %% of all a scan finds",
		r.MarginP50, r.MarginP99, r.MarginP999, r.ScanS, 100*r.MarginFound, r.MarginCopies, 100*r.MarginFoundAll)
	if !r.NoCatalogue {
		line("to the verdict       %9.1f µs p50 %9.1f p99 %9.1f p99.9     %.1f proposals judged an item, %d at most", r.VerdictP50, r.VerdictP99, r.VerdictP999, r.Judged, r.JudgedMost)
		line("  after the start    %9.1f µs p50 %9.1f p99     while outlines are read, for %.1f s", r.StartVerdictP50, r.StartVerdictP99, r.OutlinesSeconds)
	}
	if r.RowsN > 0 {
		line("linear scan          %9.1f µs p50", r.ScanP50)
		line("SQLite rows          %9.1f µs p50     %.0f inserts/s, at %d items", r.RowsP50, r.Rows, r.RowsN)
	}
	line("resident             %9.1f bytes an item in the bands, %.1f in all", r.BandsBytes, r.ResidentBytes)
	parts(&b, r.Resident)
	line("disk                 %9.1f bytes an item, kept texts left out", r.DiskBytes)
	parts(&b, r.Disk)
	line("snapshot written in  %9.2f s", r.SnapshotTook)
	line("start to ready       %9.2f s", r.StartSeconds)
	line("\n%12s %12s %12s %12s", "items", "inserts/s", "hamming µs", "margin µs")
	for _, p := range r.Curve {
		line("%12d %12.0f %12.1f %12.1f", p.N, p.Rate, p.HammingP50, p.MarginP50)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// parts lists what makes up a sum, the largest first.
func parts(b *strings.Builder, sizes map[string]float64) {
	names := slices.SortedFunc(maps.Keys(sizes), func(x, y string) int {
		return cmp.Or(cmp.Compare(sizes[y], sizes[x]), cmp.Compare(x, y))
	})
	for _, name := range names {
		fmt.Fprintf(b, "                     %9.1f   %s\n", sizes[name], name)
	}
}
