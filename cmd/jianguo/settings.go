package main

import (
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/data"
	"jianguo/index"
	"jianguo/segment"
)

// policyFlags are the parameters of a verdict.
type policyFlags struct {
	Rule       string        `help:"Rules: ${enum}; hamming is the textbook." enum:"jianguo,hamming" default:"jianguo"`
	Distance   int           `help:"Largest Hamming distance of a certain proposal." range:"0..3" default:"3"`
	Suspects   string        `help:"Suspects: ${enum}." enum:"publish,reject" default:"publish" group:"everyday"`
	Strictness string        `help:"Rejected: ${strictness}." enum:"${levels}" default:"rewrites" group:"everyday"`
	News       int           `help:"Characters that make news, for --strictness." range:"0..100000" placeholder:"80"`
	Window     time.Duration `help:"How long a story is known after its last copy." range:"1s..87600h" default:"2160h"`
}

func (f policyFlags) policy() *index.Policy {
	p := index.DefaultPolicy().At(f.Strictness)
	if f.News != 0 {
		p.Strictness, p.Limits = "", p.Limits.At(f.News)
	}
	p.Rules, p.Distance, p.Suspects, p.Window = f.Rule, f.Distance, f.Suspects, f.Window
	p.Cap = max(p.Cap, p.Window)
	return &p
}

// segmentFlags are the files that change the recipe.
type segmentFlags struct {
	UserDict string `help:"More words: word, frequency, part of speech a line." type:"existingfile" placeholder:"FILE"`
	Residue  string `help:"More page residue that carries no weight." type:"existingfile" placeholder:"FILE"`
}

// segmenter loads the dictionaries.
func (f segmentFlags) segmenter() (*segment.Segmenter, error) {
	return segment.New(segment.Config{Data: data.FS, UserDict: f.UserDict, Residue: f.Residue})
}

// busTrust is how an external bus and its clients know each other, beside a token.
type busTrust struct {
	NATSCreds string `name:"nats-creds" help:"Credentials for it." type:"existingfile" placeholder:"FILE"`
	NATSCA    string `name:"nats-ca" help:"Authority of its certificate." type:"existingfile" placeholder:"FILE"`
	NATSCert  string `name:"nats-cert" help:"Its certificate." type:"existingfile" placeholder:"FILE" and:"nats-cert"`
	NATSKey   string `name:"nats-key" help:"Its key." type:"existingfile" placeholder:"FILE" and:"nats-cert"`
}

func (f *busTrust) options() (all []nats.Option) {
	if f.NATSCreds != "" {
		all = append(all, nats.UserCredentials(f.NATSCreds))
	}
	if f.NATSCA != "" {
		all = append(all, nats.RootCAs(f.NATSCA))
	}
	if f.NATSCert != "" {
		all = append(all, nats.ClientCert(f.NATSCert, f.NATSKey))
	}
	return all
}
