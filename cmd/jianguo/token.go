package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"jianguo/api/tokens"
)

// tokenCmd edits a file of tokens. A running service reads it again at SIGHUP.
type tokenCmd struct {
	Add    tokenAddCmd    `cmd:"" help:"Make a token, and add its hash to the file."`
	List   tokenListCmd   `cmd:"" help:"List names, roles, ids and sources."`
	Revoke tokenRevokeCmd `cmd:"" help:"Remove tokens from the file."`
}

type tokenFlags struct {
	Tokens string `help:"The file of tokens." required:"" placeholder:"FILE"`
}

// reread says what has to follow a change.
const reread = "A running service reads the file again at SIGHUP."

type tokenAddCmd struct {
	tokenFlags
	Name string `arg:"" help:"Whose token it is: one word, which logs and the log of decisions show."`
	Role string `arg:"" help:"What it may do: ${enum}." enum:"${roles}"`

	Source []string `help:"Sources it publishes for, with * and ?; on the bus items.publish.SOURCE." placeholder:"S"`
}

// Run prints the token, which is stored nowhere.
func (c *tokenAddCmd) Run(co *stdio) error {
	if c.Source != nil && len(c.Source) == 0 {
		return errors.New("--source is empty: name a source, or leave it out for a token that publishes for all")
	}
	token, err := tokens.Add(c.Tokens, c.Name, c.Role, c.Source...)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(co.out, token); err != nil {
		return fmt.Errorf("the token is added and lost, revoke it: %w", err)
	}
	fmt.Fprintf(co.err, "This is the only time that the token is shown. %s\n", reread)
	return nil
}

type tokenListCmd struct{ tokenFlags }

func (c *tokenListCmd) Run(co *stdio) error {
	set, err := tokens.Open(c.Tokens, 0)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(co.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\trole\tid\tsources")
	for _, t := range set.List() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, t.Role, t.ID, strings.Join(t.Sources, " "))
	}
	return w.Flush()
}

type tokenRevokeCmd struct {
	tokenFlags
	Which string `arg:"" help:"The id of a token, or the name of one or several." placeholder:"NAME|ID"`
}

func (c *tokenRevokeCmd) Run(co *stdio) error {
	n, err := tokens.Revoke(c.Tokens, c.Which)
	if err == nil {
		fmt.Fprintf(co.err, "%s removed. %s\n", plural(n, "token"), reread)
	}
	return err
}
