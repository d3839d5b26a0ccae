package verdict

import (
	"fmt"
	"strings"

	"jianguo/sketch"
)

// Languages in which an event can say why.
const (
	Chinese = "zh"
	English = "en"
)

// phrases are the sentences of one language. %s is the earlier item's id.
type phrases struct {
	withdrawn, promoted, edited, unseen  string
	blocked, exact, distance, same       string
	oneSided, inDoubt, series, little    string
	estimated                            string
	licensed, preferred, yielded         string
	figuresAgree, figuresDiffer, against string
	otherwise                            string // where the figures agree or there are none, and other facts contradict each other
	note, comma                          string
}

var chinese = phrases{
	withdrawn: "来源方撤回", promoted: "原首发稿撤回，最早的副本转为首发", edited: "编辑决定", unseen: "未见过相近的稿件",
	blocked: "与已封禁的 %s 同文", exact: "与 %s 同文，仅格式不同", distance: "与 %s 的指纹相差 %d 位", same: "与 %s 同文",
	oneSided: "疑似：与 %s 大段相同，但一方另有较多内容", inDoubt: "疑似：与 %s 同文，但事实不尽一致", estimated: "疑似：与 %s 相近；全文过长，只按摘要比较", series: "系列稿：与 %s 格式相同，事实不同", little: "与 %s 相同之处很少",
	licensed: "授权转载：与 %s 同文，照发", preferred: "优先首发：与 %s 同文，由本稿接替首发", yielded: "优先来源的 %s 到达，本稿转为它的副本",
	figuresAgree: "%d 处数字全部相同", figuresDiffer: "%d 处数字中 %d 处不同", against: "如 %s", otherwise: "不同处：%s",
	note: "：", comma: "，",
}

var english = phrases{
	withdrawn: "withdrawn by its source", promoted: "the former lead was taken back; this is its oldest copy", edited: "an editor decided so", unseen: "nothing like it has been seen",
	blocked: "the same text as %s, which is blocked", exact: "the same text as %s, but for its form", distance: "its fingerprint and that of %s differ in %d bits", same: "the same text as %s",
	oneSided: "suspect: much in common with %s, but one side has a good deal more", inDoubt: "suspect: the text of %s, but not all of its facts", estimated: "suspect: like %s; the texts are too long to compare, so this is an estimate", series: "a series: the form of %s with other facts", little: "little in common with %s",
	licensed: "licensed: the text of %s, which its source may republish", preferred: "preferred: the text of %s, which it takes the lead from",
	yielded:      "a copy of %s, which came from a preferred source and takes the lead",
	figuresAgree: "all %d figures agree", figuresDiffer: "of %d figures %d differ", against: "as %s", otherwise: "what differs: %s",
	note: ": ", comma: ", ",
}

func phrasesOf(language string) *phrases {
	if language == English {
		return &english
	}
	return &chinese
}

// Why puts an event into one sentence, in Chinese or English.
func Why(e *Event, language string) string {
	p := phrasesOf(language)
	switch e.Cause {
	case CauseWithdrawal:
		return p.withdrawn
	case CausePromotion:
		if e.Of == "" {
			return p.promoted
		}
		if e.Rule == ByLicence {
			return fmt.Sprintf(p.licensed, e.Of)
		}
		return fmt.Sprintf(p.yielded, e.Of)
	case CauseEditor:
		return p.edited
	}
	switch {
	case e.Of == "":
		return p.unseen
	case e.Rule == ByLicence:
		return fmt.Sprintf(p.licensed, e.Of) + p.facts(e.Facts)
	case e.Rule == ByPreference:
		return fmt.Sprintf(p.preferred, e.Of) + p.facts(e.Facts)
	case e.Rule == ByBlocked:
		return fmt.Sprintf(p.blocked, e.Of)
	case e.Rule == ByExact:
		return fmt.Sprintf(p.exact, e.Of)
	case e.Resemblance == nil && e.Distance != nil:
		return fmt.Sprintf(p.distance, e.Of, *e.Distance)
	}
	form := p.same
	switch {
	case e.Facts != nil && e.Facts.Reason == sketch.LittleText:
		return fmt.Sprintf(p.little, e.Of)
	case e.Series != 0:
		form = p.series
	case e.Facts != nil && e.Facts.Reason == sketch.OneSided:
		form = p.oneSided
	case e.Facts != nil && e.Facts.Reason == sketch.InDoubt:
		form = p.inDoubt
	case e.Facts != nil && e.Facts.Reason == sketch.Estimated:
		form = p.estimated
	}
	return fmt.Sprintf(form, e.Of) + p.facts(e.Facts)
}

// facts compares the figures of two texts in words.
func (p *phrases) facts(f *Facts) string {
	if f == nil {
		return ""
	}
	var s string
	switch {
	case f.Numbers == 0:
	case f.Numbers == f.Shared:
		s = p.comma + fmt.Sprintf(p.figuresAgree, f.Numbers)
	default:
		s = p.comma + fmt.Sprintf(p.figuresDiffer, f.Numbers, f.Numbers-f.Shared)
	}
	if len(f.Conflict) > 0 {
		form := p.otherwise
		if f.Numbers > f.Shared {
			form = p.against
		}
		s += p.comma + fmt.Sprintf(form, strings.Join(f.Conflict[:min(2, len(f.Conflict))], p.comma))
	}
	return s
}

// NoteSeparator stands between an event's sentence and the note that follows it.
func NoteSeparator(language string) string { return phrasesOf(language).note }
