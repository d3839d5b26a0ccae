package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
)

// renewal is what a service answers about a reindex.
type renewal struct {
	Report *index.ReindexReport `json:"report,omitempty"`
	Error  string               `json:"error,omitempty"`
}

// answerReindex serves bus.SubjectReindex, whose payload is the recipe that is wanted, until
// the connection to the bus ends. The answer comes at the end of the reindex.
func (c *core) answerReindex() error {
	var one sync.Mutex
	_, err := c.conn.Subscribe(bus.SubjectReindex, func(m *nats.Msg) {
		if !bus.MayAnswer(m.Reply) {
			return
		}
		go func() {
			one.Lock()
			defer one.Unlock()
			var answer renewal
			report, err := c.reindex(context.Background(), string(m.Data))
			if answer.Report = report; err != nil {
				c.log.Error("reindex not finished", "recipe", string(m.Data), "error", err)
				answer.Error = err.Error()
			}
			data, err := json.Marshal(answer)
			if err == nil {
				err = m.Respond(data)
			}
			if err != nil {
				c.log.Warn("answer about a reindex", "error", err)
			}
		}()
	})
	return err
}

// reindex reads the files that make the recipe again, and compares items by it from then on,
// while articles arrive.
func (c *core) reindex(ctx context.Context, recipe string) (*index.ReindexReport, error) {
	seg, err := c.flags.Segmenter()
	if err != nil {
		return nil, err
	}
	if seg.Recipe() != recipe {
		return nil, fmt.Errorf("the files of --user-dict and --residue that the service was started with make recipe %s, and those of this command %s: change the files of the service, and name them here", seg.Recipe(), recipe)
	}
	report, err := c.index.Reindex(ctx, index.ReindexConfig{Dir: c.dir, Recipe: recipe, Analyze: ingest.Analyzer(seg), Logger: c.log},
		func() { c.segmenter.Become(seg) })
	if err != nil {
		return nil, err
	}
	c.log.Info("items are compared by another recipe", "recipe", recipe, "changed", report.Changed, "items", report.Items, "seconds", report.Seconds)
	return report, nil
}
