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

// Distance is the reason in the facts of a verdict by fingerprints alone.
const Distance = "distance"

// words are the phrases of one language.
type words struct {
	relation                      map[string]string // by reason
	because                       map[string]string // by reason: what is said where nothing is quoted
	all, nearlyAll, mostly, half  string            // of the item stands in the earlier text
	noFigures, noNews, most       string
	adds, addsAbout, lacks        string
	against, list, colon, between string
}

var chinese = words{
	relation: map[string]string{
		compare.Exact: "同文", compare.SameText: "同文", compare.Contained: "摘段", compare.Reworded: "改写",
		compare.Extends: "含先到稿", compare.Overlap: "部分同先到稿", compare.Update: "后续稿",
		compare.OtherFacts: "系列稿", compare.OtherDay: "系列稿", compare.LittleText: "与先到稿相同之处很少",
		compare.Denial: "存疑", compare.Moved: "存疑", compare.Headlines: "存疑", compare.TooLong: "存疑",
		Distance: "近似",
	},
	because: map[string]string{
		compare.Exact: "仅格式不同", compare.Denial: "标题与先到稿说法相反", compare.Moved: "句中词语换了位置",
		compare.Headlines: "正文相同，标题各说各的", compare.TooLong: "全文过长，只按摘要比较",
		compare.OtherDay: "另一日的同类消息",
	},
	all: "正文全见于先到稿", nearlyAll: "几乎全文见于先到稿", mostly: "大半见于先到稿", half: "约一半见于先到稿",
	noFigures: "无新数字", noNews: "无新内容", most: "大半", adds: "新增", addsAbout: "新增约%d字", lacks: "先到稿另有约%d字",
	against: "｜先到稿 ", list: "、", colon: "：", between: "；",
}

var english = words{
	relation: map[string]string{
		compare.Exact: "same text", compare.SameText: "same text", compare.Contained: "excerpt",
		compare.Reworded: "reworded", compare.Extends: "has the earlier text",
		compare.Overlap: "partly the earlier text", compare.Update: "follow-up",
		compare.OtherFacts: "series", compare.OtherDay: "series",
		compare.LittleText: "little in common with the earlier text",
		compare.Denial:     "in doubt", compare.Moved: "in doubt", compare.Headlines: "in doubt",
		compare.TooLong: "in doubt", Distance: "near",
	},
	because: map[string]string{
		compare.Exact: "only the form differs", compare.Denial: "the headline denies the earlier one",
		compare.Moved:     "words of a sentence have changed places",
		compare.Headlines: "one body under two headlines", compare.TooLong: "too long to compare in full",
		compare.OtherDay: "news of its kind of another day",
	},
	all: "all of it is in the earlier text", nearlyAll: "nearly all of it is in the earlier text",
	mostly: "most of it is in the earlier text", half: "about half of it is in the earlier text",
	noFigures: "no new figure", noNews: "nothing new", most: ", most of it", adds: "new",
	addsAbout: "about %d new characters", lacks: "the earlier text has about %d more",
	against: " | earlier: ", list: ", ", colon: ": ", between: "; ",
}

// Shares from which a text stands in another one as a whole, nearly, or mostly.
const (
	wholeShare  = .97
	nearlyShare = .9
	mostlyShare = .6
)

// worthSaying is the least number of characters that only the earlier text has and that are worth a word.
const worthSaying = 60

func wordsOf(language string) *words {
	if language == English {
		return &english
	}
	return &chinese
}

// Relation is the word for how the texts go together; empty: nothing is known.
func (f *Facts) Relation(language string) string {
	if f == nil {
		return ""
	}
	return wordsOf(language).relation[f.Reason]
}

// Sentence puts Facts into words.
func Sentence(f *Facts, language string) string {
	w := wordsOf(language)
	relation := f.Relation(language)
	if because := w.because[f.Reason]; because != "" && len(f.Conflict) == 0 {
		return relation + w.colon + because
	}
	if f.Coverage == nil {
		return relation
	}
	switch f.Reason {
	case compare.Extends:
		if f.Coverage.Earlier < wholeShare {
			relation += w.most
		}
	case compare.SameText, compare.Reworded, compare.Contained:
		return relation + w.colon + w.copied(f)
	case compare.OtherFacts, compare.OtherDay:
		return relation + w.pairs(f)
	}
	if added := w.added(f); added != "" {
		return relation + w.between + added
	}
	return relation
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

// added is what an item adds: a quotation, or else how much.
func (w *words) added(f *Facts) string {
	switch {
	case len(f.New.Quotes) > 0:
		return w.adds + w.colon + strings.Join(f.New.Quotes, w.list)
	case f.New.Characters > 0:
		return fmt.Sprintf(w.addsAbout, rounded(f.New.Characters))
	}
	return ""
}

// rounded is a number of characters to its first digit, or the first two from a hundred on.
func rounded(n int) int {
	unit := 10
	for n/unit >= 100 {
		unit *= 10
	}
	return max(unit, (n+unit/2)/unit*unit)
}
