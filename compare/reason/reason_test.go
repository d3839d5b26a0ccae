package reason_test

import (
	"strings"
	"testing"
	"time"

	"jianguo/compare/reason"
	"jianguo/data"
	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/ingest"
	"jianguo/segment"
)

const report = "海岬市水务局昨日通报，青禾河堤防加固工程全部完工，沿线六个乡镇的排涝泵站同时投入运行，汛期值守人员已经到岗。" +
	"工程去年秋天开工，由省水利设计院设计，两岸新植的护坡草已经返青，行人可以从堤顶步道走到河口湿地公园。"

const lead = "工程总投资3.2亿元，其中省级财政承担七成，1.1万户居民年底之前用上改造后的供水管网。"

func notice(company, day, amount string) string {
	return company + day + "晚间公告，公司全资子公司与当地政府签署投资协议，拟投资" + amount +
		"建设新材料生产基地。本次投资不构成关联交易，也不构成重大资产重组，尚需股东大会审议通过。"
}

func close(day, price, change string) string {
	return "青禾控股" + day + "收盘" + change + "，截至当日收盘报" + price + "港元，换手率平稳，成交量与前一交易日相当。" +
		"青禾控股主要从事水利设备的制造和销售，产品销往沿海各省，公司在海岬市设有两座工厂，并在云崖市设有研发中心。"
}

func trade(company, price string) string {
	return "本月以来在沿海各地新建了多座工厂的" + company + "股票成交量与前一交易日大致相当。" + company + "报收于" + price +
		"港元，换手率平稳，分析人士认为短期之内走势仍以震荡为主，投资者应当注意控制仓位和风险。"
}

func quote(company, code, flow, price string) string {
	return "股票行情快报：" + company + "（" + code + "）8月2日主力资金净流出" + flow + "万元，截至8月2日收盘，" + company + "（" + code + "）报收于" + price +
		"元，换手率平稳，成交量与前一交易日大致相当，资金流向数据方面，分析人士认为短期之内走势仍以震荡为主，投资者应当注意控制仓位和风险。"
}

func fund(name, day string) string {
	return "截至" + day + "收盘" + name + "最新单位净值较前一个交易日小幅上涨，历史数据显示近一个月以来" + name +
		"累计收益率在同类产品当中位居前列，根据最近一期季报披露的资产配置" + name + "股票占净值的比例有所上升，债券比例略有下降。"
}

func unit(name, series, price string) string {
	return name + "混合" + series + "最新净值" + price + "，历史数据显示近一个月以来" + name + "的累计收益率在同类产品当中位居前列，" +
		"根据最近一期季报披露的资产配置，" + name + "股票占净值的比例有所上升，债券比例略有下降，基金经理管理时间已满三年。"
}

func market(fruit, price, tons string) string {
	return "青禾批发市场今日" + fruit + "到货量平稳，" + fruit + "每斤" + price + "元，较昨日持平。市场工作人员介绍，" + fruit +
		"主要来自本省沿河各县，全天成交" + tons + "吨，仓库里的存货可以供应到下个月中旬，各商户备货积极。"
}

func store(rice, flour, oil string) string {
	return "大米" + rice + "吨，面粉" + flour + "吨，食油" + oil + "吨，海岬市粮食局今日公布储备库轮换结果，" +
		"入库品种全部通过质量检验，各区县粮站将按计划向居民供应，价格保持稳定，市民不必集中购买。"
}

func loss(now, before string) string {
	return "归属于上市公司股东的扣除非经常性损益的净利润-" + now + "万元，上年同期为" + before + "万元，公司解释说，主要原材料的价格在上半年持续走低，" +
		"产品售价随之下调，而库存成本仍在高位，毛利因此转负，预计下半年有所好转。"
}

func flow(day, money string) string {
	return "沿海各省水利设备类上市公司每日行情快报之青禾控股" + day + "主力资金净流入" + money + "万元截至收盘各项指标平稳，" +
		"换手率与前一交易日大致相当，分析人士认为短期之内走势仍以震荡为主，投资者应当注意控制仓位和风险，不宜追涨杀跌。"
}

func cost(company, total string) string {
	return company + "披露上市公告书，" + company + "发行费用总额为" + total + "万元，其中保荐费和承销费占了大半，其余是审计费、律师费和信息" +
		"披露费，募集资金将用于扩建厂房和购置设备，项目建成之后产能将翻一番，公司提醒投资者注意风险。"
}

