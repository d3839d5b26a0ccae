package main

import (
	"bufio"
	"fmt"
	"io"
	"text/tabwriter"

	"jianguo/exposure"
	"jianguo/exposure/size"
	"jianguo/exposure/state"
	"jianguo/internal/companion"
	"jianguo/internal/userbase"
)

type sizeCmd struct {
	companion.Flags

	Users  int64   `help:"How many users." default:"50000000"`
	Mix    string  `help:"Shares of users by how much they have seen." default:"60x50,30x500,10x20000"`
	Rate   float64 `help:"Exposures a second, of all users."`
	Policy string  `help:"How exposures are kept, as for serve." default:"rotate"`
}

// Run prints the table of sizes.
func (c *sizeCmd) Run(co *companion.Streams) error {
	p, err := exposure.ParsePolicy(c.Policy)
	if err != nil {
		return err
	}
	mix, err := userbase.ParseMix(c.Mix)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(co.Out)
	if err := writeSizes(out, p, c.Users, mix, c.Rate); err != nil {
		return err
	}
	return out.Flush()
}

// writeSizes prints what a user of each share takes, what all of them take, and, where
// rate (exposures a second, all users) is given, how much a day is written to the log.
func writeSizes(w io.Writer, p exposure.Policy, users int64, mix []userbase.Share, rate float64) error {
	m, k := p.Geometry(p.Capacity)
	fmt.Fprintf(w, "policy %s\n", p)
	fmt.Fprintf(w, "p a shard = 0.8 × %g / %d = %.3g\n", p.Target, p.Shards(), p.ShardRate())
	fmt.Fprintf(w, "shard of %d: m = -n·ln p / ln²2 = %d bits, k = %d, %d bytes\n", p.Capacity, m, k, state.ShardBytes(m))
	if p.Large > 0 {
		m, k = p.Geometry(p.Large)
		fmt.Fprintf(w, "shard of %d: m = %d bits, k = %d, %d bytes\n", p.Large, m, k, state.ShardBytes(m))
	}
	var seen []int
	for _, share := range mix {
		seen = append(seen, share.Keys)
	}
	sizes, err := size.Sizes(p, seen...)
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\nshare\tseen\tknown\ttail\tsmall\tlarge\tbytes\tn·log2(1/p)\tone Bloom\trate\t")
	var mean, keys float64
	for i, z := range sizes {
		part := mix[i].Part
		fmt.Fprintf(tw, "%.3g %%\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t%.5f %%\t\n",
			100*part, z.Keys, z.Remembered, z.Tail, z.Small, z.Large, z.Bytes, z.Theory, z.Bloom, 100*z.Rate)
		mean += part * float64(z.Bytes)
		keys += part * float64(z.Keys)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if users > 0 {
		fmt.Fprintf(w, "\n%d users, %.0f ids each on average: %.0f bytes a user, %.2f GB in all\n",
			users, keys, mean, mean*float64(users)/1e9)
	}
	if rate > 0 {
		const entry = 110 // bytes in the stream of an event with one id of 14 characters
		fmt.Fprintf(w, "%.0f exposures a second: %.1f GB a day through the log as single events of about %d bytes\n",
			rate, rate*86400*entry/1e9, entry)
	}
	return nil
}
