package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jianguo/internal/built"
)

// What is generated from the help of the real binary has every command and flag, and bash,
// zsh and man read it.
func TestManual(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(built.Dir(t), "jianguo")
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", ".", "-binary", binary, "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "jianguo.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`.SS jianguo serve`, `\-\-nats\-listen`, `.SS jianguo dead list`, `\-\-exposure\-cache`, `address of http`} {
		if !strings.Contains(strings.ToLower(string(page)), strings.ToLower(want)) {
			t.Errorf("the man page has no %s", want)
		}
	}
	for words, want := range map[string]string{
		"jianguo ver":                  "verify version",
		"jianguo dead ":                "list show replay drop",
		"jianguo serve --nats-l":       "--nats-listen",
		"jianguo dead list --li":       "--limit",
		"jianguo verify --data " + dir: dir,
	} {
		script := fmt.Sprintf(`source %s/jianguo.bash; line=%q; read -ra COMP_WORDS <<<"$line"; [[ $line == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _jianguo; echo "${COMPREPLY[*]}"`, dir, words)
		out, err := exec.Command("bash", "-c", script).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q is completed to %q, want %q: %v", words, got, want, err)
		}
	}
	// The functions of zsh that it calls are replaced by ones that print.
	script := fmt.Sprintf(`_describe() { print -l -- ${(P)2} }; _arguments() { print -l -- "$@" }; words=(jianguo dead list ""); CURRENT=4; _jianguo() { source %s/_jianguo }; _jianguo; words=(jianguo ""); CURRENT=2; _jianguo`, dir)
	out, err := exec.Command("zsh", "-fc", script).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--limit[How many at most") || !strings.Contains(string(out), "\nserve:Run the service") {
		t.Errorf("zsh: %v\n%s", err, out)
	}
}
