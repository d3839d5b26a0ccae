package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
	"jianguo/segment"
	"jianguo/simhash"
)

// sampleWords are words that occur in many texts of the bundled sample and of article,
// and are not in the shipped dictionary.
const sampleWords = "街道与 9000 n\n河段的巡查 9000 n\n号通报第 9000 n\n记者从 9000 n\n表示将 9000 n\n的时间 9000 n\n今年以来 9000 n\n工作人员介绍 9000 n\n上午正式 9000 n\n市民可以 9000 n\n"

// archive is a data directory and the flags that its recipe depends on.
type archive struct {
	t      *testing.T
	binary string
	dir    string
	flags  segmentFlags
}

func (a *archive) args(args ...string) []string {
	if a.flags.UserDict != "" {
		args = append(args, "--user-dict", a.flags.UserDict)
	}
	return args
}

// run runs the real binary on the directory.
func (a *archive) run(command string, args ...string) string {
	a.t.Helper()
	return does(a.t, a.binary, "", a.args(append([]string{command, "--data", a.dir}, args...)...)...)
}

// verify verifies the directory.
func (a *archive) verify() {
	a.t.Helper()
	does(a.t, a.binary, "whole: ", "verify", "--data", a.dir)
}

func (a *archive) segmenter() *segment.Segmenter {
	a.t.Helper()
	seg, err := a.flags.segmenter()
	testbed.OK(a.t, err)
	return seg
}

// open opens the directory in this process.
func (a *archive) open(seg *segment.Segmenter) *index.Index {
	a.t.Helper()
	x, err := openIndex(&stdio{ctx: context.Background()}, a.dir, seg, index.Config{})
	testbed.OK(a.t, err)
	return x
}

// history returns a digest of each table that a reindex must not change.
func (a *archive) history() map[string]string {
	a.t.Helper()
	sums := map[string]string{}
	for _, table := range []string{"items", "texts", "events", "current", "clusters", "members", "decisions", "decision_items", "sources"} {
		sums[table] = a.sum(`SELECT * FROM ` + table + ` ORDER BY 1, 2`)
	}
	return sums
}

// sum returns a digest of the rows of a query.
func (a *archive) sum(query string) string {
	a.t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(a.dir, index.FileName))
	testbed.OK(a.t, err)
	defer db.Close()
	rows, err := db.Query(query)
	testbed.OK(a.t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	testbed.OK(a.t, err)
	row, dests := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		dests[i] = &row[i]
	}
	n, hash := 0, sha256.New()
	for rows.Next() {
		testbed.OK(a.t, rows.Scan(dests...))
		n++
		fmt.Fprintln(hash, row...)
	}
	testbed.OK(a.t, rows.Err())
	return fmt.Sprintf("%d rows %x", n, hash.Sum(nil)[:8])
}

func newArchive(t *testing.T, binary string) *archive {
	return &archive{t: t, binary: binary, dir: filepath.Join(t.TempDir(), "data")}
}

func wordsFile(t *testing.T) segmentFlags {
	t.Helper()
	return segmentFlags{UserDict: fileOf(t, []byte(sampleWords))}
}

// decide has editors decide about a few items; it returns the decisions that can
// still be undone.
func decide(t *testing.T, x *index.Index) (numbers []uint64) {
	t.Helper()
	ctx := context.Background()
	events, err := x.Events(ctx, 0, 1<<20)
	testbed.OK(t, err)
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	n, clusters := 0, []uint32{}
	for _, e := range events {
		req := index.DecisionRequest{By: "张三", Reason: "核对过", At: at}
		switch {
		case e.Verdict == index.Duplicate && n < 12:
			n++
			req.Kind, req.Item = []string{index.Release, index.MakeLead}[n%2], e.ID
		case e.Verdict == index.Unique && len(clusters) < 12:
			clusters = append(clusters, e.Cluster)
			if len(clusters)%3 == 0 {
				req.Kind, req.Cluster, req.Into = index.Merge, e.Cluster, clusters[len(clusters)-2]
			} else if len(clusters)%3 == 1 {
				req.Kind, req.Cluster = index.Block, e.Cluster
			} else {
				continue
			}
		default:
			continue
		}
		d, err := x.EditNow(ctx, &index.Edit{Decision: &req})
		var conflict *index.ConflictError
		if err != nil && !errors.As(err, &conflict) {
			t.Fatalf("%+v: %v", req, err)
		}
		if err == nil {
			numbers = append(numbers, d.Number)
		}
	}
	if len(numbers) < 8 {
		t.Fatalf("%d decisions", len(numbers))
	}
	return numbers
}

// sameVerdicts checks edited copies of every article of the sample on two
// indexes. It returns how many were found by their fingerprints, at the
// distance that these have.
func sameVerdicts(t *testing.T, x, fresh *index.Index, seg *segment.Segmenter, sample string) (measured int) {
	t.Helper()
	ctx := context.Background()
	file, err := os.ReadFile(sample)
	testbed.OK(t, err)
	print := func(title, body string) simhash.Fingerprint {
		return ingest.Prepare(seg, &ingest.Item{Title: title, Body: body}).Print.Fingerprint
	}
	for line := range strings.Lines(string(file)) {
		var it ingest.Item
		testbed.OK(t, json.Unmarshal([]byte(line), &it))
		it.ID, it.Body = "new", strings.Replace(it.Body, "，", "，据了解，", 1)
		article := ingest.Prepare(seg, &it)
		at := uint32(time.Now().Unix())
		got, err1 := x.Check(ctx, article, at)
		want, err2 := fresh.Check(ctx, article, at)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("%v, %v: %s (-fresh +reindexed):\n%s", err1, err2, it.Title, diff)
		}
		if got.Rule != index.ByHamming && got.Rule != index.ByMargin {
			continue
		}
		of, err := x.Item(ctx, got.Of)
		testbed.OK(t, err)
		if d := simhash.Distance(article.Print.Fingerprint, print(of.Title, *of.Body)); d == *got.Distance {
			measured++
		}
	}
	return measured
}

// bulletins fills a directory with n articles.
func (a *archive) bulletins(n int) {
	a.t.Helper()
	lines := make([][]byte, n)
	for i := range lines {
		lines[i] = article(i)
	}
	a.run("ingest", "--create", "--durability", "relaxed", fileOf(a.t, lines...))
	testbed.OK(a.t, os.RemoveAll(filepath.Join(a.dir, "bus")))
}

const overlayRows = `SELECT place & 0xffffffff, exact, fingerprint, sketch FROM overlay ORDER BY 1`
