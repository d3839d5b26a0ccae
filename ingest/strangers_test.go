package ingest

import (
	"regexp"
	"testing"
	"time"

	"jianguo/compare"
)

// judgeWithout judges one text against another where off has changed the limits.
func judgeWithout(earlier, later Item, off func(*compare.Limits)) compare.Judgement {
	a, b := Prepare(segmenter, &later), Prepare(segmenter, &earlier)
	limits := compare.DefaultLimits()
	off(&limits)
	return compare.Judge(compare.NewDoc(&a.Text), compare.NewDoc(&b.Text), &limits)
}

// TestStrangers: short texts of one form that name another subject or a fact more, and what has only some words of a
// long text, are no copies. Copies of both kinds are.
func TestStrangers(t *testing.T) {
	const report = "省水利厅今天上午召开全省防汛抗旱工作会议，部署汛期重点任务。会议指出，今年汛情来得早，" +
		"各地要落实责任，加强巡查，做好群众转移安置。会议强调，要算清水账，统筹防洪与灌溉，确保春耕用水。" +
		"会后，与会人员察看了两座水库的除险加固工程，并听取了施工单位的汇报。"
	const ceremony = "仪式上，少先队员献上鲜花，双方互赠了纪念品。随后，代表团观看了学生的合唱和武术表演，并参观了老城的城墙和博物馆。" +
		"代表团表示，期待在教育、旅游和农业方面加强交流，也欢迎本市的学生前去学习。市民和志愿者在沿途挥旗致意，交通和安保工作平稳有序。"
	const matter = "渔政部门昨晚在青禾湖查获两条夜间捕捞的铁船，船上的电鱼设备和渔获当场没收，三名船主将接受处罚，执法人员连夜把活鱼放回湖里。" +
		"附近村民说，铁船已经来过多次，每回都在后半夜下网，天亮之前离开。"
	const other = "城西小学的屋顶菜园本周丰收，孩子们摘下第一批番茄和黄瓜，送给食堂的师傅做成午餐。校长介绍，菜园由四年级学生照管，" +
		"浇水、施肥和记录都按班轮流，收成还会送给养老院的老人尝鲜。"
	manual := func(method, row, object string) string {
		return method + "方法把游标移到记录集的" + row + "记录，使它成为当前记录。语法：表达式." + method + "，其中表达式是一个代表" + object +
			"对象的变量。调用" + method + "之前先保存对当前记录的更改，否则更改会丢失，也不会收到警告。如果记录集没有记录，方法会报告错误，" +
			"程序应当检查首尾标志。连接断开之后不能再移动游标，要先重新打开记录集。"
	}
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
			func(k compare.Kind) bool { return k == compare.Suspect }},
		"another song": {
			Item{Body: "幼儿园早操歌曲精选之小鹿乐园《蒲公英》"}, Item{Body: "幼儿园早操歌曲精选之小鹿乐园《萤火虫》"},
			func(k compare.Kind) bool { return k == compare.Series }},
		"another model": {
			Item{Body: "北岸街头实拍，青禾汽车E4"}, Item{Body: "北岸街头实拍，青禾汽车G4"},
			func(k compare.Kind) bool { return k == compare.Series }},
		"another part": {
			Item{Body: "北岸旧事，第十集精彩片段3"}, Item{Body: "北岸旧事，第十集精彩片段5"},
			func(k compare.Kind) bool { return k == compare.Suspect }},
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
		"a loss": {
			Item{Body: "海岬市统计局今日发布月报，上月全市社会消费品零售总额同比0.5%，食品价格总体平稳，服务价格略有波动，市场供应充足。" + ceremony},
			Item{Body: "海岬市统计局今日发布月报，上月全市社会消费品零售总额同比-0.5%，食品价格总体平稳，服务价格略有波动，市场供应充足。" + ceremony},
			func(k compare.Kind) bool { return k == compare.Suspect || k == compare.Series }},
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
		"a short text retold": {
			Item{Body: "有网友反映，城北公园的木栈道有几块木板松动，散步的老人差点摔倒，孩子们跑过时也很危险，希望园方尽快派人维修，不要等到出了事故才来处理，请大家相互转告，经过时多看脚下。"},
			Item{Body: "城北公园的木栈道有几块木板松动，散步的老人差点摔倒，孩子们跑过时也很危险！周末想去玩的朋友务必当心。"},
			func(k compare.Kind) bool { return k == compare.Duplicate }},
		"a short text retold, with a name": {
			Item{Body: "有网友反映，城北公园的木栈道有几块木板松动，散步的老人差点摔倒，孩子们跑过时也很危险，希望园方尽快派人维修，不要等到出了事故才来处理，请大家相互转告，经过时多看脚下。"},
			Item{Body: "城北公园的木栈道有几块木板松动，散步的老人差点摔倒，孩子们跑过时也很危险！杭州的朋友要多加小心。"},
			func(k compare.Kind) bool { return k == compare.Suspect }},
		"another function of a library": {
			Item{Title: "游标对象的方法", Body: manual("MoveFirst", "第一条", "Cursor")},
			Item{Title: "游标对象的方法", Body: manual("MoveNext", "下一条", "Cursor")},
			func(k compare.Kind) bool { return k == compare.Series }},
		"a function of another object": {
			Item{Title: "游标对象的方法", Body: manual("MoveFirst", "第一条", "Cursor")},
			Item{Title: "游标对象的方法", Body: manual("MoveFirst", "第一条", "Cursor2")},
			func(k compare.Kind) bool { return k == compare.Series }},
		"another matter before the same background": {
			Item{Body: matter + report + ceremony}, Item{Body: other + report + ceremony},
			func(k compare.Kind) bool { return k == compare.Unrelated }},
		"most of a text behind an opening of its own": {
			Item{Body: other + report + ceremony + manual("MoveFirst", "第一条", "Cursor")},
			Item{Body: matter + report + ceremony + manual("MoveFirst", "第一条", "Cursor")},
			func(k compare.Kind) bool { return k == compare.Suspect }},
		"another matter in its words": {
			Item{Title: "全省防汛抗旱工作会议召开", Body: report},
			Item{Title: "学者谈春耕", Body: "省水利厅召开的全省防汛抗旱工作会议，要求统筹防洪与灌溉，确保春耕用水。记者就此采访了三位种粮大户。"},
			func(k compare.Kind) bool { return k != compare.Duplicate }},
	}
	for name, test := range tests {
		if j := judgeWithout(test.earlier, test.later, func(*compare.Limits) {}); !test.want(j.Kind) {
			t.Errorf("%s: %v, by %+v", name, j.Kind, j.Trace)
		}
	}
	off := func(rule string) func(*compare.Limits) { return func(l *compare.Limits) { l.Off = rule } }
	for _, c := range []struct {
		name    string
		without func(*compare.Limits)
		copies  bool // without the rule: it decides
	}{
		{"another company", off("titles"), false},
		{"the next ceremony", off("titles"), false},
		{"a fact more", func(l *compare.Limits) { l.FactsShort = l.Facts }, true},
		{"a year later", func(l *compare.Limits) { l.Stale = 400 }, true},
		{"another vacancy", off("replaced"), true},
		{"another ward, under one headline", off("replaced"), true},
		{"another matter in its words", func(l *compare.Limits) { l.Off, l.Told = "excerpts", .1 }, true},
	} {
		kind := judgeWithout(tests[c.name].earlier, tests[c.name].later, c.without).Kind
		if c.copies && kind != compare.Duplicate || kind == compare.Series {
			t.Errorf("%s: %v also without its rule", c.name, kind)
		}
	}
}

