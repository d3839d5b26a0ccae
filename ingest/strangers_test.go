package ingest

import (
	"strings"
	"testing"
	"time"

	"jianguo/compare"
	"jianguo/data"
	"jianguo/segment"
)

// TestStrangers: short texts of one form that name another subject or a fact more, and what has only some words of a
// long text, are no copies. Copies of both kinds are.
func TestStrangers(t *testing.T) {
	seg, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		t.Fatal(err)
	}
	const report = "省水利厅今天上午召开全省防汛抗旱工作会议，部署汛期重点任务。会议指出，今年汛情来得早，" +
		"各地要落实责任，加强巡查，做好群众转移安置。会议强调，要算清水账，统筹防洪与灌溉，确保春耕用水。" +
		"会后，与会人员察看了两座水库的除险加固工程，并听取了施工单位的汇报。"
	const ceremony = "仪式上，少先队员献上鲜花，双方互赠了纪念品。随后，代表团观看了学生的合唱和武术表演，并参观了老城的城墙和博物馆。" +
		"代表团表示，期待在教育、旅游和农业方面加强交流，也欢迎本市的学生前去学习。市民和志愿者在沿途挥旗致意，交通和安保工作平稳有序。"
	spring := time.Date(2024, 5, 6, 1, 0, 0, 0, time.UTC)
	next := spring.AddDate(1, 0, 0)
	tests := map[string]struct {
		earlier, later Item
		want           func(compare.Kind) bool
	}{
		"another company": {
			Item{Title: "云杉科技：因涉嫌信息披露违规被立案", Body: "云杉科技公告，公司近日收到立案告知书，因涉嫌信息披露违规被立案调查，目前公司经营活动正常开展，将积极配合调查并及时披露信息。"},
			Item{Title: "蓝湾钢构：因涉嫌信息披露违规被立案", Body: "蓝湾钢构公告，公司于近日收到立案告知书，因公司涉嫌信息披露违规被立案调查，目前经营活动正常开展，公司将积极配合调查并及时披露信息。"},
			func(k compare.Kind) bool { return k == compare.Series }},
		"the same company": {
			Item{Title: "云杉科技：因涉嫌信息披露违规被立案", Body: "云杉科技公告，公司近日收到立案告知书，因涉嫌信息披露违规被立案调查，目前公司经营活动正常开展，将积极配合调查并及时披露信息。"},
			Item{Title: "云杉科技因涉嫌信息披露违规被立案调查", Body: "云杉科技公告，公司于近日收到立案告知书，因公司涉嫌信息披露违规被立案调查，目前经营活动正常开展，公司将积极配合调查并及时披露信息。"},
			func(k compare.Kind) bool { return k == compare.Duplicate }},
		"another colour": {
			Item{Title: "北岸折叠台灯 墨绿", Body: "北岸折叠台灯，墨绿外壳，磨砂手感。灯臂可以弯折，亮度分三档，夜里看书不刺眼。包装内有底座、电源线和说明书，七天内可以退换。"},
			Item{Title: "北岸折叠台灯 米白", Body: "北岸折叠台灯，米白外壳，磨砂手感。灯臂可以弯折，亮度分三档，夜里看书不刺眼。包装内有底座、电源线和说明书，七天内可以退换。"},
			func(k compare.Kind) bool { return k == compare.Series }},
		"another song": {
			Item{Body: "幼儿园早操歌曲精选之小鹿乐园《蒲公英》"}, Item{Body: "幼儿园早操歌曲精选之小鹿乐园《萤火虫》"},
			func(k compare.Kind) bool { return k == compare.Series }},
		"another model": {
			Item{Body: "北岸街头实拍，青禾汽车E4"}, Item{Body: "北岸街头实拍，青禾汽车G4"},
			func(k compare.Kind) bool { return k == compare.Series }},
		"another part": {
			Item{Body: "北岸旧事，第十集精彩片段3"}, Item{Body: "北岸旧事，第十集精彩片段5"},
			func(k compare.Kind) bool { return k == compare.Series }},
		"another vacancy": {
			Item{Title: "青禾银行招聘柜员", Body: "青禾银行因业务发展需要，现面向社会公开招聘柜员若干名。要求大专以上学历，品行端正，有责任心。待遇从优，简历请投递到人力资源部，我们将尽快安排面试。"},
			Item{Title: "青禾银行招聘保安", Body: "青禾银行因业务发展需要，现面向社会公开招聘保安若干名。要求大专以上学历，品行端正，有责任心。待遇从优，简历请投递到人力资源部，我们将尽快安排面试。"},
			func(k compare.Kind) bool { return k == compare.Suspect }},
		"another ward, under one headline": {
			Item{Title: "停诊通知", Body: "各位患者：因院区改造，我院口腔科门诊自下周一起暂停接诊，恢复时间另行通知。急需就诊的患者请前往其他医院，已经预约的号源将原路退款，不便之处敬请谅解。"},
			Item{Title: "停诊通知", Body: "各位患者：因院区改造，我院眼科门诊自下周一起暂停接诊，恢复时间另行通知。急需就诊的患者请前往其他医院，已经预约的号源将原路退款，不便之处敬请谅解。"},
			func(k compare.Kind) bool { return k == compare.Suspect }},
		"a fact more": {
			Item{Title: "青湖大桥将封闭检修", Body: "市交通局今天发布通告，青湖大桥因更换伸缩缝将封闭检修，其间过往车辆请绕行北环路，公交线路作相应调整，请市民提前安排出行时间。"},
			Item{Title: "青湖大桥将封闭检修", Body: "市交通局今天发布通告，青湖大桥因更换伸缩缝将封闭检修18天，其间过往车辆请绕行北环路，公交线路作相应调整，请市民提前安排出行时间。"},
			func(k compare.Kind) bool { return k == compare.Suspect }},
		"the next ceremony": {
			Item{Title: "市里举行仪式欢迎巴西友城代表团", Body: "市里昨天在礼堂举行仪式，欢迎巴西联邦共和国的友城代表团来访。" + ceremony},
			Item{Title: "市里举行仪式欢迎泰国友城代表团", Body: "市里昨天在礼堂东厅举行仪式，邀请了各界人士，热烈欢迎泰王国清迈府派来的客人，泰国驻华使节也到场。" + ceremony},
			func(k compare.Kind) bool { return k == compare.Series }},
		"a year later": {
			Item{Title: "汛期会议", Body: report + ceremony, Published: &spring},
			Item{Title: "汛期会议", Body: report + "会议为期两天。" + ceremony, Published: &next},
			func(k compare.Kind) bool { return k == compare.Suspect }},
		"an excerpt": {
			Item{Title: "全省防汛抗旱工作会议召开", Body: report},
			Item{Title: "防汛会议强调算清水账", Body: "省水利厅今天上午召开全省防汛抗旱工作会议，部署汛期重点任务。会议指出，今年汛情来得早，各地要落实责任，加强巡查。"},
			func(k compare.Kind) bool { return k == compare.Duplicate }},
		"another matter in its words": {
			Item{Title: "全省防汛抗旱工作会议召开", Body: report},
			Item{Title: "学者谈春耕", Body: "省水利厅召开的全省防汛抗旱工作会议，要求统筹防洪与灌溉，确保春耕用水。记者就此采访了三位种粮大户。"},
			func(k compare.Kind) bool { return k != compare.Duplicate }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := Prepare(seg, &test.later), Prepare(seg, &test.earlier)
			limits := compare.DefaultLimits()
			j := compare.Judge(compare.NewDoc(&a.Text), compare.NewDoc(&b.Text), &limits)
			if !test.want(j.Kind) {
				t.Errorf("%v, by %+v", j.Kind, j.Trace)
			}
			if limits.Off = "openings"; (name == "another company" || name == "the next ceremony") && compare.Judge(compare.NewDoc(&a.Text),
				compare.NewDoc(&b.Text), &limits).Kind == compare.Series {
				t.Error("a series without the rule of subjects, too")
			}
			limits = compare.DefaultLimits()
			if limits.FactsShort = limits.Facts; name == "a fact more" && compare.Judge(compare.NewDoc(&a.Text),
				compare.NewDoc(&b.Text), &limits).Kind != compare.Duplicate {
				t.Error("no copy without the rule of short texts, too")
			}
			limits = compare.DefaultLimits()
			if limits.Stale = 400; name == "a year later" && compare.Judge(compare.NewDoc(&a.Text),
				compare.NewDoc(&b.Text), &limits).Kind != compare.Duplicate {
				t.Error("no copy within the time, too")
			}
			limits = compare.DefaultLimits()
			if limits.Off = "replaced"; (name == "another vacancy" || strings.HasPrefix(name, "another ward")) && compare.Judge(
				compare.NewDoc(&a.Text), compare.NewDoc(&b.Text), &limits).Kind != compare.Duplicate {
				t.Error("no copy without the rule of other words, too")
			}
			limits = compare.DefaultLimits()
			if limits.Off = "excerpts"; name == "another matter in its words" && compare.Judge(compare.NewDoc(&a.Text),
				compare.NewDoc(&b.Text), &limits).Kind != compare.Duplicate {
				t.Error("no copy without the rule of excerpts, too")
			}
		})
	}
}

