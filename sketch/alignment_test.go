package sketch

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var alignable = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"台", "风", "今", "晨", "登", "陆", "的", "的", "\n", "18人", "20人", "3.5%", " ", "8月9日", "全市转移群众", "天气晴朗适合出行游玩", "第三次会议",
	}), 0, 60).Draw(t, "parts"), "")
})

// TestAlignInvariants: matches are equal, in order and without overlap; what is covered is in the other text; the
// alignment of a text with itself covers it; facts in pairs stand where they say.
func TestAlignInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := alignable.Draw(t, "later"), alignable.Draw(t, "earlier")
		x := Align(Input{Body: a}, Input{Body: b})
		checkAlignment(t, x)
		if n := len(x.Later.Tokens); n > 0 {
			if own := Align(Input{Body: a}, Input{Body: a}); own.Later.Covered != 1 || own.Later.OwnTokens > 0 {
				t.Fatalf("itself: %+v", own)
			}
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

func checkAlignment(t fataler, x *Alignment) {
	last := [2]int{}
	used := map[int]bool{}
	for _, m := range x.Matches {
		if m.Later < last[0] || !m.Moved && m.Earlier < last[1] || m.N < 1 || m.Moved && m.N < movedLeast {
			t.Fatalf("match %+v after %v", m, last)
		}
		last[0] = m.Later + m.N
		if !m.Moved {
			last[1] = m.Earlier + m.N
		}
		for k := range m.N {
			if used[m.Earlier+k] {
				t.Fatalf("token %d of the earlier text in two matches", m.Earlier+k)
			}
			used[m.Earlier+k] = true
		}
		from, to := x.Later.Tokens[m.Later].Start, x.Later.Tokens[m.Later+m.N-1].End
		for k := range m.N {
			p, q := x.Later.Tokens[m.Later+k], x.Earlier.Tokens[m.Earlier+k]
			s, o := x.Later.Text[p.Start:p.End], x.Earlier.Text[q.Start:q.End]
			if s != o && readToken(s, 0).hash != readToken(o, 0).hash && !strings.ContainsAny(s+o, "0123456789一二三四五六七八九十") {
				t.Fatalf("%q is matched with %q in %q", s, o, x.Later.Text[from:to])
			}
		}
	}
	for _, p := range x.Pairs {
		if p.Later == nil && p.Earlier == nil || p.Conflict && (p.Later == nil || p.Earlier == nil) {
			t.Fatalf("facts %+v", p)
		}
		if p.Conflict && p.Later.Kind != FactName && p.Later.Equal(p.Earlier) {
			t.Fatalf("equal facts in conflict: %q", x.Later.Text[p.Later.Start:p.Later.End])
		}
	}
}

// TestAlignAgainstBruteForce: of short texts without long repeats, what is in order covers as much as the longest
// common subsequence of runs allows: at least nine tenths of it.
func TestAlignAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clauses := []string{"台风今晨登陆海岸", "全市转移群众完毕", "学校今日停课一天", "渔船全部回港避风", "高速公路封闭管理", "供电部门加班抢修"}
		pick := rapid.SliceOfNDistinct(rapid.IntRange(0, len(clauses)-1), 1, -1, rapid.ID[int])
		join := func(order []int) string {
			var s []string
			for _, i := range order {
				s = append(s, clauses[i])
			}
			return strings.Join(s, "\n")
		}
		p, q := pick.Draw(t, "later"), pick.Draw(t, "earlier")
		x := Align(Input{Body: join(p)}, Input{Body: join(q)})
		inOrder := 0
		for _, m := range x.Matches {
			if !m.Moved {
				inOrder += m.N
			}
		}
		if best := 8 * common(p, q); inOrder < best {
			t.Fatalf("%d tokens in order, %d are possible", inOrder, best)
		}
		covered := 0
		for _, i := range p {
			if slices.Contains(q, i) {
				covered++
			}
		}
		if want := float32(covered) / float32(len(p)); x.Later.Covered > want+.35 {
			t.Fatalf("covered %v, %v is shared", x.Later.Covered, want)
		}
	})
}

// common is the length of the longest common subsequence, by trying all.
func common(p, q []int) int {
	if len(p) == 0 || len(q) == 0 {
		return 0
	}
	best := max(common(p[1:], q), common(p, q[1:]))
	if p[0] == q[0] {
		best = max(best, 1+common(p[1:], q[1:]))
	}
	return best
}