const zoo = "云崖市动物园昨日宣布，动物园新到两只长颈鹿，长颈鹿来自云崖市的友好城市，动物园为长颈鹿建成了一座新馆。"

const library = "图书馆昨日表示，图书馆收到一批珍贵古籍，古籍全部由海外捐赠者寄来，捐赠者希望图书馆向读者开放这些古籍。"

// TestSentence: the relation and the one decisive thing, cut from the article itself.
func TestSentence(t *testing.T) {
	seg, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		t.Fatal(err)
	}
	policy := index.DefaultPolicy()
	policy.Rules = verdict.RulesJianguo
	for _, c := range []struct{ why, later, earlier, zh string }{
		{"only the form differs", report, report + "。", "同文：正文与先到稿或其副本相同"},
		{"new figures are quoted with their clauses", report + lead, report,
			"含先到稿；新增：工程总投资3.2亿元，其中省级财政承担七成，1.1万户居民年底之前用上改造后的供水管网"},
		{"what leads is news, a year of the past is not",
			report + "这条河2013年决堤，下游1.4万亩稻田被淹，受灾人口9000人，部分农户至今没有拿到赔款。" + lead, report,
			"含先到稿；新增：工程总投资3.2亿元，其中省级财政承担七成，1.1万户居民年底之前用上改造后的供水管网"},
		{"captions and credits do not end in a full stop",
			report + "下一步水务局还要整治上游的两座小水库，疏浚沿岸全部支流和灌渠。工程航拍 林知远 图 海岬日报8月3日5版供图 青禾河20公里堤防",
			report,
			"含先到稿；新增：下一步水务局还要整治上游的两座小水库，疏浚沿岸全部支流和灌渠"},
		{"no headline, which may run into the first sentence",
			"原标题：3.2亿元护住下游10万亩良田 " + report + "下一步水务局还要整治上游的两座小水库，疏浚沿岸全部支流和灌渠，并为每个村子配备水位报警器。",
			report,
			"含先到稿；新增：下一步水务局还要整治上游的两座小水库，疏浚沿岸全部支流和灌渠，并为每个村子配备水位报警器"},
		{"no speech without its speaker",
			report + "水务局长林知远表示：“我们用了400天。我们一共运来了90万方土。下一步还要整治上游。”另外，" + lead, report,
			"含先到稿；新增：另外，工程总投资3.2亿元，其中省级财政承担七成，1.1万户居民年底之前用上改造后的供水管网"},
		{"company, date", notice("海星股份", "7月27日", "5亿元"), notice("天源环保", "7月24日", "8亿元"),
			"格式相同：海星股份7月27日晚间公告｜先到稿 天源环保7月24日晚间公告"},
		{"the clause says which way", close("7月26日", "2.97", "跌0.34%"), close("7月24日", "2.98", "涨1.36%"),
			"格式相同：青禾控股7月26日收盘跌0.34%｜先到稿 青禾控股7月24日收盘涨1.36%"},
		{"the name again, with a quantity", trade("海星股份", "5.99"), trade("天源环保", "6.12"),
			"格式相同：海星股份报收于5.99港元｜先到稿 天源环保报收于6.12港元"},
		{"names with a character in common", quote("华天科技", "002185", "1816.34", "9.56"),
			quote("振华科技", "000733", "303.34", "90.14"),
			"格式相同：华天科技（002185）报收于9.56元｜先到稿 振华科技（000733）报收于90.14元"},
		{"a word that recurs is a subject", market("苹果", "3.2", "120"), market("雪梨", "2.8", "95"),
			"格式相同：苹果每斤3.2元｜先到稿 雪梨每斤2.8元"},
		{"two places are enough", store("12", "5", "3"), store("14", "7", "4"),
			"格式相同：大米12吨、面粉5吨｜先到稿 大米14吨、面粉7吨"},
		{"no figure without its noun", store("-12", "5", "3"), store("-14", "7", "4"),
			"格式相同：面粉5吨、食油3吨｜先到稿 面粉7吨、食油4吨"},
		{"no figure without its sign", loss("615", "5397"), loss("721", "6802"),
			"格式相同：上年同期为5397万元｜先到稿 上年同期为6802万元"},
		{"what two headlines of one form have", "新版 left 函数说明\n" + report + "另见附录所列 left 各项。",
			"新版 right 函数说明\n" + report + "另见附录所列 right 各项。",
			"格式相同：left｜先到稿 right"},
		{"what follows the dateline, and no caption",
			"新华社海岬8月6日电 " + lead + report + "▲水务局新建的自动排涝闸门。堤顶新铺的步道夜景（陈一舟摄）。", report,
			"含先到稿；新增：工程总投资3.2亿元，其中省级财政承担七成，1.1万户居民年底之前用上改造后的供水管网"},
		{"no sentence in other words", report + "护坡草已经返青了，沿线各个乡镇的排涝泵站也同时投入运行，工程去年秋天开工建设。" +
			"汛期值守人员已经到岗到位，行人可以从步道走到湿地公园里去，堤防工程全部完工并投入运行。" + lead, report,
			"含先到稿；新增：工程总投资3.2亿元，其中省级财政承担七成，1.1万户居民年底之前用上改造后的供水管网"},
		{"no figures that the earlier text has at one place, in other words", "据官方披露，省级财政承担的份额达到七成，总投资则升至3.2亿元。" +
			report + "欢迎扫码下载客户端，更多惊喜等您参与互动，领取精美礼品，关注我们的公众号还有机会赢得大奖。", report + lead,
			"大半相同，或为改写"},
		{"nothing that has no word of the earlier text", report + "欢迎扫码下载客户端，更多惊喜等您参与互动，领取精美礼品，关注我们的公众号还有机会赢得大奖。" +
			"客服热线全天开通，投诉建议请发邮件，转载须经授权，否则将依法追究责任，感谢您长期以来的信任和厚爱。", report, "含先到稿；新增约70字"},
		{"a long sentence has its beginning", report + "另据水务局统计，堤防全线共埋设监测探头480个，其中水位探头最多，此外还在河口湿地公园的木栈道两侧安装了" +
			"自动报警的警示灯和广播喇叭，供夜间巡查的志愿者和附近的渔民随时查看上游来水的快慢以及闸门的开合。", report,
			"含先到稿；新增：另据水务局统计，堤防全线共埋设监测探头480个，其中水位探头最多，此外还在河口湿地公园的木栈道两侧安装了自动报警的警示灯和广播喇叭"},
		{"a name has what follows it, of which it may be a part", fund("海岬臻选混合", "8月6日"), fund("云崖价值精选混合", "8月4日"),
			"格式相同：海岬臻选混合最新单位净值较前一个交易日小幅上涨｜先到稿 云崖价值精选混合最新单位净值较前一个交易日小幅"},
		{"the clauses of a name need not be alike", unit("海岬", "一", "3.21"), unit("云崖稳进", "三", "1.58"),
			"格式相同：海岬混合一最新净值3.21｜先到稿 云崖稳进混合三最新净值1.58"},
		{"no value beside the day, of which it may not be", close("7月26日", "2.97", "持平"), close("7月24日", "2.98", "持平"),
			"格式相同：青禾控股7月26日收盘持平｜先到稿 青禾控股7月24日收盘持平"},
		{"a sentence in the same words has another number", report + "据水务局最新通报，沿线八个乡镇的排涝泵站同时投入运行，汛期值守人员37人已经到岗，" +
			"目前没有发现险情。", report,
			"含先到稿；新增：据水务局最新通报，沿线八个乡镇的排涝泵站同时投入运行，汛期值守人员37人已经到岗，目前没有发现险情"},
		{"no number is cut", report + "据水务局统计，为了这项工程全市先后出动挖掘机和推土机480台，机关干部、企业职工、在校大学生、退役军人、民兵预备役人员、" +
			"社区志愿者和沿线村民12,300人次前来支援，另有外地捐款。", report,
			"含先到稿；新增：据水务局统计，为了这项工程全市先后出动挖掘机和推土机480台"},
		{"a word in quotation marks is no speech", report + "“铁头”连夜从云崖市赶来支援工程，驾驶自己改装的挖掘机清理两岸淤泥，三天三夜没有合眼，被沿线村民们称作“老黄牛”。", report,
			"含先到稿；新增：“铁头”连夜从云崖市赶来支援工程，驾驶自己改装的挖掘机清理两岸淤泥，三天三夜没有合眼，被沿线村民们称作“老黄牛”"},
		{"a day has what follows it, where its clause is long", flow("8月6日", "18.4"), flow("8月4日", "23.1"),
			"格式相同：8月6日主力资金净流入18.4万元｜先到稿 8月4日主力资金净流入23.1万元"},
		{"a comma in a number parts nothing", cost("海星股份", "5,595.57"), cost("天源环保", "29,900.35"),
			"格式相同：海星股份发行费用总额为5,595.57万元｜先到稿 天源环保发行费用总额为29,900.35万元"},
		{"what is new, where two subjects are at no common place", zoo + report, library + report,
			"大半相同；新增：云崖市动物园昨日宣布，动物园新到两只长颈鹿，长颈鹿来自云崖市的友好城市，动物园为长颈鹿建成了一座新馆"},
		{"no caption before a gap", report + "海岬日报供图   " + lead, report,
			"含先到稿；新增：工程总投资3.2亿元，其中省级财政承担七成，1.1万户居民年底之前用上改造后的供水管网"},
		{"a later day", report + "8月6日，堤防在首场洪水中出现渗漏，水务局连夜组织两千名干部群众抢险，沿线三个村子全部转移。", report,
			"含先到稿；新增：8月6日，堤防在首场洪水中出现渗漏，水务局连夜组织两千名干部群众抢险，沿线三个村子全部转移"},
	} {
		later, earlier := &ingest.Item{ID: "b", Body: c.later}, &ingest.Item{ID: "a", Body: c.earlier}
		for it, day := range map[*ingest.Item]int{later: 6, earlier: 4} {
			at := time.Date(2023, 8, day, 12, 0, 0, 0, time.UTC)
			it.Published = &at
		}
		if title, body, ok := strings.Cut(c.later, "\n"); ok {
			later.Title, later.Body = title, body
			earlier.Title, earlier.Body, _ = strings.Cut(c.earlier, "\n")
		}
		x := ingest.Explain(seg, policy, reason.Chinese, later, earlier)
		if x.Why != c.zh {
			t.Errorf("%s: %s, want %s\n%v", c.why, x.Why, c.zh, x.Trace)
		}
		if x.Facts.New == nil {
			continue
		}
		for _, q := range x.Facts.New.Quotes {
			if !strings.Contains(c.later, q) || strings.Contains(c.earlier, q) {
				t.Errorf("%q is no piece of the later text alone", q)
			}
		}
	}
}

