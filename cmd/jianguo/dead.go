package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/must"
)

type deadCmd struct {
	To reachFlags `embed:""`

	List   deadListCmd   `cmd:"" default:"withargs" help:"List dead letters with their reasons."`
	Show   deadShowCmd   `cmd:"" help:"Print the payload of one."`
	Replay deadReplayCmd `cmd:"" help:"Publish dead letters again, and remove them."`
	Drop   deadDropCmd   `cmd:"" help:"Remove dead letters."`
}

type deadListCmd struct {
	After uint64 `help:"Only those whose number is higher." range:"0..18446744073709551615"`
	Limit int    `help:"How many at most." range:"1..1000000" default:"100"`
	JSON  bool   `help:"Print one JSON object a line."`
}

type deadShowCmd struct {
	Number uint64 `arg:"" help:"The letter's number, from list."`
}

// deadChoice are the letters that a command is about.
type deadChoice struct {
	Numbers []uint64 `arg:"" optional:"" help:"The letters' numbers, from list."`
	All     bool     `help:"All of them."`
}

type deadReplayCmd struct{ deadChoice }

type deadDropCmd struct{ deadChoice }

// with calls f, which may panic (must), with the dead letters of a service. It does nothing if there are none.
func (c *deadCmd) with(co *stdio, f func(*bus.DeadLetters)) error {
	conn, err := c.To.reach(co)
	if err != nil {
		return err
	}
	defer conn.Close()
	d, err := bus.OpenDead(co.ctx, conn, c.To.StreamPrefix)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return must.Catch(func() { f(must.Get(d, err)) })
}

func (c *deadListCmd) Run(co *stdio, parent *deadCmd) error {
	return parent.with(co, func(d *bus.DeadLetters) {
		for _, l := range must.Get(d.List(co.ctx, c.After, c.Limit)) {
			if c.JSON {
				must.Do(json.NewEncoder(co.out).Encode(l))
			} else {
				must.Get(fmt.Fprintf(co.out, "%6d  %s  %s  %s\n", l.Number, l.Arrived.Format("2006-01-02 15:04:05"),
					l.Subject, l.Reason))
			}
		}
	})
}

func (c *deadShowCmd) Run(co *stdio, parent *deadCmd) error {
	return parent.with(co, func(d *bus.DeadLetters) {
		out := co.raw
		if progressTo(out).terminal {
			out = co.out
		}
		must.Get(out.Write(append(must.Get(d.Get(co.ctx, c.Number)).Data, '\n')))
	})
}

func (c *deadReplayCmd) Run(co *stdio, parent *deadCmd) error {
	return c.each(co, parent, (*bus.DeadLetters).Replay, "replayed")
}

func (c *deadDropCmd) Run(co *stdio, parent *deadCmd) error {
	return c.each(co, parent, (*bus.DeadLetters).Drop, "dropped")
}

// each calls f with the number of each letter, and prints how many were done, and why others were not.
func (c *deadChoice) each(co *stdio, parent *deadCmd, f func(*bus.DeadLetters, context.Context, uint64) error,
	done string) error {
	if c.All == (len(c.Numbers) > 0) {
		return errors.New("which? give numbers from `jianguo dead list`, or --all")
	}
	return parent.with(co, func(d *bus.DeadLetters) {
		if c.All {
			for _, l := range must.Get(d.List(co.ctx, 0, math.MaxInt)) {
				if l.Subject != "" { // else it is damaged, and stays until the stream forgets it
					c.Numbers = append(c.Numbers, l.Number)
				}
			}
		}
		var failed []error
		for _, n := range c.Numbers {
			if err := f(d, co.ctx, n); err != nil {
				must.Do(co.ctx.Err())
				failed = append(failed, err)
			}
		}
		must.Get(fmt.Fprintln(co.out, plural(len(c.Numbers)-len(failed), "letter"), done))
		must.Do(errors.Join(failed...))
	})
}
