package index

import (
	"fmt"
	"testing"
	"time"

	"jianguo/compare"
	"jianguo/index/indextest"
	"jianguo/internal/testbed"
)

// A feed gives the same introduction to every article. None is rejected because of another; what
// has the same headline, too, is a copy.
func TestHeadlines(t *testing.T) {
	x := openTexts(t, t.TempDir(), 0)
	intro := "这是一档会员专享节目\n内容来自办公室日常生活和工作中的一些短小记录"
	for seq, c := range []struct{ title, body, want string }{
		{"聊聊恐怖片与深夜食堂", intro, "unique  "},
		{"年度最好玩的推理游戏", intro, "suspect exact n1"},
		{"年度最好玩的推理游戏", intro, "duplicate exact n2"},
		{"聊聊恐怖片与深夜食堂", intro, "duplicate exact n1"},
		{"会员专享节目：短小记录", intro, "duplicate exact n1"},
		{"", intro, "duplicate exact n1"},
	} {
		a := indextest.ArticleOf(fmt.Sprint("n", seq+1), c.body)
		a.Title, a.Text.Title = c.title, c.title
		a.Sketch = compare.NewSketch(&a.Text)
		out := put(t, x, Mutation{Seq: uint64(seq + 1), At: indextest.Start.Add(time.Duration(seq) * time.Minute), Article: a})
		e := out[0].Event
		if got := fmt.Sprintf("%s %s %s", e.Verdict, e.Rule, e.Of); got != c.want {
			t.Errorf("n%d is %s, want %s: %s", seq+1, got, c.want, e.Why)
		}
	}
	mustVerify(t, x)
	testbed.OK(t, x.Close())
}
