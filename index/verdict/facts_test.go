package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"jianguo/internal/tier"
	"jianguo/sketch"
)

// TestConflicts: what the headlines are about and what both of them say is named first, then one conflict of each kind; a value
// that is said again comes last, and a name and a part of it are one.
func TestConflicts(t *testing.T) {
	text := func(bank, day, fine, people string) sketch.Input {
		return sketch.Input{
			Title: bank + "被罚" + fine,
			Body: fmt.Sprintf("金融监管部门网站%s公布的处罚信息公开表显示\n%s因贷款管理严重不尽职被罚款%s\n同日另有%s被警告\n%s该行尚未回应\n罚款%s已经缴纳",
				day, bank, fine, people, day, fine),
		}
	}
	x := sketch.Align(text("青禾银行", "8月3日", "40万元", "9人"), text("海岬农村商业银行", "8月4日", "30.5万元", "8人"))
	f := Compared(&sketch.Judgement{Kind: sketch.Series}, x)
	want := []string{"青禾银行 / 海岬农村商业银行", "40万元 / 30.5万元", "8月3日 / 8月4日", "9人 / 8人"}
	if !slices.Equal(f.Conflict, want) || f.Conflicts != 4 {
		t.Errorf("%d conflicts, %q, want %q", f.Conflicts, f.Conflict, want)
	}
}

func TestSubjects(t *testing.T) {
	for _, c := range [][4]string{
		{"北方华创\n上半年净利润27.81亿元", "国药股份\n上半年净利润同比增长1.62%", "北方华创", "国药股份"},
		{"视源电子科技向港交所提交上市申请书", "美格智能向港交所提交上市申请", "视源电子科技", "美格智能"},
		{"澜起科技股份有限公司向港交所提交申请", "上海林清轩生物科技股份有限公司向港交所提交申请", "澜起科技股份有限公司", "上海林清轩生物科技股份有限公司"},
		{"7月25日基金净值\n建信多因子最新净值1.2", "7月24日基金净值\n景顺长城环保优势最新净值2.9", "建信多因子", "景顺长城环保优势"},
		{"浙江祥源文旅临时股东大会决议公告", "浙江六和文旅临时股东大会决议公告", "浙江祥源", "浙江六和"},
		{"日经225指数开盘涨0.6%", "日经225指数开盘涨0.9%", "", ""},
		{"青禾市发布暴雨预警", "青禾市发布暴雨预警", "", ""},
		{"", "青禾市发布暴雨预警", "", ""},
	} {
		found := subjects(&sketch.Alignment{Later: sketch.Aligned{Title: c[0]}, Earlier: sketch.Aligned{Text: c[1] + "\n" + c[3]}})
		if len(found) != min(1, len(c[2])) || found != nil && found[0] != [2]string{c[2], c[3]} {
			t.Errorf("%q, %q: %q", c[0], c[1], found)
		}
	}
}

