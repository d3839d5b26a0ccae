package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/internal/progress"
)

// streams are the inputs and outputs of a command.
type streams struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	err      io.Writer
	log      *slog.Logger
	progress progress.Reporter
}

// exitError ends a command with a code and, if err is not nil, a message.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// policyFlags are the parameters of a verdict.
type policyFlags struct {
	Rule     string        `help:"Which rules judge: ${enum}; hamming is the textbook." enum:"jianguo,hamming" default:"jianguo"`
	Distance int           `help:"Largest Hamming distance of a certain proposal, 0 to 3." default:"3"`
	Suspects string        `help:"How suspects are treated: ${enum}." enum:"publish,hold,reject" default:"publish"`
	Window   time.Duration `help:"How long a story is remembered after its last copy." default:"2160h"`
}

func (f policyFlags) policy() *index.Policy {
	p := index.DefaultPolicy()
	p.Rules, p.Distance, p.Suspects, p.Window = f.Rule, f.Distance, f.Suspects, f.Window
	p.Cap = max(p.Cap, p.Window)
	return &p
}

// segmentFlags change the recipe.
type segmentFlags struct {
	UserDict string `help:"More words for the segmenter: word, frequency and part of speech a line." type:"existingfile" placeholder:"FILE"`
	Residue  string `help:"More page residue (share prompts, notices) that carries no weight." type:"existingfile" placeholder:"FILE"`
}

// plural returns "1 item" or "2 items".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