// TestSentences: a sentence that says another word at one place is never rejected, whatever is shared around it: titles
// of videos, products, notices. Another exclamation, source or punctuation makes no other sentence.
func TestSentences(t *testing.T) {
	judge := func(earlier, later, off string) compare.Judgement {
		return judgeWithout(Item{Body: earlier}, Item{Body: later}, func(l *compare.Limits) { l.Off = off })
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

// TestForms: two fillings of one form are of two matters, however little is filled in. A text that says the same in other
// words is a copy.
func TestForms(t *testing.T) {
	filling := regexp.MustCompile(`\{([^|}]*)\|([^|}]*)\}`)
	judge := func(form [2]string, off string) compare.Judgement {
		filled := func(with string) Item {
			return Item{Title: filling.ReplaceAllString(form[0], with), Body: filling.ReplaceAllString(form[1], with)}
		}
		return judgeWithout(filled("$1"), filled("$2"), func(l *compare.Limits) { l.Off = off })
	}
	rejected := 0
	for _, form := range [][2]string{
		{"", "青禾县{供电|供水}公司通知：因{线路|管道}检修，明天上午八点至下午五点，城关镇人民路以东停{电|水}，请广大用户提前做好准备，由此带来的不便敬请谅解。咨询请到营业厅，感谢您的理解与支持。"},
		{"寻人启事", "{男孩|女孩}，今年读小学，昨天下午放学后从学校门口走失，当时身穿{蓝色|红色}外套，背{黑色|粉色}书包，{短发|长发}。家人十分焦急，如有知情者请与派出所联系，必有重谢。感谢各位热心人帮忙转发扩散。"},
		{"", "{黄芪|党参}味甘，性{微温|平}，归{肺|脾}经，具有补气的功效，常用于气虚乏力、食少便溏等症。日常可以用来炖汤、泡水，也可以配伍其他药材使用。内热较重的人不宜服用，孕妇应在医生指导下使用，不可过量。"},
		{"", "这款{小米|荣耀}手机采用{曲面|直}屏设计，搭载{骁龙|天玑}处理器，拍照清晰，续航出色，支持快充和无线充电，机身轻薄，手感出众，日常使用和玩游戏都很流畅，喜欢的朋友可以到实体店体验，也可以在网上商城下单购买。"},
		{"", "{青禾|绿洲}科技今日{涨停|跌停}，成交额明显放大，龙虎榜显示，多家机构席位现身{买入|卖出}前五。公司主营业务为软件开发，近期没有应披露而未披露的重大事项。分析人士提醒投资者注意风险，理性投资，切勿盲目跟风操作。"},
		{"", "走进{赵庄|刘庄}村，映入眼帘的是干净整洁的街道和一座座漂亮的农家小院。近年来，村里大力发展{草莓|蓝莓}种植，成立合作社，带动村民增收致富。村支书说，下一步还要发展乡村旅游，让更多的人来村里采摘游玩，日子越过越红火。"},
		{"", "为进一步规范{烟花爆竹|散煤}{燃放|使用}管理，保障人民群众生命财产安全，改善大气环境质量，根据有关法律法规的规定，结合我县实际，县{公安|环保}局起草了《青禾县{烟花爆竹燃放|散煤使用}管理办法（征求意见稿）》，现向社会公开征求意见。公众可以通过以下途径和方式提出意见：登录县政府网站，在首页互动交流栏目中的民意征集专栏提出意见；将意见以信函方式寄至县政府办公楼四楼，并请在信封上注明“征求意见”字样；通过电子邮件方式将意见发送至公布的邮箱。意见反馈截止时间为本月底。我们将对收集到的意见进行认真研究，在充分吸收采纳合理意见建议的基础上，对办法作进一步修改完善，并按照程序报请审议后公布实施。欢迎社会各界人士积极参与，提出宝贵的意见和建议。"},
		{"", "{板蓝根|小柴胡}颗粒，本品为{棕色|黄褐色}的颗粒，味甜、微苦。功能主治：{清热解毒|解表散热}，用于{肺胃热盛|外感病}所致的{咽喉肿痛|寒热往来}、口干。用法用量：开水冲服，一次一袋，一日三次。不良反应尚不明确。禁忌尚不明确。注意事项：忌烟酒、辛辣、油腻食物；不宜在服药期间同时服用滋补性中药；糖尿病患者及有高血压、心脏病、肝病、肾病等慢性病严重者应在医师指导下服用；儿童、孕妇、哺乳期妇女、年老体弱者应在医师指导下服用；服药三天症状无缓解，应去医院就诊；对本品过敏者禁用，过敏体质者慎用；本品性状发生改变时禁止使用；儿童必须在成人监护下使用；请将本品放在儿童不能接触的地方；如正在使用其他药品，使用本品前请咨询医师或药师。贮藏：密封。"},
		{"", "本公司专业提供{叉车|吊车}租赁服务，拥有各种吨位的{叉车|吊车}数十台，车况良好，操作人员经验丰富、持证上岗。服务范围包括{工厂|工地}设备搬运、{货物装卸|构件吊装}、安装就位等，可以按天、按月、按年签订合同，价格优惠。公司成立多年来，始终坚持诚信为本、客户至上的经营理念，以安全可靠的设备、训练有素的队伍和周到细致的服务赢得了广大客户的信赖和好评。我们郑重承诺：随叫随到，绝不耽误客户的工期；收费合理，绝不乱收费用；安全第一，绝不违章作业。无论工程大小，我们都将全力以赴，为您提供满意的服务。欢迎新老客户来电咨询、洽谈合作，我们将以最优惠的价格和最优质的服务回报您的信任与支持。"},
		{"", "{獭兔|山羊}养殖技术要点：首先要选择地势高燥、背风向阳、排水良好的地方建造圈舍，保持舍内通风干燥，定期打扫消毒。其次要科学搭配饲料，以{青草|秸秆}为主，适当补充精料，做到定时定量，不喂发霉变质和带露水的饲料，保证充足清洁的饮水。第三要做好防疫工作，按照免疫程序及时接种疫苗，重点预防{球虫病|口蹄疫}，发现病畜要及时隔离治疗，病死的要进行无害化处理。第四要加强繁殖管理，选择体型大、生长快、产{毛|肉}多的个体留作种用，避免近亲繁殖，做好配种和产仔记录。养殖户还要随时关注市场行情，合理安排出栏时间，有条件的可以加入合作社，抱团发展，降低市场风险，提高养殖效益，走出一条致富的好路子。"},
		{"", "教学目标：认识{三角形|平行四边形}，掌握它的特征，会画{三角形|平行四边形}的高，培养学生的观察能力、动手能力和空间想象能力，感受数学与生活的密切联系。教学重点：{三角形|平行四边形}的特征。教学难点：画高。教学准备：多媒体课件、直尺、{三角板|剪刀}、彩纸。教学过程：一、创设情境，导入新课。同学们，生活中有许多美丽的图形，你能从图中找到我们学过的图形吗？今天我们就一起来认识一位新朋友。二、合作探究，学习新知。让学生拿出准备好的材料，动手做一做、摸一摸、说一说，小组讨论它有什么特征，然后派代表汇报，教师根据学生的回答板书。三、巩固练习，拓展提高。完成课本上的练习题，同桌互相检查。四、课堂小结，布置作业。今天你有什么收获？请大家回家以后找一找身边的图形，明天和同学们分享。"},
		{"{DecodeText|EncodeBytes} 方法说明", "此方法返回一个新的对象，其内容由参数决定。{|调用者负责释放它。}如果参数为空，将引发异常；如果缓冲区太小，将返回所需的长度，而不写入任何数据。可以从多个线程同时调用此方法。有关示例，请参阅入门指南。"},
	} {
		if j := judge(form, ""); j.Kind == compare.Duplicate {
			t.Errorf("%s %s: %v, by %+v", form[0], form[1], j.Kind, j.Trace)
		}
		if judge(form, "replaced").Kind == compare.Duplicate {
			rejected++
		}
	}
	if rejected < 10 {
		t.Errorf("without the rule of forms %d are rejected: most have to be", rejected)
	}
	reworded := "{昨天|昨日}傍晚，青禾县环城路一家面馆的后厨突然起火，老板和伙计{赶紧|连忙}把客人带到街上，随后{返回|折回}店里关掉燃气阀门。" +
		"消防队接到电话后六分钟就{赶到|到达}现场，{很快|迅速}扑灭了明火。隔壁理发店的墙面被熏黑，没有人受伤。老板{说|表示}，油锅烧得太久，" +
		"自己又在前面招呼客人，才{闹|惹}出这件事。消防员{提醒|告诫}大家，离开灶台前一定要关火，油锅着了不能用水浇，要用锅盖盖住。" +
		"面馆所在的这条街上饭馆很多，厨房{大多|多半}不大，社区准备这个月{挨家|逐户}检查燃气管和灭火器，给每家店发一张写着电话的卡片。" +
		"住在楼上的居民{讲|谈到}，夏天炒菜的油烟一直飘到窗口，希望{顺便|顺带}也看看烟道。"
	if j := judge([2]string{"面馆后厨起火", reworded}, ""); j.Kind != compare.Duplicate {
		t.Errorf("a text in other words: %v, by %+v", j.Kind, j.Trace)
	}
}
