package sources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"jianguo/internal/disk"
)

// FileName is the file of the sources' policies inside the data
// directory: for people to read, and to edit while nothing runs on the
// directory. A line is a policy and the name of a source:
//
//	licensed	晨帆网
//	preferred	"a name with \t, or quotes in front"
//	normal/copies	众览客户端
//
// The line `# change N` says which change of the catalogue's log the file was
// written after. When the directory is opened, a difference from the catalogue
// as it was then counts as an edit, and wins. Where the file is only older, the
// catalogue wins. A file without that line is taken as it stands. A missing one is
// written again.
const FileName = "sources.txt"

const fileHead = `# 来源的策略，每行一条：策略、来源名称。没有列出的来源是 normal（普通）。
# Policies of sources, one a line: the policy, then the source's name. A source that is not listed is normal.
#   licensed   授权转载：不拒收，标明转自哪篇        never rejected, stays linked
#   preferred  优先首发：后到也接替首发              takes the lead even when a copy arrived first
#   watched    重点关注：它的疑似稿排在最前          its suspects come first
# 策略后可加 /copies、/rewrites 或 /stories，为该来源另定宽严，如 normal/copies。 A strictness may follow, as in normal/copies.
# 服务停止时可以改动此文件，下次启动生效。 It may be edited while the service is stopped.
`

// editedBy is the editor of changes that were read from the file.
const editedBy = FileName

// Open puts the policies of the catalogue in force, applies edits of the file, and updates the file.
func (t *Table) Open(ctx context.Context) error {
	now, err := t.At(ctx, -1)
	if err != nil {
		return err
	}
	force := map[string]string{}
	for source, p := range now {
		force[source] = p.Stored()
	}
	t.inForce.Store(&force)
	raw, err := os.ReadFile(filepath.Join(t.Dir, FileName))
	if errors.Is(err, fs.ErrNotExist) && len(force) == 0 {
		return nil
	} else if errors.Is(err, fs.ErrNotExist) {
		return t.WriteFile(ctx)
	} else if err != nil {
		return err
	}
	listed, change, err := Parse(string(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", FileName, err)
	}
	then, err := t.At(ctx, change)
	if err != nil {
		return err
	}
	var edits []Policy
	edit := func(source, policy string) {
		treatment, strictness := Parts(policy)
		edits = append(edits, Policy{At: time.Now(), By: editedBy, Source: source, Policy: treatment,
			Strictness: strictness})
	}
	for source, policy := range listed {
		if p := then[source]; p.Stored() != policy && force[source] != policy {
			edit(source, policy)
		}
	}
	for source := range then {
		if _, ok := listed[source]; !ok && force[source] != "" {
			edit(source, Normal)
		}
	}
	slices.SortFunc(edits, func(a, b Policy) int { return strings.Compare(a.Source, b.Source) })
	if len(edits) > 0 {
		t.Log.InfoContext(ctx, "policies of sources were edited", "file", FileName, "changes", len(edits))
		if err := t.Set(ctx, edits); err != nil {
			return fmt.Errorf("%s: %w", FileName, err)
		}
	}
	return t.WriteFile(ctx)
}

// Parse reads a sources file: policies by source, and the change it was
// written after, -1 where it does not say.
func Parse(text string) (listed map[string]string, change int64, err error) {
	listed, change = map[string]string{}, -1
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if rest, ok := strings.CutPrefix(line, "#"); ok {
			if number, ok := strings.CutPrefix(strings.TrimSpace(rest), "change "); ok {
				if change, err = strconv.ParseInt(number, 10, 64); err != nil || change < 0 {
					return nil, 0, fmt.Errorf("line %d: change %q: want a number", n, number)
				}
			}
			continue
		}
		if line == "" {
			continue
		}
		cut := strings.IndexFunc(line, unicode.IsSpace)
		if cut < 0 {
			return nil, 0, fmt.Errorf("line %d: want a policy and the name of a source", n)
		}
		policy, source := line[:cut], strings.TrimSpace(line[cut:])
		if source[0] == '"' {
			if source, err = strconv.Unquote(source); err != nil {
				return nil, 0, fmt.Errorf("line %d: the name is not quoted well", n)
			}
		}
		if err := check(source, policy); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		if _, twice := listed[source]; twice {
			return nil, 0, fmt.Errorf("line %d: %q is listed twice", n, source)
		}
		listed[source] = policy
		if policy == Normal {
			delete(listed, source)
		}
	}
	return listed, change, nil
}

// WriteFile writes the policies in force to the file. It replaces the file atomically.
func (t *Table) WriteFile(ctx context.Context) error {
	var change int64
	last := t.DB.QueryRowContext(ctx, `SELECT coalesce(max(number), 0) FROM source_policies`)
	if err := last.Scan(&change); err != nil {
		return err
	}
	var lines []string
	for source, policy := range t.InForce() {
		unprintable := strings.ContainsFunc(source, func(r rune) bool { return !unicode.IsPrint(r) })
		if unprintable || source[0] == '"' || strings.TrimSpace(source) != source {
			source = strconv.Quote(source)
		}
		lines = append(lines, policy+"\t"+source+"\n")
	}
	slices.Sort(lines)
	text := fmt.Sprintf("%s# change %d\n%s", fileHead, change, strings.Join(lines, ""))
	path := filepath.Join(t.Dir, FileName)
	if have, err := os.ReadFile(path); err == nil && string(have) == text {
		return nil
	}
	return disk.Replace(path, []byte(text), 0o600)
}
