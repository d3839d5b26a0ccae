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

// Phrase is a phrase in Chinese and in English.
type Phrase [2]string

// In is the phrase in a language, Chinese unless it is English.
func (p Phrase) In(language string) string {
	if language == English {
		return p[1]
	}
	return p[0]
}

// relations are the words for how two texts go together, by reason.
var relations = map[string]Phrase{
	compare.Exact: {"同文", "same text"}, compare.SameText: {"同文", "same text"},
	compare.Contained: {"摘段", "excerpt"}, compare.Reworded: {"改写", "reworded"},
	compare.Extends: {"含先到稿", "has the earlier text"}, compare.Overlap: {"部分同先到稿", "partly the earlier text"},
	compare.Update: {"后续稿", "follow-up"}, compare.OtherFacts: {"系列稿", "series"},
	compare.OtherDay: {"系列稿", "series"}, compare.Denial: {"存疑", "in doubt"}, compare.Moved: {"存疑", "in doubt"},
	compare.Headlines: {"存疑", "in doubt"}, compare.TooLong: {"存疑", "in doubt"}, Distance: {"近似", "near"},
	compare.LittleText: {"与先到稿相同之处很少", "little in common with the earlier text"},
}

// because is what is said where nothing is quoted, by reason.
var because = map[string]Phrase{
	compare.Exact:     {"仅格式不同", "only the form differs"},
	compare.Denial:    {"标题与先到稿说法相反", "the headline denies the earlier one"},
	compare.Moved:     {"句中词语换了位置", "words of a sentence have changed places"},
	compare.Headlines: {"正文相同，标题各说各的", "one body under two headlines"},
	compare.TooLong:   {"全文过长，只按摘要比较", "too long to compare in full"},
	compare.OtherDay:  {"另一日的同类消息", "news of its kind of another day"},
}

var (
	colon   = Phrase{"：", ": "}
	between = Phrase{"；", "; "}
	list    = Phrase{"、", ", "}
)

// Shares from which a text stands in another one as a whole, nearly, or mostly.
const (
	wholeShare  = .97
	nearlyShare = .9
	mostlyShare = .6
)

// worthSaying is the least number of characters that only the earlier text has and that are worth a word.
const worthSaying = 60

// Relation is the word for how the texts go together; empty: nothing is known.
func (f *Facts) Relation(language string) string {
	if f == nil {
		return ""
	}
	return relations[f.Reason].In(language)
}

// Sentence puts Facts into words.
func Sentence(f *Facts, language string) string {
	said, colon := f.Relation(language), colon.In(language)
	if because, ok := because[f.Reason]; ok && len(f.Conflict) == 0 {
		return said + colon + because.In(language)
	}
	if f.Coverage == nil {
		return said
	}
	switch f.Reason {
	case compare.Extends:
		if f.Coverage.Earlier < wholeShare {
			said += Phrase{"大半", ", most of it"}.In(language)
		}
	case compare.SameText, compare.Reworded, compare.Contained:
		return said + colon + f.copied(language)
	case compare.OtherFacts, compare.OtherDay:
		return said + f.pairs(language)
	}
	switch between := between.In(language); {
	case len(f.New.Quotes) > 0:
		return said + between + Phrase{"新增", "new"}.In(language) + colon +
			strings.Join(f.New.Quotes, list.In(language))
	case f.New.Characters > 0:
		return said + between + fmt.Sprintf(Phrase{"新增约%d字", "about %d new characters"}.In(language),
			rounded(f.New.Characters))
	}
	return said
}

// copied says how much of a copy stands in the earlier text.
func (f *Facts) copied(language string) string {
	var said []string
	say := func(p Phrase, args ...any) { said = append(said, fmt.Sprintf(p.In(language), args...)) }
	switch c := f.Coverage.Later; {
	case c >= wholeShare && f.New.Characters == 0:
		say(Phrase{"正文全见于先到稿", "all of it is in the earlier text"})
	case c >= nearlyShare:
		say(Phrase{"几乎全文见于先到稿", "nearly all of it is in the earlier text"})
	case c >= mostlyShare:
		say(Phrase{"大半见于先到稿", "most of it is in the earlier text"})
	default:
		say(Phrase{"约一半见于先到稿", "about half of it is in the earlier text"})
	}
	switch {
	case f.New.Facts == 0 && f.New.Characters == 0:
		say(Phrase{"无新内容", "nothing new"})
	case f.New.Facts == 0:
		say(Phrase{"无新数字", "no new figure"})
	}
	if f.Reason == compare.Contained && f.Lacks >= worthSaying {
		say(Phrase{"先到稿另有约%d字", "the earlier text has about %d more"}, rounded(f.Lacks))
	}
	return strings.Join(said, between.In(language))
}

// pairs are the values and names in conflict: those of the item, then those of the earlier text.
func (f *Facts) pairs(language string) string {
	if len(f.Conflict) == 0 {
		return ""
	}
	var sides [2][]string
	for _, c := range f.Conflict {
		sides[0], sides[1] = append(sides[0], c[0]), append(sides[1], c[1])
	}
	return colon.In(language) + strings.Join(sides[0], list.In(language)) +
		Phrase{"｜先到稿 ", " | earlier: "}.In(language) + strings.Join(sides[1], list.In(language))
}

// rounded is a number of characters to its first digit, or the first two from a hundred on.
func rounded(n int) int {
	unit := 10
	for n/unit >= 100 {
		unit *= 10
	}
	return max(unit, (n+unit/2)/unit*unit)
}
