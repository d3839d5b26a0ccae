package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"jianguo/cmd/jianguo-bench/filterbench"
	"jianguo/internal/userbase"
)

type filterCmd struct {
	Against string        `help:"What to compare with: redis or none." enum:"redis,none" default:"none"`
	Redis   string        `help:"The redis-server to start." default:"redis-server"`
	Users   int           `help:"Users of the mix; 0: do not measure it." default:"1000000"`
	Mix     string        `help:"Shares of users by how much they have seen." default:"60x50,30x500,10x20000"`
	Events  int           `help:"Single-item events to publish; 0: do not measure them." default:"200000"`
	Each    time.Duration `help:"How long each measurement takes." default:"5s"`
	Rate    float64       `help:"Requests a second where latencies are measured; 0: a share of the peak, 70 % of one hot user's, half of cold users'."`
	Dir     string        `help:"For state; empty: a temporary directory." placeholder:"DIR"`
	Only    []string      `help:"Only these parts: process, hot, load, events, mix." enum:"process,hot,load,events,mix" placeholder:"PART"`
	JSON    bool          `help:"Print one line of JSON."`
	Plot    string        `help:"Draw latencies at 70 % of the peak to this file, .svg." placeholder:"FILE"`
	serviceFlags
}

// Run starts servers and measures them.
func (c *filterCmd) Run(co *streams) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	mix, err := userbase.ParseMix(c.Mix)
	if err != nil {
		return err
	}
	jianguo, err := c.jianguo()
	if err != nil {
		return err
	}
	o := filterbench.Options{Jianguo: jianguo, Control: []string{self, "control"}, Dir: c.Dir, Each: c.Each, Rate: c.Rate, Users: c.Users,
		Mix: mix, Events: c.Events, Only: c.Only, Log: co.err}
	if c.Against == "redis" {
		if o.Redis, err = exec.LookPath(c.Redis); err != nil {
			return fmt.Errorf("--against redis: %w (Debian: apt-get install redis-server)", err)
		}
	}
	res, err := filterbench.Run(co.ctx, o)
	if err != nil {
		return err
	}
	if c.Plot != "" {
		if err := plotLatencies(c.Plot, res.Latencies); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(co.out).Encode(res)
	}
	out := json.NewEncoder(co.out)
	out.SetIndent("", "  ")
	return out.Encode(res)
}

type controlCmd struct {
	Answer int `arg:"" help:"Bytes of an answer."`
}

// Run serves until a signal arrives.
func (c *controlCmd) Run(co *streams) error {
	return filterbench.ServeControl(co.ctx, co.out, c.Answer)
}
