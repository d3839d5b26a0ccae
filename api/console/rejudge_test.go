package console_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"jianguo/api/console"
	"jianguo/index"
	"jianguo/internal/testbed"
)

// TestRejudge: an operator starts a rejudge of the running service, sees what would change
// and cancels another one.
func TestRejudge(t *testing.T) {
	t.Parallel()
	program := filepath.Join(testbed.Programs(t), "jianguo")
	var state atomic.Int32 // 0: there is no space, 1: there is, 2: it takes long
	dir := t.TempDir()
	r := start(t, func(c *serviceConfig) {
		c.Dir = dir
		c.Console = func(cfg *console.Config) {
			cfg.Rejudge = func(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
				switch state.Load() {
				case 1:
					return exec.CommandContext(ctx, program, append([]string{"rejudge", "--data", dir}, arguments...)...), nil
				case 2:
					return exec.CommandContext(ctx, "sleep", "1000"), nil
				}
				return nil, errors.New("the disk is full")
			}
		}
	})
	b := open(t, r, 1280, 900)
	b.signIn("jg_ops_secret-token-3", "/console/operators")
	b.seen(".problem", "the disk is full")
	state.Store(1)
	licensed := index.SourcePolicy{Source: "众览客户端", Policy: index.SourceLicensed, By: "林编辑"}
	if _, err := r.Index.EditNow(t.Context(), &index.Edit{Source: &licensed}); err != nil {
		t.Fatal(err)
	}
	b.to("/console/operators")
	b.script(`const f = document.querySelector('form[action="/console/rejudge"]'); f.since.value = "90"; f.strictness.value = "copies"`)
	b.click(`form[action="/console/rejudge"] button`)
	b.seen("main", "会变的判定")
	b.seen(".mark", "重复 → 疑似")
	b.seen(".totals", "首发")
	if page := b.text("main"); strings.Contains(page, "重复 → 首发") {
		t.Errorf("what the policy of a source changes by itself is among what the strictness changes:\n%s", page)
	}
	b.seen("td .badge.duplicate", "重复")
	b.seen("td .badge.suspect", "疑似")
	ops := session(t, r, "jg_ops_secret-token-3")
	if _, page := get(t, r, "/console/rejudge", ops); len(page) > 60<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}

	state.Store(2)
	b.click("main .filters button")
	b.seen("h2", "正在试判")
	b.click(`[name=cancel]`)
	b.seen(".problem", "已取消")
	if _, err := os.Stat(filepath.Join(dir, "rejudge")); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
}
