package segment

import (
	"strings"
	"testing"
)

func TestResidueIsTaken(t *testing.T) {
	// Long enough that no pattern takes too much of it.
	const text = "青禾河治理办公室今天发布年度报告，全河十二个断面水质达标。\n沿岸三十一个乡镇参加了评比，柳桥村名列第一。"
	want := analyze("", text).Exact
	for _, c := range []string{
		"原标题：" + text,
		"来源：青禾日报\n" + text,
		"央视网消息（新闻联播）：" + text,
		text + "\n责任编辑：王小明",
		text + "（责任编辑：王小明 CN012）",
		text + "返回搜狐，查看更多责任编辑：",
		text + "【编辑:王小明】",
		text + "\n编辑 王小明\n校对 李大明",
		text + "\n（记者王小明）",
		text + "\n本报记者 王小明",
		text + "（完）",
		text + "\n（来源：青禾日报）分享让更多人看到",
		text + "\n更多精彩内容请进入社会频道",
		text + "\n版权声明：本文版权归青禾日报所有，未经授权，不得转载！",
		text + "\n免责声明：以上内容仅供读者参考；据此操作风险自担。",
		text + "\n以上内容仅为作者观点，不构成任何投资建议。",
		text + "\n长按识别二维码，关注我们\n阅读原文",
		"广告声明：文中链接用于传递信息。" + text,
		strings.Replace(text, "沿岸", "广告 他只是个小司机，伺候的却是富太太，一步步平步青云！ ×\u00a0沿岸", 1),
		strings.Replace(text, "沿岸", "广告 [新版]证券软件下载 [2023正版] ×广告 找工作-最新招聘信息 ×沿岸", 1),
		"責任編輯：王小明\n" + text,
		"責 任 編 輯：王小明\n" + text,
	} {
		if x := analyze("", c); x.Exact != want {
			t.Errorf("%q: residue remains: %q", c, x.Body)
		}
	}
	if x := analyze("", "记者 王小明 摄广告 网站排名规则是怎么样的? ×"+text); strings.Contains(x.Body, "排名规则") {
		t.Errorf("an advertisement behind a credit remains: %q", x.Body)
	}
}

func TestResidueSparesText(t *testing.T) {
	for _, body := range []string{
		"编辑部的工作人员告诉记者，来源不明的食品不要购买。责任编辑制度由此而来。",
		"记者从青禾河治理办公室获悉，水质已经达标。记者看到白鹭回来了，河边的人也多了。这一变化来之不易，值得珍惜和学习。",
		"他说，关注公众健康是每个人的责任，更多的人应当参与进来。",
		"广告收入增长了三成，公司计划明年投放更多的户外广告。广告位的价格也在上涨，" + strings.Repeat("专家提醒经营者注意风险，", 9) + "样本为3×5张。",
		"这家公司的收益来源：一是门票，二是餐饮，三是广告。",
	} {
		x := analyze("", body)
		if got := strings.ReplaceAll(x.Body, "\n", ""); got != strings.ReplaceAll(shipped().current.Load().normal(body), "\n", "") {
			t.Errorf("%q: only %q remains", body, x.Body)
		}
	}
}

// TestEndsOfAPage: behind the last full stop an article ends with its credits, and a dateline begins it.
func TestEndsOfAPage(t *testing.T) {
	const text = "青禾河治理办公室今天发布年度报告，全河十二个断面水质达标。沿岸三十一个乡镇参加了评比，柳桥村名列第一。"
	const list = "来源丨青禾发布 柳桥村的米粉火了！ 河边修起3公里步道 这条鱼卖出10万元？点击在看"
	want := analyze("", text).Body
	for _, c := range []struct{ what, body string }{
		{"headlines behind the credits", text + list},
		{"lines of a page", text + "\n" + strings.ReplaceAll(list, " ", "\n")},
		{"an advert that a cross closes at the very end", text + "广告 小镇青年的十年，从一碗面开始！ ×"},
		{"a notice of rights behind the credits", text + list + "\n免责声明：以上内容仅供参考。"},
		{"a headline before the dateline", "年度报告出炉 柳桥村得了第一新华社青禾8月9日电 " + text},
		{"a caption before the dateline", "八月的青禾河边，孩子们在看鱼。新华社记者王小明摄 新华社青禾8月9日电 " + text},
	} {
		if got := analyze("", c.body).Body; got != want {
			t.Errorf("%s: %q remains", c.what, got)
		}
	}
	for _, c := range []struct{ what, body, kept string }{
		{"a table before the credits", "今晚开奖，号码如下。\n红球 03 08 12\n蓝球 09\n来源：青禾发布", "红球03 08 12\n蓝球09"},
		{"a table longer than what stands before the credits", "今晚开奖。来源：青禾发布\n红球 03 08 12 19\n蓝球 09", "蓝球09"},
		{"winners, without a full stop", "青禾河评比结果\n来源：青禾发布\n一等奖 柳桥村\n二等奖 梨花村", "二等奖梨花村"},
		{"one appeal with a figure", text + "目前已有5人获救！来源：青禾发布", "目前已有5人获救"},
		{"prose without a full stop", text + "来源丨青禾发布 " + strings.Repeat("河边的人越来越多孩子们在水里玩", 4), "孩子们在水里玩"},
		{"a sentence about a source", text + "编辑部说，来源不明的水不要喝。", "来源不明的水不要喝"},
	} {
		if got := analyze("", c.body).Body; !strings.Contains(got, c.kept) {
			t.Errorf("%s: only %q remains", c.what, got)
		}
	}
}

