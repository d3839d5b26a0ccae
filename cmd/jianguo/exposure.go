package main

import (
	"bufio"

	"jianguo/exposure"
)

// exposureCmd groups commands about users' histories.
type exposureCmd struct {
	Size exposureSizeCmd `cmd:"" help:"Print the bytes that users take, by formula."`
}

type exposureSizeCmd struct {
	Users  int64   `help:"How many users." default:"50000000"`
	Mix    string  `help:"Shares of users by how much they have seen." default:"60x50,30x500,10x20000"`
	Rate   float64 `help:"Exposures a second, of all users."`
	Policy string  `help:"How exposures are kept, as for serve." default:"rotate"`
}

// Run prints the table of sizes.
func (c *exposureSizeCmd) Run(co *streams) error {
	p, err := exposure.ParsePolicy(c.Policy)
	if err != nil {
		return err
	}
	mix, err := exposure.ParseMix(c.Mix)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(co.out)
	if err := exposure.WriteSizes(out, p, c.Users, mix, c.Rate); err != nil {
		return err
	}
	return out.Flush()
}
