package maintain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"jianguo/index"
)

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

// Report says what judging again by another policy would change. It leaves out what the policy in force would change as
// well, because of later decisions or the present policies of sources.
type Report struct {
	Policy   string         `json:"policy"` // that in force
	Tried    string         `json:"tried"`
	Since    time.Time      `json:"since"`
	Judged   int            `json:"judged"`
	Unkept   int            `json:"unkept"` // withdrawals, and texts that were not kept
	Changed  int            `json:"changed"`
	Before   map[string]int `json:"before"` // how many of what was judged are unique, suspect, duplicate
	After    map[string]int `json:"after"`
	Total    map[string]int `json:"total"`
	BySource []*Shift       `json:"by_source"`
	Changes  []Change       `json:"changes"`

	inForce map[uint64]index.Event // by the number of what was said: what is said now, where it is another verdict
	sources map[string]*Shift
}

// InForce notes an arrival that was judged again by the policy in force; nil is one without a text.
func (r *Report) InForce(one *Replayed) {
	if one != nil && one.Was.Verdict != one.Now.Verdict {
		r.inForce[one.Was.Number] = one.Now
	}
}

func NewReport(policy, tried string, since time.Time) *Report {
	none := map[string]int{"unique": 0, "suspect": 0, "duplicate": 0}
	return &Report{Policy: policy, Tried: tried, Since: since, Before: none, After: maps.Clone(none),
		Total: map[string]int{}, inForce: map[uint64]index.Event{}, sources: map[string]*Shift{}}
}

// Tries counts an arrival that was judged again by the policy that is tried; nil is one without a text.
func (r *Report) Tries(one *Replayed) {
	if one == nil {
		r.Unkept++
		return
	}
	r.Judged++
	s := r.sources[one.Source]
	if s == nil {
		s = &Shift{Source: one.Source, Shifts: map[string]int{}}
		r.sources[one.Source] = s
	}
	s.Judged++
	was := one.Was
	if now, ok := r.inForce[was.Number]; ok {
		was = now
	}
	r.Before[was.Verdict.String()]++
	r.After[one.Now.Verdict.String()]++
	if was.Verdict == one.Now.Verdict {
		return
	}
	kind := was.Verdict.String() + " → " + one.Now.Verdict.String()
	s.Changed, s.Shifts[kind] = s.Changed+1, s.Shifts[kind]+1
	r.Changed, r.Total[kind] = r.Changed+1, r.Total[kind]+1
	r.Changes = append(r.Changes, Change{one.Source, was, one.Now})
}

// Sort lists the sources, those of which most changes first.
func (r *Report) Sort() {
	r.BySource = slices.SortedFunc(maps.Values(r.sources), func(a, b *Shift) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), strings.Compare(a.Source, b.Source))
	})
}

// Labels are the pairs that change, for `jianguo eval --labels` once an editor has replaced the
// question marks.
func (r *Report) Labels() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "id_a\tid_b\tkind\tadds\tconf\tnote")
	for _, c := range r.Changes {
		if earlier := cmp.Or(c.Now.Of, c.Was.Of); earlier != "" {
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
	fmt.Fprintf(w, "\nverdict\tbefore\tafter\t\n")
	for _, v := range slices.Sorted(maps.Keys(r.After)) {
		fmt.Fprintf(w, "%s\t%d\t%d\t\n", v, r.Before[v], r.After[v])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nsince %s: %d judged, %d without a text to judge; policy %s in force, %s tried\n",
		r.Since.Format(time.RFC3339), r.Judged, r.Unkept, r.Policy, r.Tried)
	return err
}
