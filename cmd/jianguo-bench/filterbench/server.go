package filterbench

import (
	"cmp"
	"os"
	"os/exec"
	"strconv"

	"jianguo/cmd/jianguo-bench/proc"
)

// server is a process that answers filter requests: jianguo, or the control.
type server struct {
	*proc.Process
	nats string // URL of its bus; the control has none
}

type serverArgs struct {
	dir     string // empty: a new one
	relaxed bool
	policy  string // as exposure.ParsePolicy reads it
	cacheMB int
}

// startServer starts jianguo and waits until it is ready.
func (b *bench) startServer(a serverArgs) (*server, error) {
	if a.dir == "" {
		dir, err := os.MkdirTemp(b.Dir, "server-")
		if err != nil {
			return nil, err
		}
		a.dir = dir
	}
	durability := "synced"
	if a.relaxed {
		durability = "relaxed"
	}
	cmd := exec.CommandContext(b.ctx, b.Jianguo, "serve", "--data", a.dir, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--durability", durability, "--exposure-cache", strconv.Itoa(max(a.cacheMB, 1)), "--exposure-policy", cmp.Or(a.policy, "rotate"))
	s, err := proc.StartServer(b.ctx, cmd, a.dir, b.cpu)
	if err != nil {
		return nil, err
	}
	return &server{Process: s.Process, nats: s.Holder.NATS}, nil
}
