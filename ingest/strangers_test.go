package ingest

import (
	"testing"

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
		"a fact more": {
			Item{Title: "青湖大桥将封闭检修", Body: "市交通局今天发布通告，青湖大桥因更换伸缩缝将封闭检修，其间过往车辆请绕行北环路，公交线路作相应调整，请市民提前安排出行时间。"},
			Item{Title: "青湖大桥将封闭检修", Body: "市交通局今天发布通告，青湖大桥因更换伸缩缝将封闭检修18天，其间过往车辆请绕行北环路，公交线路作相应调整，请市民提前安排出行时间。"},
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
			if limits.Off = "openings"; name == "another company" && compare.Judge(compare.NewDoc(&a.Text),
				compare.NewDoc(&b.Text), &limits).Kind == compare.Series {
				t.Error("a series without the rule of subjects, too")
			}
			limits = compare.DefaultLimits()
			if limits.FactsShort = limits.Facts; name == "a fact more" && compare.Judge(compare.NewDoc(&a.Text),
				compare.NewDoc(&b.Text), &limits).Kind != compare.Duplicate {
				t.Error("no copy without the rule of short texts, too")
			}
			if limits.Off = "excerpts"; name == "another matter in its words" && compare.Judge(compare.NewDoc(&a.Text),
				compare.NewDoc(&b.Text), &limits).Kind != compare.Duplicate {
				t.Error("no copy without the rule of excerpts, too")
			}
		})
	}
}
