package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"jianguo/internal/testbed"
)

// killed is a service that takes items until it ends, and the items it acknowledged.
type killed struct {
	*process
	acked map[string]bool
}

func newKilled(t *testing.T, args ...string) (*killed, *rand.Rand) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	args = append([]string{"--snapshot-every", "30", "--nats-listen", "127.0.0.1:0"}, args...)
	return &killed{process: newProcess(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), args...), acked: map[string]bool{}}, rand.New(rand.NewPCG(seed, 1))
}

// remove removes a directory that is not needed any more.
func (k *killed) remove(dir string) {
	k.t.Helper()
	testbed.OK(k.t, os.RemoveAll(dir))
}
