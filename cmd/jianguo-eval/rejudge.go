package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"jianguo/index"
	"jianguo/index/maintain"
	"jianguo/ingest"
	"jianguo/internal/companion"
	"jianguo/internal/offline"
	"jianguo/internal/settings"
	"jianguo/segment"
)

type rejudgeCmd struct {
	companion.Flags

	Data       string        `help:"The data directory. A service may be using it." required:"" placeholder:"DIR" type:"existingdir"`
	Since      age           `help:"How far to go back from the last arrival, as 7d or 36h." default:"7d"`
	Strictness string        `help:"Judge at this strictness: copies, rewrites or stories; empty: at that in force." enum:",copies,rewrites,stories" default:""`
	Policy     string        `help:"Numbers of the policy to change, as JSON: {\"suspects\": \"reject\", \"thresholds\": {\"duplicate\": 0.8}}." placeholder:"FILE" type:"existingfile"`
	Sources    string        `help:"Policies of sources to judge with, in the form of sources.txt." placeholder:"FILE" type:"existingfile"`
	Labels     string        `help:"Write the pairs whose verdict changes to this file, for editors to label." placeholder:"FILE"`
	Show       *int          `help:"How many changes to print; --show=-1 for all. Default: 50, and all with --json." placeholder:"N"`
	JSON       bool          `help:"Print one JSON document."`
	Progress   time.Duration `help:"How often to print a line of progress on standard error that is no terminal." default:"30s"`
	Work       string        `help:"Where the copy of the catalogue goes while the command runs; as large as index.db." placeholder:"DIR" type:"existingdir"`
	Language   string        `help:"Language of reasons: ${enum}." enum:"zh,en" default:"zh"`
	settings.Segment
}

// age is a time as 36h or 7d.
type age time.Duration

// UnmarshalText reads an age.
func (a *age) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("%q: want a number of days, as 7d", s)
		}
		*a = age(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("%q is negative", s)
	}
	*a = age(d)
	return err
}

// change is a verdict that would change.
type change struct {
	Source string      `json:"source,omitempty"`
	Was    index.Event `json:"was"`
	Now    index.Event `json:"now"`
}

// shift counts what becomes of the arrivals of a source.
type shift struct {
	Source  string         `json:"source"`
	Judged  int            `json:"judged"`
	Changed int            `json:"changed"`
	Shifts  map[string]int `json:"shifts,omitempty"` // "duplicate → suspect"
}

// rejudged is the result of the command.
type rejudged struct {
	Policy   string            `json:"policy"` // that in force
	Tried    string            `json:"tried"`
	Since    time.Time         `json:"since"`
	Judged   int               `json:"judged"`
	Unkept   int               `json:"unkept"` // withdrawals, and texts that were not kept
	Changed  int               `json:"changed"`
	Total    map[string]int    `json:"total"`
	BySource []*shift          `json:"by_source"`
	Changes  []change          `json:"changes"`
	sources  map[string]*shift // by name
}

// Run judges what arrived lately again.
func (c *rejudgeCmd) Run(co *companion.Streams) error {
	co.Progress.Every = c.Progress
	segmenter, err := c.Segmenter()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.Work, "jianguo-rejudge-")
	if err != nil {
		return err
	}
	r, err := c.rejudge(co, segmenter, dir)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		return err
	}
	if c.Labels != "" {
		if err := os.WriteFile(c.Labels, r.labels(), 0o644); err != nil {
			return err
		}
	}
	show := 50
	if c.JSON {
		show = -1
	}
	if c.Show != nil {
		show = *c.Show
	}
	shown := r.Changes
	if show >= 0 {
		shown = shown[:min(show, len(shown))]
	}
	if c.JSON {
		r.Changes = shown
		out := json.NewEncoder(co.Out)
		out.SetIndent("", " ")
		return out.Encode(r)
	}
	return r.print(co, shown)
}