// TestSiteOfHeadline: behind a headline a page puts the name of its site, with or without a line between Han characters.
func TestSiteOfHeadline(t *testing.T) {
	const text = "青禾河治理办公室今天发布年度报告。沿岸三十一个乡镇参加了评比，柳桥村名列第一。"
	for _, title := range []string{"年度报告出炉_青禾新闻", "年度报告出炉 | 青禾新闻", "年度报告出炉--青禾新闻"} {
		x := analyze(title, "年度报告出炉\n"+text)
		if x.Title != "年度报告出炉\n青禾新闻" || x.Body != analyze("", text).Body {
			t.Errorf("%q: %q, %q", title, x.Title, x.Body)
		}
	}
	for _, c := range [][2]string{{"年度报告出炉：柳桥第一", "年度报告出炉之后"}, {"set_value 的用法说明书", "set_value 的用法"}} {
		if x := analyze(c[0], c[1]+text); x.Body != analyze("", c[1]+text).Body {
			t.Errorf("%q: %q", c[0], x.Body)
		}
	}
	if x := analyze("set_value 的用法", text); x.Title != "set value的用法" {
		t.Errorf("%q", x.Title)
	}
}

// TestPage: what the HTML of a page puts around an article: its time and source, navigation, headlines of other articles
// (lines of links, however they are broken), its rights. A link within a sentence stays, and so does a digest of links.
func TestPage(t *testing.T) {
	const text = "青禾河治理办公室今天发布年度报告，全河十二个断面水质达标，沿岸新增步道三公里。沿岸三十一个乡镇参加了评比，柳桥村名列第一。"
	want := analyze("", text).Body
	for _, body := range []string{
		"<div><span>2023年08月19日 09:35</span> <span>来源：青禾网</span></div><p>" + text,
		"<div>2023-08-19 09:35:12 来源：青禾网</div><p>" + text,
		"<nav><a href=/>首页</a> | <a href=/t>时政</a> | <a href=/w>国际</a></nav><p>" + text,
		"<p>" + text + "<div><a href=1>米粉火了</a><br><a href=2>1,600人看鱼</a></div>",
		"<p>青禾河治理办公室今天发布年度报告，全河十二个断面水质达标，沿岸新增步道三公里。</p><p>另见：<a href=1>米粉火了，1,600人排队</a></p><p>沿岸三十一个乡镇参加了评比，柳桥村名列第一。",
		"<p>" + text + "<footer>版权所有 青禾网 京ICP备00000000号 举报电话：010-00000000</footer>",
	} {
		if got := analyze("", body).Body; got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
	for _, body := range []string{
		"<p>青禾河<a href=1>治理办公室</a>今天发布年度报告，全河十二个断面水质达标，沿岸新增步道三公里。沿岸三十一个乡镇参加了评比，<a href=2>柳桥村</a>名列第一。",
		"<p>青禾河治理办公室今天发布年度报告，全河十二个断面水质达标，沿岸新增步道三公里。<p><a href=2>沿岸三十一个乡镇参加了评比，柳桥村名列第一。</a>",
	} {
		if got := analyze("", body).Body; got != want {
			t.Errorf("%q: only %q remains", body, got)
		}
	}
}

// However much the patterns match, a third of the text remains.
func TestResidueHasALimit(t *testing.T) {
	for _, body := range []string{"责任编辑：王小明", "版权声明：本报所有稿件未经授权不得转载", "短讯。\n免责声明：" + strings.Repeat("以上内容仅供参考，", 20)} {
		x := analyze("", body)
		if x.Body != shipped().current.Load().normal(body) {
			t.Errorf("%q: only %q remains", body, x.Body)
		}
	}
}

func TestResidueList(t *testing.T) {
	s := shipped()
	for _, line := range []string{"责任编辑", "any", "any {3}编辑", "any ^{0}编辑", "any ^{100}编辑", "any ^{x}编辑", "any ^{3编辑", "any 编辑{5-3}", "any 编辑{-3}", "any 编辑{a-b}", "head 编辑", "head0 编辑",
		"tail1000 编辑", "last 编辑", "body 编辑", "any 编", "any 编辑{3", "any 编.辑", "any $", "any ...", "any ^$"} {
		var r residue
		if err := r.add("# list\n"+line+"\n", s.current.Load().normal); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%q: error %v, want one that names line 2", line, err)
		}
	}
	var r residue
	if err := r.add("any 甲乙{2}丙\nany ^{2}丁戊$\ntail3 己\nhead2 庚\nany ＡＢ，ｃ...\n", s.current.Load().normal); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, want string }{
		{"一二甲乙三四丙五六", "一二\n五六"},
		{"一二甲乙三四五丙六", "一二甲乙三四五丙六"},
		{"一甲乙，三丙二三四五", "一甲乙\n三丙二三四五"},
		{"一二三四，五六丁戊，七八", "一二三四\n七八"},
		{"一二三四，五六七丁戊，八", "一二三四\n五六七丁戊\n八"},
		{"一二三四，五丁戊六，七八", "一二三四\n五丁戊六\n七八"},
		{"己一二三四五六己七", "己一二三四五六\n七"},
		{"一庚二三四五六庚七", "一\n二三四五六庚七"},
		{"一二三四五六七八，abx，c，e。九", "一二三四五六七八\nabx\nc\ne\n九"},
		{"一二三四五六七八，ab。C，d，e。九", "一二三四五六七八\n九"},
	} {
		n := normalizer{folds: s.current.Load().folds}
		n.feedText(c.in)
		body := n.finish()
		body = remove(body, r.find(body, n.breaks, nil, s.current.Load().folds))
		if string(body) != c.want {
			t.Errorf("%q: %q remains, want %q", c.in, body, c.want)
		}
	}
}
