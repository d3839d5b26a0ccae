package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"jianguo/index/maintain"
	"jianguo/internal/testbed"
)

// TestRejudgeWithRevisions: what the policy in force says otherwise, since a text has been revised, is no change of a
// policy; a change has the same revision before and after.
func TestRejudgeWithRevisions(t *testing.T) {
	t.Parallel()
	a := &archive{t: t, binary: binary(t), dir: filepath.Join(t.TempDir(), "data")}
	items := filepath.Join(t.TempDir(), "items")
	if err := os.WriteFile(items, []byte(`{"id":"a","body":"云崖市图书馆新馆周六上午正式开放，首日接待读者一万两千人，少儿区门口排起了长队。"}
{"id":"b","body":"云崖市图书馆新馆周六上午正式开放，首日接待读者一万两千人，少儿区门口排起了长队。"}
{"id":"a","body":"台风青鸾今晨在海岬市登陆，全市转移群众一万八千人，学校停课，渔船全部回港避风。","revision":2}
{"id":"c","body":"昨晚，台风青鸾今晨在海岬市登陆，全市转移群众一万八千人，学校停课了，渔船已全部回港避风。","revision":7}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	a.run("ingest", "--create", items)
	rejudge := func(args ...string) (r maintain.Report) {
		testbed.OK(t, json.Unmarshal([]byte(a.run("rejudge", append(args, "--json")...)), &r))
		return r
	}
	if r := rejudge(); r.Judged != 4 || r.Changed != 0 {
		t.Errorf("the policy in force changes %+v", r.Changes)
	}
	textbook := filepath.Join(t.TempDir(), "policy")
	testbed.OK(t, os.WriteFile(textbook, []byte(`{"rules":"hamming"}`), 0o644))
	r := rejudge("--policy", textbook)
	for _, c := range r.Changes {
		if c.Was.Revision != c.Now.Revision {
			t.Errorf("%s: revision %d, then %d", c.Now.ID, c.Was.Revision, c.Now.Revision)
		}
	}
	if len(r.Changes) == 0 {
		t.Error("nothing changes")
	}
}
