package maintain

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"jianguo/exposure"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/index"
	"jianguo/index/maintain"
	"jianguo/index/verify"
	"jianguo/internal/companion"
	"jianguo/internal/datadir"
)

type verifyCmd struct {
	companion.Flags

	Data          string `help:"The data directory." placeholder:"DIR"`
	ExposureStore string `help:"Verify the histories in this Redis or Redis Cluster instead; services may be using it." placeholder:"redis://HOST,..."`
	StreamPrefix  string `help:"As for the services that use it." placeholder:"PREFIX"`
	JSON          bool   `help:"Print the report as JSON."`

	Sizes bool `help:"Also print the sizes of tables and pages on disk."`
}

// Run verifies a data directory, or histories in a Redis; exit code 1: there are problems.
func (c *verifyCmd) Run(co *companion.Streams) error {
	// A flag comes before what the environment says, which may be that of a service.
	if c.Data != "" && c.ExposureStore == os.Getenv("JIANGUO_EXPOSURE_STORE") {
		c.ExposureStore = ""
	}
	switch {
	case c.ExposureStore == "" && c.Data == "":
		return errors.New("verify what? give --data DIR, or --exposure-store URL")
	case c.ExposureStore != "" && c.Data != "" && c.Data != os.Getenv("JIANGUO_DATA"):
		return errors.New("--data and --exposure-store: give one of them")
	case c.ExposureStore != "":
		return c.verifyStore(co)
	}
	if err := isDataDir(c.Data); err != nil {
		return err
	}
	lock, err := datadir.Acquire(c.Data, datadir.Holder{Command: "verify"})
	if err != nil {
		return err
	}
	return errors.Join(c.verify(co), lock.Close())
}

// verifyStore verifies histories in a Redis.
func (c *verifyCmd) verifyStore(co *companion.Streams) error {
	conn, err := redis.Open(c.ExposureStore, c.StreamPrefix+"jianguo")
	if err != nil {
		return err
	}
	defer conn.Close()
	progress := co.Progress.Stages("verifying")
	r, wrong, err := redis.Verify(co.Ctx, conn, func(done, total int64) { progress("histories", done, total) })
	if err != nil {
		return err
	}
	problems := make([]string, len(wrong))
	for i, err := range wrong {
		problems[i] = err.Error()
	}
	if c.JSON {
		err = json.NewEncoder(co.Out).Encode(struct {
			state.Report
			Problems []string
		}{r, problems})
	} else {
		for _, p := range problems {
			fmt.Fprintln(co.Out, p)
		}
		_, err = fmt.Fprintf(co.Out, "%s: histories of %s, %s; %s set aside, %s forgotten\n", verdictOn(problems), companion.Plural(int(r.Users), "user"),
			companion.Plural(int(r.Shards), "shard"), companion.Plural(int(r.Quarantined), "head"), companion.Plural(int(r.Forgotten), "user"))
	}
	if err == nil && len(problems) > 0 {
		return companion.ErrPrinted
	}
	return err
}

// verify verifies a directory that this process has locked.
func (c *verifyCmd) verify(co *companion.Streams) error {
	x, err := index.Open(co.Ctx, index.Config{Dir: c.Data, Logger: co.Log, Progress: co.Progress.Stages("verifying")})
	if err != nil {
		return err
	}
	r, err := x.Verify(co.Ctx)
	var parts []maintain.Size
	if err == nil && c.Sizes {
		parts, err = maintain.Sizes(co.Ctx, c.Data)
	}
	if err := errors.Join(err, x.Close()); err != nil {
		return err
	}
	exposures := filepath.Join(c.Data, datadir.Exposures)
	if _, err := os.Stat(exposures); err == nil {
		if _, err := exposure.VerifyFile(co.Ctx, exposures); err != nil {
			r.Problems = append(r.Problems, err.Error())
		}
	}
	if c.JSON {
		err = json.NewEncoder(co.Out).Encode(struct {
			*verify.Report
			Sizes []maintain.Size `json:",omitempty"`
		}{r, parts})
	} else {
		for _, p := range r.Problems {
			fmt.Fprintln(co.Out, p)
		}
		if len(r.Recipes) > 0 {
			fmt.Fprintf(co.Out, "fingerprints of %d recipes, %s: those of an older one meet newer texts less well: run `jianguo reindex`\n", len(r.Recipes), strings.Join(r.Recipes, ", "))
		}
		for _, i := range r.Reindexed {
			state := "reindexed"
			if i.Unfinished {
				state = "reindex not finished"
			}
			fmt.Fprintf(co.Out, "%s to recipe %s through item %d: %d fingerprints or sketches are others, %s without text\n", state, i.Recipe, i.Through, i.Changed, companion.Plural(int(i.WithoutText), "item"))
		}
		for _, s := range parts {
			fmt.Fprintf(co.Out, "%14d bytes %8.1f an item  %s %s\n", s.Bytes, float64(s.Bytes)/float64(max(r.Items, 1)), s.File, s.Part)
		}
		_, err = fmt.Fprintf(co.Out, "%s: %d items, %d events, %d clusters, %d exemplars\n", verdictOn(r.Problems), r.Items, r.Events, r.Clusters, r.Exemplars)
	}
	if err == nil && len(r.Problems) > 0 {
		return companion.ErrPrinted
	}
	return err
}

func verdictOn(problems []string) string {
	if len(problems) == 0 {
		return "whole"
	}
	return companion.Plural(len(problems), "problem")
}
