package main

import (
	"errors"
	"fmt"
	"strings"

	"jianguo/internal/settings"
)

// externalBus are the flags of a bus that this process does not run.
type externalBus struct {
	NATS string `name:"nats" help:"Use this bus instead of the embedded one; several servers of a cluster with commas between." placeholder:"URL"`
	settings.Trust
	StreamPrefix  string `help:"Begins the names of the streams on an external bus, where another application uses ITEMS, VERDICTS, DEAD or EXPOSURES. Subjects stay the same." placeholder:"PREFIX"`
	Replicas      int    `help:"Servers of an external bus that hold each message, 1 to 5; 0: three where it is a cluster, else one." default:"0"`
	CreateStreams bool   `help:"Change streams of an external bus that exist and could lose messages; without it such a stream ends the start with the reasons."`
}

func (f *externalBus) check() error {
	if f.NATS == "" && (f.StreamPrefix != "" || f.Replicas != 0 || f.CreateStreams) {
		return errors.New("--stream-prefix, --replicas and --create-streams are for a bus given with --nats: the embedded one has no other streams, and is one server")
	}
	if strings.ContainsFunc(f.StreamPrefix, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return fmt.Errorf("--stream-prefix %q: letters, digits, _ and - only", f.StreamPrefix)
	}
	if f.Replicas < 0 || f.Replicas > 5 {
		return fmt.Errorf("--replicas %d: want 1 to 5, or 0 for three where the bus is a cluster", f.Replicas)
	}
	return nil
}
