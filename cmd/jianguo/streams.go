package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
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

// policyFlags are the parameters of a verdict.
type policyFlags struct {
	Rule       string        `help:"Which rules judge: ${enum}; hamming is the textbook." enum:"jianguo,hamming" default:"jianguo"`
	Distance   int           `help:"Largest Hamming distance of a certain proposal, 0 to 3." default:"3"`
	Suspects   string        `help:"How suspects are treated: ${enum}." enum:"publish,hold,reject" default:"publish"`
	Strictness string        `help:"What is rejected as a copy: ${enum}. Copies: nearly all of it is in the earlier text; rewrites: also the same in other words; stories: also the same report with little of its own." enum:"copies,rewrites,stories" default:"rewrites"`
	NoLearned  bool          `help:"Let the passages that recur in unrelated articles of a source keep their weight." name:"no-learned-residue"`
	Window     time.Duration `help:"How long a story is remembered after its last copy." default:"2160h"`
}

func (f policyFlags) policy() *index.Policy {
	p := index.DefaultPolicy().At(f.Strictness)
	p.Rules, p.Distance, p.Suspects, p.Window, p.NoLearned = f.Rule, f.Distance, f.Suspects, f.Window, f.NoLearned
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
