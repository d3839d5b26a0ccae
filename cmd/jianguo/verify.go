package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"jianguo/exposure"
	"jianguo/index"
)

type verifyCmd struct {
	Data string `help:"The data directory." required:"" placeholder:"DIR"`
	JSON bool   `help:"Print the report as JSON."`
}

// Run proves a directory whole; exit code 1 says that it is not.
func (c *verifyCmd) Run(co *streams) error {
	if _, err := os.Stat(filepath.Join(c.Data, index.FileName)); err != nil {
		return fmt.Errorf("%s is no data directory: %w", c.Data, err)
	}
	lock, err := lockDir(c.Data, holder{Command: "verify"})
	if err != nil {
		return err
	}
	x, err := index.Open(co.ctx, index.Config{Dir: c.Data, Logger: co.log, Progress: co.progress("verifying")})
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	r, err := x.Verify(co.ctx)
	defer lock.Close()
	if err := errors.Join(err, x.Close()); err != nil {
		return err
	}
	exposures := filepath.Join(c.Data, exposureFile)
	if _, err := os.Stat(exposures); err == nil {
		if _, err := exposure.Verify(co.ctx, exposures); err != nil {
			r.Problems = append(r.Problems, err.Error())
		}
	}
	if c.JSON {
		err = json.NewEncoder(co.out).Encode(r)
	} else {
		for _, p := range r.Problems {
			fmt.Fprintln(co.out, p)
		}
		_, err = fmt.Fprintf(co.out, "%s: %d items, %d events, %d clusters, %d exemplars\n", verdictOn(r), r.Items, r.Events, r.Clusters, r.Exemplars)
	}
	if err == nil && len(r.Problems) > 0 {
		return &exitError{code: 1}
	}
	return err
}

func verdictOn(r *index.Report) string {
	if len(r.Problems) == 0 {
		return "whole"
	}
	return plural(len(r.Problems), "problem")
}
