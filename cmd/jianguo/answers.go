package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/disk"
	"jianguo/internal/must"
)

// rejudge makes the command with which the console judges again what arrived at the service of a directory. It has
// one processor, ends with the service, and is refused where the disk has no space for its copy.
func rejudge(dir string, d disk.Disk, files segmentFlags) func(context.Context, ...string) (*exec.Cmd, error) {
	return func(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
		path, err := os.Executable()
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(filepath.Join(dir, datadir.Catalogue))
		if err == nil {
			err = disk.Disk{Dir: dir, Reserve: d.Reserve + uint64(info.Size())}.HasSpace()
		}
		arguments = append([]string{"rejudge", "--data=" + dir}, arguments...)
		for flag, file := range map[string]string{"--user-dict=": files.UserDict, "--residue=": files.Residue} {
			if file != "" {
				arguments = append(arguments, flag+file)
			}
		}
		cmd := exec.CommandContext(ctx, path, arguments...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 10 * time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		return cmd, err
	}
}

// reindexAnswer is what a service answers about a reindex.
type reindexAnswer struct {
	Report *index.ReindexReport `json:"report,omitempty"`
	Error  string               `json:"error,omitempty"`
}

// answerReindex serves bus.SubjectReindex, whose payload is the recipe that is wanted, until
// the connection to the bus ends. The answer comes at the end of the reindex.
func (s *service) answerReindex() error {
	var one sync.Mutex
	_, err := s.conn.Subscribe(bus.SubjectReindex, func(m *nats.Msg) {
		if !bus.MayAnswer(m.Reply) {
			return
		}
		go func() {
			one.Lock()
			defer one.Unlock()
			var answer reindexAnswer
			recipe := string(m.Data)
			err := must.Catch(func() { answer.Report = s.reindex(recipe) })
			if err != nil {
				s.log.Error("reindex not finished", "recipe", recipe, "error", err)
				answer.Error = err.Error()
			}
			s.answer(m, answer)
		}()
	})
	return err
}

func (s *service) answer(m *nats.Msg, v any) {
	data, err := json.Marshal(v)
	if err == nil && bus.MayAnswer(m.Reply) {
		err = m.Respond(data)
	}
	if err != nil {
		s.log.Warn("answer on "+m.Subject, "error", err)
	}
}

// reindex reads the files that make the recipe again, and compares items by it from then on,
// while articles arrive. It panics on errors (must).
func (s *service) reindex(recipe string) *index.ReindexReport {
	seg := must.Get(s.flags.segmenter())
	if seg.Recipe() != recipe {
		must.Do(fmt.Errorf("the version of the service, with the files of --user-dict and --residue that it was "+
			"started with, makes recipe %s, and this command %s: start it with this version, and name its files here",
			seg.Recipe(), recipe))
	}
	report := must.Get(s.index.Reindex(context.Background(), index.ReindexConfig{Recipe: recipe,
		Analyze: ingest.Analyzer(seg), Logger: s.log}, func() { s.segmenter.Become(seg) }))
	s.log.Info("items are compared by another recipe", "recipe", recipe, "changed", report.Changed,
		"items", report.Items, "seconds", report.Seconds)
	return report
}
