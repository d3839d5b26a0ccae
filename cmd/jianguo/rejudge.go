package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/index/maintain"
	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/segment"
)

type rejudgeCmd struct {
	Data       string `help:"The data directory; maybe in use." required:"" placeholder:"DIR"`
	Since      age    `help:"How far to go back from the last arrival, as 7d or 36h." default:"7d"`
	Strictness string `help:"Judge at this strictness." enum:",copies,rewrites,stories" default:""`
	Policy     string `help:"Policy to change, as JSON." placeholder:"FILE" type:"existingfile"`
	Labels     string `help:"Write the pairs that change to this file, for editors to label." placeholder:"FILE"`
	Show       *int   `help:"Changes to print; -1: all. Default: 50, JSON all." range:"-1..9999" placeholder:"N"`
	JSON       bool   `help:"Print one JSON document."`
	Work       string `help:"Where the copy of index.db goes." placeholder:"DIR" type:"existingdir"`
	Language   string `help:"Language of reasons: ${enum}." enum:"zh,en" default:"zh"`
	segmentFlags
}

// age is a time as 36h or 7d.
type age time.Duration

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

func (c *rejudgeCmd) Run(co *stdio) error {
	return must.Catch(func() {
		segmenter := must.Get(c.segmenter())
		dir := must.Get(os.MkdirTemp(c.Work, "jianguo-rejudge-"))
		r, err := must.Try(func() *maintain.Report { return c.rejudge(co, segmenter, dir) })
		must.Do(errors.Join(err, os.RemoveAll(dir)))
		if c.Labels != "" {
			must.Do(os.WriteFile(c.Labels, r.Labels(), 0o644))
		}
		if c.Show == nil && !c.JSON {
			c.Show = new(50)
		}
		shown := r.Changes
		if c.Show != nil && *c.Show >= 0 {
			shown = shown[:min(*c.Show, len(shown))]
		}
		if c.JSON {
			r.Changes = shown
			co.print(r)
		} else {
			must.Do(r.Print(co.out, shown))
		}
	})
}

// rejudge judges what has arrived by the policy in force and by the one to try. It panics on errors (must).
func (c *rejudgeCmd) rejudge(co *stdio, segmenter *segment.Segmenter, dir string) *maintain.Report {
	must.Do(isDataDir(c.Data))
	co.progress.stages("rejudge:")("copying the catalogue", 0, 1)
	must.Do(maintain.Copy(co.ctx, c.Data, dir))
	var r *maintain.Report
	var policy index.Policy
	c.replay(co, segmenter, dir, nil, "judging as now", func(x *index.Index) (time.Time, func(*maintain.Replayed)) {
		p := x.Probe()
		if p.Last == 0 {
			must.Do(errors.New("nothing has arrived"))
		}
		policy = c.policy(x.Policy())
		last := time.Unix(int64(p.Rows.Arrived(p.Last)), 0).UTC()
		r = maintain.NewReport(x.Policy().Hash(), policy.Hash(), last.Add(-time.Duration(c.Since)))
		return r.Since, r.InForce
	})
	c.replay(co, segmenter, dir, &policy, "judging", func(*index.Index) (time.Time, func(*maintain.Replayed)) {
		return r.Since, r.Tries
	})
	r.Sort()
	return r
}

// replay judges what has arrived again by a policy (nil: the one in force): since when, and what is called with each
// arrival, begin says. It leaves the files as they are. It panics on errors (must).
func (c *rejudgeCmd) replay(co *stdio, segmenter *segment.Segmenter, dir string, policy *index.Policy, stage string,
	begin func(*index.Index) (since time.Time, each func(*maintain.Replayed))) {
	x := must.Get(openIndex(co, dir, segmenter, index.Config{Relaxed: true, Policy: policy, Copy: true,
		Language: c.Language, SnapshotEvery: math.MaxInt64, Progress: co.progress.stages("rejudge: loading")}))
	defer x.Close()
	progress := co.progress.stages("rejudge:")
	since, each := begin(x)
	must.Do(maintain.Replay(co.ctx, x, since, func(it *index.Item) *index.Article {
		return ingest.Prepare(segmenter, ingest.Stored(it))
	}, each, func(done, total int64) { progress(stage, done, total) }))
}

// policy is the policy to try. It panics on errors (must).
func (c *rejudgeCmd) policy(p index.Policy) index.Policy {
	if c.Strictness != "" {
		p = p.At(c.Strictness)
	}
	if c.Policy != "" {
		in := json.NewDecoder(bytes.NewReader(must.Get(os.ReadFile(c.Policy))))
		in.DisallowUnknownFields()
		must.Dof(in.Decode(&p), "%s", c.Policy)
		must.Do(p.Validate())
	}
	return p
}
