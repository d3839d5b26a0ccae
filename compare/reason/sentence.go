package reason

import (
	"fmt"
	"strings"

	"jianguo/compare"
)

// Languages of sentences.
const (
	Chinese = "zh"
	English = "en"
)

// words are the phrases of one language.
type words struct {
	relation                      map[string]string // by reason
	all, nearlyAll, mostly, half  string            // of the item stands in the earlier text
	noFigures, noNews             string
	adds, addsAbout, lacks        string
	otherDay, otherSubject        string
	against, list, colon, between string
}

var chinese = words{
	relation: map[string]string{
		compare.Exact: "同文：仅格式不同", compare.SameText: "同文", compare.Contained: "摘段", compare.Reworded: "改写",
		compare.Extends: "含先到稿", compare.Overlap: "部分同先到稿", compare.Update: "后续稿",
		compare.OtherFacts: "系列稿", compare.OtherDay: "系列稿", compare.LittleText: "与先到稿相同之处很少",
		compare.Denial: "存疑：标题与先到稿说法相反", compare.Moved: "存疑：句中词语换了位置",
		compare.Headlines: "存疑：正文相同，标题各说各的", compare.TooLong: "存疑：全文过长，只按摘要比较",
	},
	all: "正文全见于先到稿", nearlyAll: "几乎全文见于先到稿", mostly: "大半见于先到稿", half: "约一半见于先到稿",
	noFigures: "无新数字", noNews: "无新内容", adds: "新增", addsAbout: "新增约%d字", lacks: "先到稿另有约%d字",
	otherDay: "另一日的同类消息", otherSubject: "主体不同", against: "｜先到稿 ", list: "、", colon: "：", between: "；",
}

var english = words{
	relation: map[string]string{
		compare.Exact: "same text: only the form differs", compare.SameText: "same text", compare.Contained: "excerpt",
		compare.Reworded: "reworded", compare.Extends: "has the earlier text",
		compare.Overlap: "partly the earlier text",
		compare.Update:  "follow-up", compare.OtherFacts: "series", compare.OtherDay: "series",
		compare.LittleText: "little in common with the earlier text",
		compare.Denial:     "in doubt: the headline denies the earlier one",
		compare.Moved:      "in doubt: words of a sentence have changed places",
		compare.Headlines:  "in doubt: one body under two headlines",
		compare.TooLong:    "in doubt: too long to compare in full",
	},
	all: "all of it is in the earlier text", nearlyAll: "nearly all of it is in the earlier text",
	mostly: "most of it is in the earlier text", half: "about half of it is in the earlier text",
	noFigures: "no new figure", noNews: "nothing new", adds: "new", addsAbout: "about %d new characters",
	lacks: "the earlier text has about %d more", otherDay: "news of its kind of another day",
	otherSubject: "another subject", against: " | earlier: ",
	list: ", ", colon: ": ", between: "; ",
}

// Shares from which a text stands in another one as a whole, nearly, or mostly.
const (
	wholeShare  = .97
	nearlyShare = .9
	mostlyShare = .6
)

// worthSaying is the least number of characters that only the earlier text has and that are worth a word.
const worthSaying = 60

// Sentence puts Facts into words.
func Sentence(f *Facts, language string) string {
	w := &chinese
	if language == English {
		w = &english
	}
	relation := w.relation[f.Reason]
	if f.Coverage == nil || strings.Contains(relation, strings.TrimSpace(w.colon)) {
		return relation
	}
	switch f.Reason {
	case compare.SameText, compare.Reworded, compare.Contained:
		return relation + w.colon + w.copied(f)
	case compare.OtherFacts, compare.OtherDay:
		if len(f.Conflict) > 0 {
			return relation + w.pairs(f)
		}
		if f.Reason == compare.OtherDay {
			return relation + w.colon + w.otherDay
		}
		return relation + w.colon + w.otherSubject
	case compare.Update:
		return relation + w.pairs(f) + w.between + w.added(f)
	}
	return relation + w.between + w.added(f)
}

// copied says how much of a copy stands in the earlier text.
func (w *words) copied(f *Facts) string {
	said := []string{w.half}
	switch c := f.Coverage.Later; {
	case c >= wholeShare && f.New.Characters == 0:
		said[0] = w.all
	case c >= nearlyShare:
		said[0] = w.nearlyAll
	case c >= mostlyShare:
		said[0] = w.mostly
	}
	switch {
	case f.New.Facts == 0 && f.New.Characters == 0:
		said = append(said, w.noNews)
	case f.New.Facts == 0:
		said = append(said, w.noFigures)
	}
	if f.Reason == compare.Contained && f.Lacks >= worthSaying {
		said = append(said, fmt.Sprintf(w.lacks, rounded(f.Lacks)))
	}
	return strings.Join(said, w.between)
}

// pairs are the values and names in conflict: those of the item, then those of the earlier text.
func (w *words) pairs(f *Facts) string {
	if len(f.Conflict) == 0 {
		return ""
	}
	var later, earlier []string
	for _, c := range f.Conflict {
		later, earlier = append(later, c[0]), append(earlier, c[1])
	}
	return w.colon + strings.Join(later, w.list) + w.against + strings.Join(earlier, w.list)
}

// added is what an item adds.
func (w *words) added(f *Facts) string {
	said := w.adds
	if f.New.Characters > 0 {
		said = fmt.Sprintf(w.addsAbout, rounded(f.New.Characters))
	}
	if len(f.New.Quotes) > 0 {
		said += w.colon + strings.Join(f.New.Quotes, w.list)
	}
	return said
}

// rounded is a number of characters to its first digit, or the first two from a hundred on.
func rounded(n int) int {
	unit := 10
	for n/unit >= 100 {
		unit *= 10
	}
	return max(unit, (n+unit/2)/unit*unit)
}
