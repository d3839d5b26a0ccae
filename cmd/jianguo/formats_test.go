//go:build !race

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// TestFormats opens data directories that earlier versions wrote and were killed
// on (scripts/fixture). Each of them is whole, answers as it did then, gives the
// messages that were left on its bus their verdicts, and takes more. Derived files may have
// another format: they are rebuilt. The first archive is that of v1.0.
func TestFormats(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join("testdata", "formats", "*.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			unpack(t, archive, dir)
			f := readFormat(t, dir)
			f.verify(filepath.Join(dir, "copy"))
			s := serve(t, plainBinary(t), f.data, f.Flags...)
			s.ready()
			f.goesOn(s)
			f.takesMore(s)
			s.stop()
		})
	}
}

// format is an archive: a data directory, and what its version answered once it
// had gone on after the kill.
type format struct {
	t    *testing.T
	data string

	Version string
	Flags   []string // of serve
	Items   []string // ids of all articles
	Answers []struct {
		Path         string
		Body, Answer json.RawMessage // without a Body it is a GET
	}
}

func readFormat(t *testing.T, dir string) *format {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	f := &format{t: t, data: filepath.Join(dir, "data")}
	if err := json.Unmarshal(raw, f); err != nil {
		t.Fatal(err)
	}
	if len(f.Items) < 100 || len(f.Answers) < len(f.Items) {
		t.Fatalf("%d articles, %d answers", len(f.Items), len(f.Answers))
	}
	return f
}

// unpack unpacks an archive into a directory.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	raw, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := zstd.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o750)
		} else {
			var file []byte
			if file, err = io.ReadAll(files); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, file, 0o640))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

var wholeItems = regexp.MustCompile(`whole: (\d+) items`)

// verify proves a copy of the directory whole, so that the service still finds it
// as the kill left it. Some articles must be on the bus and not in the catalogue.
func (f *format) verify(copied string) {
	f.t.Helper()
	if err := os.CopyFS(copied, os.DirFS(f.data)); err != nil {
		f.t.Fatal(err)
	}
	out, err := exec.Command(binary(f.t), "verify", "--data", copied).CombinedOutput()
	m := wholeItems.FindSubmatch(out)
	if err != nil || m == nil {
		f.t.Fatalf("verify: %v\n%s", err, out)
	}
	items, err := strconv.Atoi(string(m[1]))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Logf("%s%d of %d articles have no verdict yet", f.Version, len(f.Items)-items, len(f.Items))
	if items >= len(f.Items) {
		f.t.Error("every article has a verdict")
	}
}

// goesOn waits for the last article, and compares every answer with the recorded one.
func (f *format) goesOn(s *process) {
	f.t.Helper()
	s.eventually("the last article has its verdict", func() bool { return s.status("/items/"+f.Items[len(f.Items)-1]) == 200 })
	for _, a := range f.Answers {
		if strings.HasSuffix(a.Path, judgedOtherwise) || a.Path == "/clusters/156" { // its own cluster then
			continue
		}
		status, answer, err := s.request(a.Path, a.Body)
		if err != nil || status != 200 {
			f.t.Fatalf("%s: %d %s %v", a.Path, status, answer, err)
		}
		if diff := cmp.Diff(stored(decoded(f.t, a.Answer)), stored(decoded(f.t, answer))); diff != "" {
			f.t.Errorf("%s %.100s (-then +now):\n%s", a.Path, a.Body, diff)
		}
	}
}

// request is a GET, or a POST of a body.
func (s *process) request(path string, body []byte) (status int, answer []byte, err error) {
	if body != nil {
		return s.post(path, body)
	}
	return s.get(path)
}

// judgedOtherwise is a message that was left without a verdict, and gets another one today: an excerpt was a suspect
// and is a copy.
const judgedOtherwise = "childcare-excerpt"

// stored is an answer without what each version says in its own words and makes of the messages that were left: the
// recipe, the policy, what the judge measured, the sentence, and the verdict on judgedOtherwise; and what later versions also say of a history.
func stored(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range []string{"recipe", "policy", "facts", "resemblance", "why", "user", "tail_from"} {
			delete(v, field)
		}
		if v["capacity"] != nil {
			delete(v, "false_positive_rate") // of a shard
		}
		for field, x := range v {
			v[field] = stored(x)
		}
		if id := v["id"]; id == "childcare" || id == "childcare-html" || v["lead"] != nil {
			delete(v, "size")
			delete(v, "sources")
		}
	case []any:
		v = slices.DeleteFunc(v, func(x any) bool {
			m, _ := x.(map[string]any)
			return m["id"] == judgedOtherwise
		})
		for i := range v {
			v[i] = stored(v[i])
		}
		return v
	}
	return v
}

// policies are hashes of what decides: articles that were left on the bus are judged by that of
// this version.
var policies = regexp.MustCompile(`"policy":"[0-9a-f]+"`)

func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	raw = policies.ReplaceAll(raw, []byte(`"policy":""`))
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// takesMore publishes an article, a copy of an old one, and reports an exposure.
func (f *format) takesMore(s *process) {
	f.t.Helper()
	verdict := func(item []byte, want string) {
		f.t.Helper()
		if status, answer, err := s.post("/items", item); status != 200 || !bytes.Contains(answer, []byte(`"verdict":"`+want+`"`)) {
			f.t.Errorf("%d %s %v, want %s", status, answer, err, want)
		}
	}
	verdict(article(1), "unique")
	_, stored, err := s.request("/items/healthfraud", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	var old map[string]any
	if err := json.Unmarshal(stored, &old); err != nil {
		f.t.Fatal(err)
	}
	again, err := json.Marshal(map[string]any{"id": "again", "title": old["title"], "body": old["body"]})
	if err != nil {
		f.t.Fatal(err)
	}
	verdict(again, "duplicate")
	s.ask("/exposures", `{"user":"beginner","kind":"seen","items":["d"]}`, nil)
	if _, answer, err := s.post("/filter", []byte(`{"user":"beginner","items":["a","d","e"]}`)); err != nil || string(answer) != `{"items":["e"],"dropped":2}` {
		f.t.Errorf("filter: %s %v", answer, err)
	}
	out, err := exec.Command(s.binary, "dead", "list", "--data", s.data, "--json").Output()
	if err != nil || !bytes.Contains(out, []byte(`"field":"id"`)) {
		f.t.Errorf("dead letters: %s %v", out, err)
	}
	if raw, err := os.ReadFile(filepath.Join(s.data, "sources.txt")); err != nil || !strings.Contains(string(raw), fmt.Sprint("licensed\t", "晨帆网")) {
		f.t.Errorf("policies of sources: %s %v", raw, err)
	}
}
