package data_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"jianguo/data"
	"jianguo/internal/testbed"
)

type sampleItem struct {
	ID          string    `json:"id"`
	Title       string    `json:"title"`
	Body        string    `json:"body"`
	Source      string    `json:"source"`
	URL         string    `json:"url"`
	PublishedAt time.Time `json:"published_at"`
	Revision    int64     `json:"revision"`
}

type sampleRow struct {
	ID      string `json:"id"`
	Family  string `json:"family"`
	Kind    string `json:"kind"`
	Verdict string `json:"verdict"`
	Of      string `json:"of"`
	Why     string `json:"why"`
	Gives   string `json:"gives,omitempty"`
}

// readLines decodes a JSON-lines file of the sample and refuses fields that
// its README does not name.
func readLines[T any](t *testing.T, name string) []T {
	t.Helper()
	raw, err := data.FS.ReadFile(name)
	testbed.OK(t, err)
	var out []T
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		var v T
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		if dec.More() {
			t.Fatalf("%s:%d: more than one value on the line", name, n)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func readSample(t *testing.T) ([]sampleItem, []sampleRow) {
	t.Helper()
	items := readLines[sampleItem](t, "sample/corpus.jsonl")
	rows := readLines[sampleRow](t, "sample/expected.jsonl")
	if len(items) < 240 {
		t.Fatalf("corpus.jsonl holds %d items, want at least 240", len(items))
	}
	if len(items) != len(rows) {
		t.Fatalf("%d items but %d expected rows", len(items), len(rows))
	}
	return items, rows
}

func TestSampleItems(t *testing.T) {
	items, rows := readSample(t)
	seen := map[string]bool{}
	var last time.Time
	for i, it := range items {
		if it.ID == "" || len(it.ID) > 256 || seen[it.ID] {
			t.Errorf("item %d: id %q is empty, too long or used twice", i, it.ID)
		}
		seen[it.ID] = true
		if rows[i].ID != it.ID {
			t.Fatalf("item %d is %q, but its expected row is for %q", i, it.ID, rows[i].ID)
		}
		if it.Title == "" && it.Body == "" {
			t.Errorf("%s: title and body are both empty, which the wire refuses", it.ID)
		}
		if n := len([]rune(it.Body)); n > 4000 {
			t.Errorf("%s: body of %d characters", it.ID, n)
		}
		if it.Source == "" {
			t.Errorf("%s: no source", it.ID)
		}
		if host, ok := strings.CutPrefix(it.URL, "https://"); it.URL != "" {
			host, _, _ = strings.Cut(host, "/")
			if !ok || !strings.HasSuffix("."+host, ".example.cn") && !strings.HasSuffix("."+host, ".example.com") {
				t.Errorf("%s: url %q is not on an example domain", it.ID, it.URL)
			}
		}
		if _, offset := it.PublishedAt.Zone(); offset != 8*60*60 {
			t.Errorf("%s: published_at %v is not in +08:00", it.ID, it.PublishedAt)
		}
		if rows[i].Kind == "late-original" {
			continue
		}
		if it.PublishedAt.Before(last) {
			t.Errorf("%s: published %v, before the item that arrived ahead of it", it.ID, it.PublishedAt)
		}
		last = it.PublishedAt
	}
}

func TestSampleExpected(t *testing.T) {
	items, rows := readSample(t)
	readme, err := data.FS.ReadFile("sample/README.md")
	testbed.OK(t, err)
	earlier := map[string]sampleRow{}
	published := map[string]time.Time{}
	for i, row := range rows {
		if row.Family == "" || row.Kind == "" || row.Why == "" {
			t.Errorf("%s: family, kind or why is missing", row.ID)
		}
		if !strings.Contains(string(readme), "`"+row.Kind+"`") {
			t.Errorf("%s: kind %q is not in the README", row.ID, row.Kind)
		}
		verdicts := []string{row.Verdict}
		if row.Gives != "" {
			verdicts = append(verdicts, row.Gives)
		}
		for _, v := range verdicts {
			if v != "unique" && v != "suspect" && v != "duplicate" {
				t.Errorf("%s: %q is no verdict", row.ID, v)
			}
		}
		if (row.Verdict == "unique") != (row.Of == "") {
			t.Errorf("%s: %s of %q", row.ID, row.Verdict, row.Of)
		}
		if row.Of != "" {
			of, ok := earlier[row.Of]
			switch {
			case !ok:
				t.Errorf("%s: its original %q did not arrive before it", row.ID, row.Of)
			case of.Verdict == "duplicate":
				t.Errorf("%s: its original %q was itself rejected; name the lead", row.ID, row.Of)
			case of.Family != row.Family:
				t.Errorf("%s of family %q goes back to %q of family %q", row.ID, row.Family, of.ID, of.Family)
			}
			if late := items[i].PublishedAt.Before(published[row.Of]); late != (row.Kind == "late-original") {
				t.Errorf("%s: kind %q, but published before %q: %v", row.ID, row.Kind, row.Of, late)
			}
		}
		earlier[row.ID] = row
		published[row.ID] = items[i].PublishedAt
	}
}

// TestSampleSeries holds what makes a series a trap: siblings that an editor
// publishes, and a copy that goes back to the second of them, not the first.
func TestSampleSeries(t *testing.T) {
	_, rows := readSample(t)
	siblings, copies := map[string][]string{}, map[string][]string{}
	for _, row := range rows {
		if !strings.HasPrefix(row.Family, "series-") {
			continue
		}
		switch row.Verdict {
		case "unique":
			siblings[row.Family] = append(siblings[row.Family], row.ID)
		case "duplicate":
			copies[row.Family] = append(copies[row.Family], row.Of)
		default:
			t.Errorf("%s: a %s in a series", row.ID, row.Verdict)
		}
	}
	if len(siblings) < 6 {
		t.Errorf("%d series, want at least 6", len(siblings))
	}
	for family, ids := range siblings {
		if len(ids) < 2 {
			t.Errorf("%s: only %d siblings", family, len(ids))
			continue
		}
		if len(copies[family]) != 1 || copies[family][0] != ids[1] {
			t.Errorf("%s: copies of %v, want one, of the second sibling %s", family, copies[family], ids[1])
		}
	}
}
