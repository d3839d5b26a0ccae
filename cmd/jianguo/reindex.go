package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
	"jianguo/segment"
)

type reindexCmd struct {
	Data string `help:"The data directory; a service may be running on it." required:"" placeholder:"DIR"`
	JSON bool   `help:"Print the result as JSON."`
	segmentFlags
	busAccess
}

// Run brings a data directory to the recipe of this program, dictionary and residue
// list. A service that runs on the directory does it without a stop.
func (c *reindexCmd) Run(co *stdio) error {
	return must.Catch(func() {
		must.Do(isDataDir(c.Data))
		report := c.reindex(co, must.Get(c.segmenter()))
		if c.JSON {
			must.Do(json.NewEncoder(co.out).Encode(report))
		} else {
			printReindex(co, report)
		}
	})
}

// reindex has the service that runs reindex the directory, or does it in this process. It panics on errors (must).
func (c *reindexCmd) reindex(co *stdio, seg *segment.Segmenter) (report *index.ReindexReport) {
	where := reachFlags{Data: c.Data, busAccess: c.busAccess}
	if lock := must.Get(where.acquire("reindex")); lock != nil {
		err := must.Catch(func() { report = reindexAlone(co, seg, c.Data) })
		must.Do(errors.Join(err, lock.Close()))
		return report
	}
	conn := must.Get(where.connect(co))
	defer conn.Close()
	return must.Get(askToReindex(co, conn, seg.Recipe()))
}

// reindexAlone reindexes a directory that this process has locked. It panics on errors (must).
func reindexAlone(co *stdio, seg *segment.Segmenter, dir string) *index.ReindexReport {
	x := must.Get(openIndex(co, dir, seg, index.Config{Progress: co.progress.stages("loading")}))
	bar := co.progress.stages("reindexing")
	report, err := x.Reindex(co.ctx, index.ReindexConfig{Recipe: seg.Recipe(), Analyze: ingest.Analyzer(seg),
		Logger: co.log, Progress: func(done, total int64) { bar("items", done, total) }}, func() {})
	err = wrap.Err(err, "not finished; completed work is kept, run it again to continue")
	if err == nil {
		err = datadir.Record(dir)
	}
	must.Do(errors.Join(err, x.Close()))
	return report
}

func printReindex(co *stdio, r *index.ReindexReport) {
	if r.Resumed > 0 {
		fmt.Fprintf(co.out, "continued after item %d\n", r.Resumed)
	}
	if !r.Switched {
		fmt.Fprintf(co.out, "nothing to do: items are compared by recipe %s\n", r.Recipe)
	} else {
		fmt.Fprintf(co.out, "items are compared by recipe %s from now on\n", r.Recipe)
		if r.Items > 0 {
			fmt.Fprintf(co.out, "  %d of %s of another recipe have another fingerprint or sketch\n", r.Changed,
				plural(int(r.Items), "item"))
		} else { // back from another recipe
			fmt.Fprintln(co.out, "  all were made by it: none has another fingerprint or sketch")
		}
	}
	if r.Failed > 0 {
		fmt.Fprintf(co.out, "  %s could not be worked on, and keep theirs too: see the log\n", plural(int(r.Failed),
			"text"))
	}
	if r.Looked == 0 { // an earlier run has read them
		return
	}
	fmt.Fprintf(co.out, "  %s read in %.1f s (%.0f/s); verdicts, events and decisions are as they were\n",
		plural(int(r.Looked), "item"), r.Seconds, float64(r.Looked)/max(r.Seconds, 1e-9))
}

// askToReindex has a service reindex, and waits for the end. The service goes on with it when
// this command is interrupted.
func askToReindex(co *stdio, conn *nats.Conn, recipe string) (*index.ReindexReport, error) {
	ctx, cancel := context.WithCancelCause(co.ctx)
	defer cancel(nil)
	conn.SetDisconnectErrHandler(func(*nats.Conn, error) {
		cancel(errors.New("the service ended: run the command again when it is back"))
	})
	fmt.Fprintln(co.err, "the service reindexes; jianguo_index_reindex_progress of its /metrics says how far it is")
	message, err := conn.RequestWithContext(ctx, bus.SubjectReindex, []byte(recipe))
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), fmt.Errorf("the service: %w", err))
	}
	var answer reindexAnswer
	if err := json.Unmarshal(message.Data, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("the service: %s", answer.Error)
	}
	return answer.Report, nil
}
