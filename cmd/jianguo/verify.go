package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"jianguo/exposure"
	"jianguo/exposure/redis"
	histories "jianguo/exposure/state"
	"jianguo/index"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

type verifyCmd struct {
	Data          string `help:"The data directory." placeholder:"DIR"`
	ExposureStore string `help:"Verify the histories in this Redis; maybe in use." placeholder:"redis://HOST"`
	StreamPrefix  string `help:"As for the services that use it." placeholder:"PREFIX"`
	JSON          bool   `help:"Print the report as JSON."`
}

// Run verifies a data directory, or histories in a Redis; exit code 1: there are problems.
func (c *verifyCmd) Run(co *stdio) error {
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
		return must.Catch(func() { c.verifyStore(co) })
	}
	return holding(datadir.Acquire, c.Data, "verify", func() { c.verify(co) })
}

// holding calls f, which may panic (must), while this process has the lock of a data directory.
func holding(acquire func(string, datadir.Holder) (*datadir.Lock, error), dir, command string, f func()) error {
	if err := isDataDir(dir); err != nil {
		return err
	}
	lock, err := acquire(dir, datadir.Holder{Command: command})
	if err != nil {
		return err
	}
	return errors.Join(must.Catch(f), lock.Close())
}

// verifyStore verifies histories in a Redis. It panics on errors (must).
func (c *verifyCmd) verifyStore(co *stdio) {
	conn := must.Get(redis.Open(c.ExposureStore, c.StreamPrefix+"jianguo"))
	defer conn.Close()
	progress := co.progress.stages("verifying")
	r, wrong := must.Get2(redis.Verify(co.ctx, conn, func(keys int64) { progress("histories", keys, 0) }))
	problems := make([]string, len(wrong))
	for i, err := range wrong {
		problems[i] = err.Error()
	}
	report := struct {
		histories.Report
		Problems []string
	}{r, problems}
	c.print(co, report, problems, fmt.Sprintf("histories of %s, %s; %s set aside, %s forgotten",
		plural(int(r.Users), "user"), plural(int(r.Shards), "shard"), plural(int(r.Quarantined), "head"),
		plural(int(r.Forgotten), "user")))
}

// verify verifies a directory that this process has locked. It panics on errors (must).
func (c *verifyCmd) verify(co *stdio) {
	x := must.Get(index.Open(co.ctx, index.Config{Dir: c.Data, Offline: true, Logger: co.log,
		Progress: co.progress.stages("verifying")}))
	r, err := x.Verify(co.ctx)
	must.Do(errors.Join(err, x.Close()))
	if m, err := datadir.ReadManifest(c.Data); m == nil {
		err = cmp.Or(err, errors.New("MANIFEST is missing: a lost file is not missed; the next start writes it"))
		r.Problems = append(r.Problems, err.Error())
	}
	exposures := filepath.Join(c.Data, datadir.Exposures)
	if _, err := os.Stat(exposures); err == nil {
		if _, err := exposure.VerifyFile(co.ctx, exposures); err != nil {
			r.Problems = append(r.Problems, err.Error())
		}
	}
	if len(r.Recipes) > 0 && !c.JSON {
		fmt.Fprintf(co.out, "fingerprints of %d recipes, %s: those of an older one meet newer texts less well: run "+
			"`jianguo reindex`\n", len(r.Recipes), strings.Join(r.Recipes, ", "))
	}
	c.print(co, r, r.Problems, fmt.Sprintf("%d items, %d events, %d clusters, %d exemplars",
		r.Items, r.Events, r.Clusters, r.Exemplars))
}

// print prints a report as JSON, or its problems and what was verified. It panics on errors (must), also if there are
// problems.
func (c *verifyCmd) print(co *stdio, report any, problems []string, verified string) {
	verdict := "whole"
	if len(problems) > 0 {
		verdict = plural(len(problems), "problem")
	}
	if c.JSON {
		must.Do(json.NewEncoder(co.out).Encode(report))
	} else {
		must.Get(fmt.Fprintln(co.out, strings.Join(append(problems, verdict+": "+verified), "\n")))
	}
	if len(problems) > 0 {
		must.Do(errPrinted)
	}
}
