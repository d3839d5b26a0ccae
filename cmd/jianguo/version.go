package main

import (
	"fmt"
	"runtime/debug"

	"jianguo/internal/settings"
)

// version is the tag that the binary was built from, or the nearest one before it, with
// the commit.
var version = func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}()

type versionCmd struct {
	settings.Policy
	settings.Segment
}

// Run prints version, commit, recipe and policy.
func (c *versionCmd) Run(co *streams) error {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	s, err := c.Segmenter()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.out, "jianguo %s\ncommit  %s\nrecipe  %s\npolicy  %s\n", version, commit, s.Recipe(), c.Policy.Policy().Hash())
	return err
}
