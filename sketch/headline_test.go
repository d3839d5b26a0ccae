package sketch

import (
	"strings"
	"testing"
)

func TestUntold(t *testing.T) {
	intro := "这是一档会员专享节目\n内容来自办公室日常生活和工作中的一些短小记录\n每期时长十几分钟\n欢迎订阅收听"
	for _, c := range []struct {
		what                 string
		body, title, earlier string
		untold               bool
	}{
		{"two programmes with one introduction", intro, "聊聊恐怖片与深夜食堂", "年度最好玩的推理游戏", true},
		{"one programme, published twice", intro, "聊聊恐怖片与深夜食堂", "聊聊恐怖片与深夜食堂（重播）", false},
		{"a flash with another headline", "央行今日开展千亿元逆回购操作\n利率维持不变", "央行开展千亿元逆回购", "利率维持不变！央行今日操作来了", false},
		{"no headline", intro, "", "年度最好玩的推理游戏", false},
		{"a whole article", strings.Repeat(intro, 10), "聊聊恐怖片与深夜食堂", "年度最好玩的推理游戏", false},
	} {
		in := Input{Title: c.title, Body: c.body}
		if got := Untold(&in, c.title, c.earlier); got != c.untold {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