// Without headlines, what two texts of one form are about stands before the same words in both, again and again.
func TestSubjectsOfTexts(t *testing.T) {
	notice := func(office, name string) sketch.Input {
		return sketch.Input{Body: "日前\n经批准\n纪委监委对" + office + name + "严重违纪违法问题进行了立案审查调查\n经查\n" + name +
			"丧失理想信念\n背弃初心使命\n对抗组织审查\n" + name + "严重违反党的政治纪律和组织纪律\n应予严肃处理"}
	}
	later, earlier := notice("青禾市粮食集团副总经理", "龙澎"), notice("禾州市政协原主席", "汲斌昌")
	if found := subjects(sketch.Align(later, earlier)); !slices.Equal(found, [][2]string{{"龙澎", "汲斌昌"}}) {
		t.Errorf("%q", found)
	}
	later.Title, earlier.Title = "青禾市政协原主席龙澎严重违纪违法被开除党籍", "禾州市政协原主席汲斌昌严重违纪违法被开除党籍"
	if found := subjects(sketch.Align(later, earlier)); !slices.Equal(found, [][2]string{{"青禾市", "禾州市"}, {"龙澎", "汲斌昌"}}) {
		t.Errorf("%q", found)
	}
	report := func(place, cases string) sketch.Input {
		return sketch.Input{Title: place + "新增" + cases, Body: "当日0-24时" + place + "省报告新增确诊病例" + cases + "\n均在定点医院隔离治疗\n病情平稳"}
	}
	if found := subjects(sketch.Align(report("甘肃", "2例"), report("河南", "72例"))); !slices.Equal(found, [][2]string{{"甘肃省", "河南省"}}) {
		t.Errorf("%q", found)
	}
	for _, c := range [][3]string{{"齐鲁", "齐鲁银行贷款\n对齐鲁银行罚款", "齐鲁银行"}, {"国中免", "由中国中免卖出\n中国中免买入", "中国中免"}, {"龙澎", "龙澎说", "龙澎说"},
		{"浙江银保监", "公布的浙江银保监局处罚\n依据浙江银保监局", "浙江银保监局"}, {"", "浙江", ""}, {"浙江", "", "浙江"},
		{"长安银行股份有限公司", "对长安银行股份有限公司榆林望湖路支行罚款\n长安银行股份有限公司榆林望湖路支行贷款", "长安银行股份有限公司"}} {
		if got := whole(c[0], c[1]); got != c[2] {
			t.Errorf("%q in %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// A text adds no price of today, no date of its dateline, and no headline of the earlier one.
func TestAddsNothing(t *testing.T) {
	const rest = "\n公司股票连续三个交易日收盘价涨幅偏离值累计超过两成\n属于异常波动\n公司目前经营情况正常\n不存在应披露而未披露的重大事项"
	later := sketch.Input{Body: "青禾电子宣布推出新款折叠屏手机\n新华社青禾7月21日电\n青禾电子\n37.370\n-0.25\n-0.66%" + rest}
	f := Compared(&sketch.Judgement{}, sketch.Align(later, sketch.Input{Title: "青禾电子宣布推出新款折叠屏手机", Body: "青禾电子" + rest}))
	if f.New.Facts != 0 || strings.Contains(f.New.Text, "折叠屏") {
		t.Errorf("%+v", f.New)
	}
}

// Characters are counted of what the other text has not, in another order neither, and without credits.
func TestLacking(t *testing.T) {
	const shared = "青禾市博物馆昨日开放新馆\n首日接待观众逾三千人\n馆长介绍新馆分为五个展厅\n"
	for added, want := range map[string]int{
		"排队最长的展厅需要等候两个小时以上":                17,
		"开放新馆昨日青禾市博物馆\n观众逾三千人接待观众首日\n馆长介绍": 0,
		"责任编辑王某\n排队最长的展厅需要等候两个小时以上\n审核李某":  17,
		"三千人": 0,
	} {
		x := sketch.Align(sketch.Input{Body: shared + added}, sketch.Input{Body: shared})
		if got := lacking(&x.Later); got != want {
			t.Errorf("%q: %d, want %d", added, got, want)
		}
	}
}

func TestBeginning(t *testing.T) {
	for text, want := range map[string]string{
		"京东小米\nmi\nredmi turbo 5天玑8500 ultra直达链接和领券的地方以及图片":   "京东小米，mi，redmi turbo 5天玑8500 ultra直达链接和领券的地方以及图片",
		"部队在东部边境的两个基地之间调动了坦克和装甲车以及上千名士兵参加了为期三周的代号为雪山的大规模军事演习": "部队在东部边境的两个基地之间调动了坦克和装甲车以及上千名士兵参加了为期三周的代号为雪山…",
		"主办方回应": "主办方回应",
		"应急管理部召开部党委会和部务会\n会议指出\n要突出抓好东北地区防汛工作\n加强水库和堤防的巡查防守力量\n转移受威胁群众": "应急管理部召开部党委会和部务会，会议指出，要突出抓好东北地区防汛工作…",
		"昨日上午本报记者一行来到位于城区东部的体育公园采访\n现场的工作人员对此介绍说\n这座公园将在国庆节前后向市民免费开放":   "昨日上午本报记者一行来到位于城区东部的体育公园采访…",
		"the council of state decided to suspend all international flights": "the council of state decided to suspend all…",
		"南转北风二三级\n最低气温27c\n相对湿度90%":                                         "南转北风二三级，最低气温27℃，相对湿度90%",
	} {
		if got := beginning(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What is quoted begins with a sentence that the earlier text has not, in other words neither, and that is no caption: the longest run of
// them. ¶ begins a sentence.
func TestQuotation(t *testing.T) {
	const shared = "青禾市博物馆昨日开放新馆\n首日接待观众逾三千人\n馆长介绍新馆分为五个展厅"
	for added, want := range map[string]string{
		"¶据青禾晚报报道\n昨天\n排队最长的展厅需要等候两个小时以上":                        "昨天，排队最长的展厅需要等候两个小时以上",
		"¶图为观众在青铜器展厅前排起长队等候入场的情景以及志愿者¶青禾晚报记者摄¶餐饮区下月营业¶菜单由本地厨师拟定": "餐饮区下月营业，菜单由本地厨师拟定",
		"¶首日接待观众逾三千人的新馆\n排队最长需要等候两个小时":                           "",
		"¶首日接待观众逾三千人的新馆¶停车场将在雨季之前扩建一倍并且增设充电桩":                    "停车场将在雨季之前扩建一倍并且增设充电桩",
		"¶id\n1855745652092841699\nwfr spider for pc":            "",
	} {
		later := sketch.Input{Body: shared, Sentences: []int32{0}}
		for _, sentence := range strings.Split(added, "¶")[1:] {
			later.Sentences = append(later.Sentences, int32(len(later.Body)+1))
			later.Body += "\n" + sentence
		}
		x := sketch.Align(later, sketch.Input{Body: shared})
		if got := quotation(&x.Later, true); got != want {
			t.Errorf("%q: %q, want %q", added, got, want)
		}
	}
}

// Of a text that is no duplicate clauses are quoted, if no whole sentence is new.
func TestQuotationOfClauses(t *testing.T) {
	const shared = "青禾市博物馆昨日开放新馆\n首日接待观众逾三千人"
	x := sketch.Align(sketch.Input{Body: shared + "\n首日排队最长需要等候两个小时以上", Sentences: []int32{0}}, sketch.Input{Body: shared})
	if got := quotation(&x.Later, false); got != "首日排队最长需要等候两个小时以上" {
		t.Errorf("%q", got)
	}
}

// Facts are shown as different where words around them are equal, whichever way a price went; a dateline's day is no day of another text.
func TestFramed(t *testing.T) {
	const rest = "\n青禾股份公告称公司目前生产经营情况正常\n不存在应披露而未披露的重大事项"
	for _, c := range [][3]string{
		{"指数午后震荡上涨1.2%", "指数午后震荡下跌3.4%", "上涨1.2% / 下跌3.4%"},
		{"罚款人民币330万元", "罚款人民币80万元", "330万元 / 80万元"},
		{"新华社青禾8月5日电\n据青禾民用航空局消息", "8月4日\n据青禾民用航空局消息", ""},
		{"公开表\n甲金罚决字6号\n对其罚款330万元", "公开表\n乙金罚决字5号\n对其罚款80万元", "330万元 / 80万元 6号 / 5号"},
	} {
		x := sketch.Align(sketch.Input{Body: c[0] + rest}, sketch.Input{Body: c[1] + rest})
		if f := Compared(&sketch.Judgement{}, x); strings.Join(f.Conflict, " ") != c[2] {
			t.Errorf("%q, %q: %q, want %q", c[0], c[1], f.Conflict, c[2])
		}
	}
}

func TestOpposed(t *testing.T) {
	for _, c := range [][4]string{
		{"指数跌", "指数上涨", "跌0.12%", "上涨0.09%"},
		{"净利润同比增长", "净利润同比下降", "增长0.12%", "下降0.09%"},
		{"指数跌", "指数下跌", "0.12%", "0.09%"},
		{"指数报", "指数涨", "0.12%", "0.09%"},
	} {
		if a, b := opposed("0.12%", "0.09%", c[0], c[1]); a != c[2] || b != c[3] {
			t.Errorf("%q, %q: %q, %q", c[0], c[1], a, b)
		}
	}
}

func TestElsewhere(t *testing.T) {
	s := &sketch.Aligned{Text: "13xxx777777号\n1992-2007进入分校任教\n今年以来\n上半年30岁\n2023年下半年\n交通代"}
	for fact, want := range map[string]bool{"777777": true, "2007年": true, "2023年": true, "2007年3月": false, "30人": false, "2023亩": false, "第2007期": false, "2007人": false} {
		if elsewhere(fact, s) != want {
			t.Errorf("%s: want %v", fact, want)
		}
	}
}

// Texts that are easy to be quadratic on: that their facts are compared within the time of a test is the test.
func TestBombs(t *testing.T) {
	size := tier.Count(1<<16, 1<<17, 1<<19) // bytes
	for _, unit := range []string{"1.", "1-", "12.5元\n股\n", "12.5\n-0.5\n-1.5%\n", "1月1日", "2023年一季度", "中国一二", "龙澎甲", "甲龙澎乙\n",
		"确诊病例12例", "2023-08-15\n", "8.0.15.32\n", "5到6到"} {
		for _, other := range []string{unit, "丙" + unit, unit + "丁戊己庚"} {
			x := sketch.Align(sketch.Input{Body: strings.Repeat(unit, size/len(unit))}, sketch.Input{Body: strings.Repeat(other, size/len(other))})
			Compared(&sketch.Judgement{Kind: sketch.Series}, x)
		}
	}
}