func FuzzAlign(f *testing.F) {
	f.Add("台风今晨登陆\n18人", "台风昨夜登陆\n20人")
	f.Fuzz(func(t *testing.T, a, b string) { checkAlignment(t, Align(Input{Body: a}, Input{Body: b})) })
}

// TestAlignHostile: texts of 512 KiB that repeat themselves are aligned in bounded work.
func TestAlignHostile(t *testing.T) {
	for _, part := range []string{"的", "的一", "3人\n", "台风今晨登陆海岸\n18人\n"} {
		a, b := strings.Repeat(part, 512<<10/len(part)), "甲"+strings.Repeat(part, 256<<10/len(part))+"乙"
		if x := Align(Input{Body: a}, Input{Body: b}); len(x.Matches) == 0 {
			t.Errorf("%q: no match", part)
		}
	}
}

// TestFactsAreFacts: what is a fact, with its unit, and what is none.
func TestFactsAreFacts(t *testing.T) {
	for text, want := range map[string][]string{
		"全长350公里\n降雨100毫米\n库容21.4亿立方米\n持续24小时":                {"350公里", "100毫米", "21.4亿立方米", "24小时"},
		"2022成都大运会和三成八的人":                                     {"2022", "三成"},
		"一万两千人和1.2万人":                                         {"一万两千人", "1.2万人"},
		"占3/4\n涨幅50%":                                         {"3/4", "50%"},
		"2023年8月9日上午10时30分\n10日20时\n上周五":                      {"2023年8月9日上午10时30分", "10日20时"},
		"一时间一视同仁\n三令五申\n第一时间\n万一\n十分":                         nil,
		"比分3:1\n电话010-85202353\n股票600001":                     {"3:1", "010-85202353", "600001"},
		"甲队2比0获胜\n次回合1比1战平":                                   {"2比0", "1比1"},
		"凌晨2点33分\n下午2时33分":                                    {"2点33分", "2时33分"},
		"见https\nh\ncom\nvh5\nid\n12947534\n共301人":            {"301人"},
		"规模2500亿美元\n约合人民币1.82万亿元\n另有约50亿元":                    {"2500亿美元", "50亿元"},
		"两例\n三人受伤\n第三次\n第十八届":                                 {"两例", "三人", "第三次", "第十八届"},
		"警力50余名\n涉资11余亿元\n产品60余万":                             {"50余名", "11余亿元", "60余万"},
		"共1亿2000万元\n3万5千人\n1万亿2000亿":                          {"1亿2000万元", "3万5千人", "1万亿2000亿"},
		"共2亿零100万新元\n2万3000万":                                 {"2亿零100万新元", "2万", "3000万"},
		"苏制安-124和米-17\n电话010-85202353":                        {"010-85202353"},
		"3000元至1万元\n100至130毫米\n3人至5米\n10日至12日":                {"3000元至1万元", "100至130毫米", "3人", "5米", "10日", "12日"},
		"发电4.0万亿千瓦时\n下调38个基点\n固件8.0.15.32":                    {"4.0万亿千瓦时", "38个基点", "8.0.15.32"},
		"利率5.25%-5.50%\n风速40-48米\n秒\n3号线\n20个交易日":             {"5.25%-5.50%", "40-48米\n秒", "3号线", "20个交易日"},
		"2026年第一季度占60-65%\n2023-08-15\n13:40:22发布\n2023.8.16": {"2026年第一季度", "60-65%", "2023-08-15", "2023.8.16"},
		"每小时10到15公里\n30厘米到80厘米\n跌\n-0.62":                     {"10到15公里", "30厘米到80厘米", "-0.62"},
		"从7.2258升值至7.1305\n600单位\n2022成都\n72.38亿2023-07-27":   {"7.2258", "7.1305", "600", "2022", "72.38亿", "2023-07-27"},
		"约合1.8亿新元\n亮度8000nits\n约1.86万亿新元":                     {"8000nits", "1.86万亿新元"},
		"1月20号下午6点多\n20号楼\n开了5个多小时":                           {"1月20号下午6点", "20号", "5个多小时"},
		"2月8日0-24时\n12-24时\n3-5级":                             {"2月8日0-24时", "12-24时", "3-5级"},
		"党的二十大以来\n十二东路\n三十万人\n十五种\n两百斤":                       {"三十万人", "十五种", "两百斤"},
		"近日要览1.7月三大案例\n末班18:00/19:30965路\n98:102":             {"18:00", "19:30", "98:102"},
		"俩人都是90后\n20余载过去\n5后来\n3载人飞船\n覆盖12市\n代码300750市值":      {"90后", "20余载", "12市", "300750"},
		"全程2小时15分\n刑期11年6个月\n成绩2分05秒48":                       {"2小时15分", "11年6个月", "2分05秒48"},
		"邮箱jimu\n163\ncom\n安\n124\n股票\n000593\n8.8\n":         {"000593", "8.8"},
	} {
		var s side
		s.read(&Input{Body: text})
		var got []string
		for _, f := range s.appendFacts(nil, s.tokens) {
			got = append(got, s.text[f.Start:f.End])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	x := Align(Input{Body: "受灾的村民有1.2万人\n他们都已经转移到安置点"}, Input{Body: "受灾的村民有一万两千人\n他们都已经转移到安置点"})
	if len(x.Pairs) != 1 || x.Pairs[0].Conflict || x.Pairs[0].Later == nil || x.Pairs[0].Earlier == nil {
		t.Errorf("1.2万人 and 一万两千人: %+v", x.Pairs)
	}
	x = Align(Input{Body: "督促机关查处了60余万件产品\n他们都已经转移到安置点"}, Input{Body: "督促机关查处了60万余件产品\n他们都已经转移到安置点"})
	if len(x.Pairs) != 1 || x.Pairs[0].Conflict || x.Pairs[0].Later == nil || x.Pairs[0].Earlier == nil {
		t.Errorf("60余万件 and 60万余件: %+v", x.Pairs)
	}
	x = Align(Input{Body: "督促机关查处了60件产品\n事故造成1人受伤"}, Input{Body: "事故造成一人受伤"})
	if f := x.Comparison.Facts; f.OnlyA != 1 || f.NumbersShared != 1 {
		t.Errorf("1人 and 一人: %+v", f)
	}
	for _, pair := range [][2]string{{"利率5.25%-5.50%", "利率5.25-5.50%"}, {"8月25日下午5时", "25日17时"}, {"下午2:30开会", "14:30开会"}, {"2023-08-15", "8月15日"}, {"2026年第一季度", "2026年一季度"}, {"过去10年里", "过去十年里"}, {"上世纪50到90年代", "上世纪50年代到90年代"}, {"最快57分可达", "最快57分钟可达"}, {"雨强50毫米\n小时至70毫米\n小时", "雨强50-70毫米\n小时"}, {"7个机场", "七个机场"}, {"30日16-17时", "7月30日16时"}, {"2月8日0-24时", "2月8日24时"}, {"2款新车", "两款新车"}, {"有18405人", "有1.8万人"}, {"水果捞2斤半", "水果捞2.5斤"}, {"震源深度10千米", "震源深度10公里"}, {"装机1300万千瓦", "装机0.13亿千瓦"}, {"最高气温35度", "最高气温35c"}, {"上世纪90年代", "1990年代"}, {"大米5公斤", "大米五公斤"}} {
		if f := Align(Input{Body: pair[0]}, Input{Body: pair[1]}).Comparison.Facts; f.OnlyA != 0 || f.NumbersShared != 1 {
			t.Errorf("%q: %+v", pair, f)
		}
	}
	x = Align(Input{Body: "26日8时台风的中心位于海面上"}, Input{Body: "台风的中心今天\n26日\n上午8点钟位于海面上"})
	if len(x.Pairs) != 1 || x.Pairs[0].Earlier == nil || x.Pairs[0].Later.Finer(x.Pairs[0].Earlier) {
		t.Errorf("a time whose day and hour stand apart: %+v", x.Pairs)
	}
	if f := Align(Input{Body: "共有17.16亿元"}, Input{Body: "共有18亿元"}).Comparison.Facts; f.OnlyA != 1 {
		t.Errorf("17.16亿元 and 18亿元: %+v", f)
	}
	for _, pair := range [][2]string{{"7月26日开会", "7月27日20时开会"}, {"今天23时开会", "今天26日8时开会"}, {"8月12日\n8月12日6时发布", "8月12日\n8月12日8时发布"}} {
		if f := Align(Input{Body: pair[0]}, Input{Body: pair[1]}).Comparison.Facts; f.OtherSlot != 1 {
			t.Errorf("%q: one of the times says more, and they are not the same: %+v", pair, f)
		}
	}
	const body = "\n市卫生部门召开人才工作会议\n传达全省会议精神\n解读高层次人才引进和培养管理办法\n安排部署今后一个时期的重点任务\n各区县和直属单位的负责人到会并作了交流\n会议由分管的副主任主持"
	x = Align(Input{Body: "7月25日" + body}, Input{Body: "本报记者徐玲济南报道7月25日" + body})
	if len(x.Pairs) != 1 || x.Pairs[0].Later == nil || x.Pairs[0].Earlier == nil {
		t.Errorf("a date that stands in the dateline of the earlier text: %+v", x.Pairs)
	}
}

// What stands at one place is in conflict where it is another value, though no figure; and what is written in another way is not.
func TestPlaces(t *testing.T) {
	const rest = "\n预计未来六小时市区将出现短时强降水\n请注意防范城市内涝和地质灾害\n低洼地段的居民应当尽快转移\n驾车请绕行积水路段"
	for _, c := range [][4]string{
		{"市气象台发布暴雨蓝色预警信号", "市气象台发布暴雨黄色预警信号", "蓝色", "黄色"},
		{"昨日的各项指数普遍跌0.04%", "昨日的各项指数普遍涨0.04%", "跌0.04%", "涨0.04%"},
		{"欧洲主要股票指数今日集体上涨", "欧洲主要股票指数今日集体下跌", "上涨", "下跌"},
		{"流域内有六个蓄滞洪区正在分洪", "流域内有五个蓄滞洪区正在分洪", "六个", "五个"},
		{"水位表一栏注\n二", "水位表一栏注\n三"},
		{"网格员林丽红在对一条街道开展巡查时发现", "网格员林某在对一条街道开展巡查时发现"},
		{"网格员林丽红在对一条街道开展巡查时发现", "网格员陈大力在对一条街道开展巡查时发现", "林丽红", "陈大力"},
		{"有意参加活动的市民可到现场报名\n本报记者王小明", "有意参加活动的市民可到现场报名\n本报记者张大力"},
	} {
		x := Align(Input{Body: c[0] + rest, Names: []string{"王小明", "林丽红"}}, Input{Body: c[1] + rest, Names: []string{"张大力", "林某", "陈大力"}})
		var later, earlier string
		for _, p := range x.Pairs {
			if p.Conflict {
				later, earlier = later+x.Later.Text[p.Later.Start:p.Later.End], earlier+x.Earlier.Text[p.Earlier.Start:p.Earlier.End]
			}
		}
		if later != c[2] || earlier != c[3] {
			t.Errorf("%q: in conflict: %q, %q", c, later, earlier)
		}
	}
}

// A headline that only one of two texts begins with, and credits, are no part of what is covered.
func TestCovered(t *testing.T) {
	body := clauses(60, 0)
	for _, c := range [][2]string{
		{"多地应急队伍驰援受灾地区七十四个社区恢复通路\n" + body, ""},
		{body + "应急发电车\n本报记者摄\n" + clauses(20, 60), clauses(20, 60)},
	} {
		x := Align(Input{Body: c[0]}, Input{Body: body + c[1]})
		if x.Later.Covered < .99 {
			t.Errorf("%.3f of %q is covered", x.Later.Covered, c[0])
		}
	}
	if x := Align(Input{Title: "供电", Body: "多地应急队伍驰援受灾地区七十四个社区恢复通路\n" + body}, Input{Body: body}); x.Later.Covered > .98 || x.Later.Head != 0 {
		t.Errorf("behind a headline: %.3f is covered, %d tokens are another one", x.Later.Covered, x.Later.Head)
	}
}

// TestAdds: how often a text says figures that the earlier one has not, or has of something else; and of new names, those
// of bodies and persons are none.
func TestAdds(t *testing.T) {
	earlier := clauses(20, 0) + "年包499元\n" + clauses(8, 20)
	for added, want := range map[string]int{
		"":                    0,
		"到手价530元\n":           1,
		"到手价530元\n再说一次530元\n": 2,
		"到手价499元\n":           1,
		"年包499元\n":            0,
		"到手价2500美元\n当前约1.8万元人民币\n": 1,
	} {
		if f := Align(Input{Body: added + earlier}, Input{Body: earlier}).Facts; f.Adds != want {
			t.Errorf("%q: adds %d figures, want %d", added, f.Adds, want)
		}
	}
	names := []string{"铁岭市", "财政部", "张学友", "新华社", "超导体"}
	if f := Align(Input{Body: earlier + strings.Join(names, "\n"), Names: names}, Input{Body: earlier}).Facts; f.NamesA != 1 {
		t.Errorf("%d of %q are new names, want one", f.NamesA, names)
	}
}
