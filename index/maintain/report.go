package maintain

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"jianguo/index"
)

// Change is a verdict that would change.
type Change struct {
	Source string      `json:"source,omitempty"`
	Was    index.Event `json:"was"`
	Now    index.Event `json:"now"`
}

// Shift counts what becomes of the arrivals of a source.
type Shift struct {
	Source  string         `json:"source"`
	Judged  int            `json:"judged"`
	Changed int            `json:"changed"`
	Shifts  map[string]int `json:"shifts,omitempty"` // "duplicate → suspect"
}

// Report says what judging again would change.
type Report struct {
	Policy   string         `json:"policy"` // that in force
	Tried    string         `json:"tried"`
	Since    time.Time      `json:"since"`
	Judged   int            `json:"judged"`
	Unkept   int            `json:"unkept"` // withdrawals, and texts that were not kept
	Changed  int            `json:"changed"`
	Total    map[string]int `json:"total"`
	BySource []*Shift       `json:"by_source"`
	Changes  []Change       `json:"changes"`
}

// Run judges all arrivals of a replay again, and counts what changes. prepare analyses an item; progress is told how
// many are judged.
func (r *Report) Run(ctx context.Context, arrivals *Replay, prepare func(*index.Item) *index.Article,
	progress func(done, total int64)) error {
	sources := map[string]*Shift{}
	r.Total = map[string]int{}
	for all := arrivals.Remaining(); arrivals.Remaining() > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		one, err := arrivals.Next(ctx, prepare)
		if err != nil {
			return err
		}
		r.add(one, sources)
		progress(int64(all-arrivals.Remaining()), int64(all))
	}
	r.BySource = slices.SortedFunc(maps.Values(sources), func(a, b *Shift) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), strings.Compare(a.Source, b.Source))
	})
	return nil
}

// add counts an arrival that was judged again; nil is one without a text.
func (r *Report) add(one *Replayed, sources map[string]*Shift) {
	if one == nil {
		r.Unkept++
		return
	}
	r.Judged++
	s := sources[one.Source]
	if s == nil {
		s = &Shift{Source: one.Source, Shifts: map[string]int{}}
		sources[one.Source] = s
	}
	s.Judged++
	if one.Was.Verdict == one.Now.Verdict {
		return
	}
	kind := one.Was.Verdict.String() + " → " + one.Now.Verdict.String()
	s.Changed, s.Shifts[kind] = s.Changed+1, s.Shifts[kind]+1
	r.Changed, r.Total[kind] = r.Changed+1, r.Total[kind]+1
	r.Changes = append(r.Changes, Change{one.Source, one.Was, one.Now})
}

// Labels are the pairs that change, for `jianguo eval --labels` once an editor has replaced the
// question marks.
func (r *Report) Labels() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "id_a\tid_b\tkind\tadds\tconf\tnote")
	for _, c := range r.Changes {
		earlier := c.Now.Of
		if earlier == "" {
			earlier = c.Was.Of
		}
		if earlier != "" {
			fmt.Fprintf(&b, "%s\t%s\t?\t?\t\t%s → %s\n", earlier, c.Now.ID, c.Was.Verdict, c.Now.Verdict)
		}
	}
	return b.Bytes()
}

// Print prints the changes shown, and a table of the sources.
func (r *Report) Print(out io.Writer, shown []Change) error {
	for _, c := range shown {
		fmt.Fprintf(out, "%s  %s → %s  %s\n  was  %s\n  now  %s\n", c.Now.ID, c.Was.Verdict, c.Now.Verdict, c.Source,
			c.Was.Why, c.Now.Why)
	}
	if n := len(r.Changes) - len(shown); n > 0 {
		fmt.Fprintf(out, "and %d more: --show=-1 prints all\n", n)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nsource\tjudged\tchange\t\n")
	for _, s := range append([]*Shift{{Source: "all", Judged: r.Judged, Changed: r.Changed, Shifts: r.Total}},
		r.BySource...) {
		if s.Changed == 0 && s.Source != "all" {
			continue
		}
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(s.Shifts)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, s.Shifts[kind]))
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", s.Source, s.Judged, s.Changed, strings.Join(kinds, ", "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nsince %s: %d judged, %d without a text to judge; policy %s in force, %s tried\n",
		r.Since.Format(time.RFC3339), r.Judged, r.Unkept, r.Policy, r.Tried)
	return err
}