// TestRelation: what is said, and the word for it, is what was measured on both texts, whatever the reason.
func TestRelation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason         string
		later, earlier float32
		characters     int
		want           string
	}{
		{"same-text", 1, .99, 0, "同文"},
		{"same-text", 1, .95, 0, "正文全见于先到稿"}, // the rest may be captions
		{"same-text", .95, .99, 20, "几乎同文"},
		{"same-text", .7, .7, 30, "大半相同，或为改写"}, // no 同文 of what has passages of its own
		{"contained", .95, .5, 0, "几乎全文见于先到稿"},
		{"contained", .7, .5, 0, "大半相同，或为改写"},
		{"overlap", .95, .8, 90, "几乎全文见于先到稿"},
		{"overlap", .7, .5, 90, "大半相同，或为改写"}, // no length: what is reworded counts, too
		{"overlap", .5, .7, 90, "部分相同"},
		{"overlap", .6, .7, 90, "大半相同，或为改写"},
		{"extends", .6, .98, 90, "含先到稿；新增约90字"},
		{"extends", .5, .8, 90, "含先到稿大半"},
		{"update", .7, .5, 90, "大半相同"}, // not reworded: it may be of another matter
		{"other-facts", .8, .8, 0, "格式相同：数字或名称不同"},
	} {
		f := &reason.Facts{Reason: c.reason, Coverage: &reason.Coverage{Later: c.later, Earlier: c.earlier},
			New: &reason.New{Characters: c.characters}}
		got, word := reason.Sentence(f, reason.Chinese), f.Relation(reason.Chinese)
		if got != c.want || !strings.HasPrefix(got, word) {
			t.Errorf("%+v: %s, %s", c, got, word)
		}
	}
}

// TestWords: every reason has its words in both languages.
func TestWords(t *testing.T) {
	for _, r := range []string{"exact", "same-text", "contained", "reworded", "extends", "overlap", "update",
		"other-facts", "other-day", "little-text", "other-matter", "denial", "moved", "headlines", "too-long", reason.Distance} {
		f := &reason.Facts{Reason: r, Coverage: &reason.Coverage{Later: .8, Earlier: .8}, New: &reason.New{}}
		for _, language := range []string{reason.Chinese, reason.English} {
			if word := f.Relation(language); word == "" || reason.Sentence(f, language) == "" {
				t.Errorf("%s in %s: %q, %q", r, language, word, reason.Sentence(f, language))
			}
		}
	}
}