// TestSentences: a sentence that says another word at one place is never rejected, whatever is shared around it: titles
// of videos, products, notices. Another exclamation, source or punctuation makes no other sentence.
func TestSentences(t *testing.T) {
	seg, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		t.Fatal(err)
	}
	judge := func(earlier, later string, off string) compare.Judgement {
		a, b := Prepare(seg, &Item{Body: later}), Prepare(seg, &Item{Body: earlier})
		limits := compare.DefaultLimits()
		limits.Off = off
		return compare.Judge(compare.NewDoc(&a.Text), compare.NewDoc(&b.Text), &limits)
	}
	rejected := 0
	for _, pair := range [][2]string{
		{"纯棉圆领短袖上衣男士夏季宽松百搭 红色", "纯棉圆领短袖上衣男士夏季宽松百搭 蓝色"},
		{"纯棉圆领短袖男款夏季宽松百搭上衣", "纯棉圆领短袖女款夏季宽松百搭上衣"},
		{"小学语文三年级上册期末复习资料", "小学语文三年级下册期末复习资料"},
		{"小学语文三年级上册期末复习资料", "小学语文四年级上册期末复习资料"},
		{"小学语文三年级上册期末复习资料", "小学数学三年级上册期末复习资料"},
		{"经典评书青禾演义全集（上）", "经典评书青禾演义全集（下）"},
		{"急诊医学中心祝全市人民新年快乐万事如意", "肿瘤医学中心祝全市人民新年快乐万事如意"},
		{"青禾县今天上午发布暴雨黄色预警信号", "青禾县今天上午发布暴雨橙色预警信号"},
		{"青禾县今天上午发布暴雨黄色预警信号", "青禾县今天上午解除暴雨黄色预警信号"},
		{"青禾银行招聘柜员公告", "青禾银行招聘保安公告"},
		{"教你做红烧排骨，简单易学，家常做法", "教你做红烧茄子，简单易学，家常做法"},
		{"早安心语：愿你今天一切顺利", "晚安心语：愿你今天一切顺利"},
		{"王老师讲数学：函数的单调性", "王老师讲数学：函数的奇偶性"},
		{"出租二室一厅精装修拎包入住近地铁", "出租三室一厅精装修拎包入住近地铁"},
		{"高一年级期中考试座位表", "高二年级期中考试座位表"},
	} {
		if j := judge(pair[0], pair[1], ""); j.Kind == compare.Duplicate {
			t.Errorf("%s / %s: %v, by %+v", pair[0], pair[1], j.Kind, j.Trace)
		}
		if judge(pair[0], pair[1], "replaced").Kind == compare.Duplicate {
			rejected++
		}
	}
	if rejected < 12 {
		t.Errorf("without the rule of other words %d are rejected: most have to be", rejected)
	}
	for _, later := range []string{
		"青禾县：今天上午，发布暴雨黄色预警信号！", "青禾县今天上午发布暴雨黄色预警信号【青禾发布】",
		"快讯！青禾县今天上午发布暴雨黄色预警信号", "青禾县今天上午发布暴雨黄色预警信号，注意安全",
	} {
		if j := judge("青禾县今天上午发布暴雨黄色预警信号，大家小心", later, ""); j.Kind != compare.Duplicate {
			t.Errorf("%s: %v, by %+v", later, j.Kind, j.Trace)
		}
	}
}