func (c *rejudgeCmd) rejudge(co *companion.Streams, segmenter *segment.Segmenter, dir string) (_ *rejudged, err error) {
	if _, err := os.Stat(filepath.Join(c.Data, index.FileName)); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	co.Progress.Stages("rejudge:")("copying the catalogue", 0, 1)
	if err := maintain.Copy(co.Ctx, c.Data, dir); err != nil {
		return nil, err
	}
	if err := c.copySources(dir); err != nil {
		return nil, err
	}
	inForce, last, err := lastPolicy(co.Ctx, filepath.Join(dir, index.FileName))
	if err != nil {
		return nil, err
	}
	policy, err := c.policy(inForce)
	if err != nil {
		return nil, err
	}
	x, err := offline.OpenIndex(co, dir, segmenter, index.Config{Relaxed: true, Policy: &policy, Language: c.Language, Progress: co.Progress.Stages("rejudge: loading")})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	out := &rejudged{Policy: inForce.Hash(), Tried: policy.Hash(), Since: last.Add(-time.Duration(c.Since)), Total: map[string]int{}, sources: map[string]*shift{}}
	arrivals, err := maintain.NewReplay(co.Ctx, x, out.Since)
	if err != nil {
		return nil, err
	}
	all, progress := arrivals.Remaining(), co.Progress.Stages("rejudge:")
	for arrivals.Remaining() > 0 {
		if err := co.Ctx.Err(); err != nil {
			return nil, err
		}
		one, err := arrivals.Next(co.Ctx, func(it *index.Item) *index.Article {
			return ingest.Prepare(segmenter, &ingest.Item{ID: it.ID, Title: it.Title, Body: *it.Body, Source: it.Source, Published: it.Published})
		})
		if err != nil {
			return nil, err
		}
		out.add(one)
		progress("judging", int64(all-arrivals.Remaining()), int64(all))
	}
	out.BySource = slices.SortedFunc(maps.Values(out.sources), func(a, b *shift) int {
		if a.Changed != b.Changed {
			return b.Changed - a.Changed
		}
		return strings.Compare(a.Source, b.Source)
	})
	return out, nil
}

// copySources puts the policies of sources to judge with beside the copy, if there are any.
func (c *rejudgeCmd) copySources(dir string) error {
	if c.Sources == "" {
		return nil
	}
	text, err := os.ReadFile(c.Sources)
	if err != nil {
		return err
	}
	if _, _, err := index.ParseSources(string(text)); err != nil {
		return fmt.Errorf("%s: %w", c.Sources, err)
	}
	// Without its line `# change` it is taken as it stands.
	text = bytes.ReplaceAll(text, []byte("# change "), []byte("# written at change "))
	return os.WriteFile(filepath.Join(dir, index.SourcesFileName), text, 0o600)
}

// policy is the policy to try.
func (c *rejudgeCmd) policy(p index.Policy) (index.Policy, error) {
	if c.Strictness != "" {
		p = p.At(c.Strictness)
	}
	if c.Policy == "" {
		return p, nil
	}
	text, err := os.ReadFile(c.Policy)
	if err != nil {
		return p, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&p); err != nil {
		return p, fmt.Errorf("%s: %w", c.Policy, err)
	}
	return p, p.Validate()
}

func (r *rejudged) add(one *maintain.Replayed) {
	if one == nil {
		r.Unkept++
		return
	}
	r.Judged++
	s := r.sources[one.Source]
	if s == nil {
		s = &shift{Source: one.Source, Shifts: map[string]int{}}
		r.sources[one.Source] = s
	}
	s.Judged++
	if one.Was.Verdict == one.Now.Verdict {
		return
	}
	kind := one.Was.Verdict.String() + " → " + one.Now.Verdict.String()
	s.Changed, s.Shifts[kind] = s.Changed+1, s.Shifts[kind]+1
	r.Changed, r.Total[kind] = r.Changed+1, r.Total[kind]+1
	r.Changes = append(r.Changes, change{one.Source, one.Was, one.Now})
}

// labels are the pairs that change, for `jianguo eval --labels` once an editor has replaced the
// question marks.
func (r *rejudged) labels() []byte {
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

func (r *rejudged) print(co *companion.Streams, shown []change) error {
	for _, c := range shown {
		fmt.Fprintf(co.Out, "%s  %s → %s  %s\n  was  %s\n  now  %s\n", c.Now.ID, c.Was.Verdict, c.Now.Verdict, c.Source, c.Was.Why, c.Now.Why)
	}
	if n := len(r.Changes) - len(shown); n > 0 {
		fmt.Fprintf(co.Out, "and %d more: --show=-1 prints all\n", n)
	}
	w := tabwriter.NewWriter(co.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nsource\tjudged\tchange\t\n")
	for _, s := range append([]*shift{{Source: "all", Judged: r.Judged, Changed: r.Changed, Shifts: r.Total}}, r.BySource...) {
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
	_, err := fmt.Fprintf(co.Out, "\nsince %s: %d judged, %d without a text to judge; policy %s in force, %s tried\n",
		r.Since.Format(time.RFC3339), r.Judged, r.Unkept, r.Policy, r.Tried)
	return err
}
