package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd completes a command line for a shell: complete -o default -C 'jianguo completion' jianguo
type completionCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"What the shell adds."`
}

// Run prints the commands or flags that may stand where COMP_LINE ends.
func (c *completionCmd) Run(co *streams, k *kong.Context) error {
	words := strings.Split(os.Getenv("COMP_LINE"), " ")
	at, current := k.Model.Node, words[len(words)-1]
	for _, word := range words[1:max(len(words)-1, 1)] {
		for _, command := range at.Children {
			if command.Name == word {
				at = command
			}
		}
	}
	for _, command := range at.Children {
		if !command.Hidden && strings.HasPrefix(command.Name, current) {
			fmt.Fprintln(co.out, command.Name)
		}
	}
	for _, group := range at.AllFlags(true) {
		for _, flag := range group {
			if name := "--" + flag.Name; current != "" && strings.HasPrefix(name, current) {
				fmt.Fprintln(co.out, name)
			}
		}
	}
	return nil
}
