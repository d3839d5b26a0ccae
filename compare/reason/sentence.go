package reason

import (
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

// relations are the words for how two texts go together, by reason, where shares do not tell it.
var relations = map[string]Phrase{
	compare.Exact: {"同文", "same text"}, compare.OtherFacts: {"系列稿", "series"},
	compare.OtherDay: {"系列稿", "series"}, compare.Denial: {"存疑", "in doubt"}, compare.Moved: {"存疑", "in doubt"},
	compare.Headlines: {"存疑", "in doubt"}, compare.Replaced: {"存疑", "in doubt"},
	compare.TooLong: {"存疑", "in doubt"}, Distance: {"近似", "near"},
	compare.LittleText: {"与先到稿相同之处很少", "little in common with the earlier text"},
}

// because is what is said where nothing is quoted, by reason.
var because = map[string]Phrase{
	compare.Exact:     {"正文与先到稿或其副本相同", "the body is that of the earlier text or of a copy"},
	compare.Denial:    {"标题与先到稿说法相反", "the headline denies the earlier one"},
	compare.Moved:     {"句中词语换了位置", "words of a sentence have changed places"},
	compare.Replaced:  {"换了词", "other words"},
	compare.Headlines: {"正文相同，标题各说各的", "one body under two headlines"},
	compare.TooLong:   {"全文过长，只按摘要比较", "too long to compare in full"},
	compare.OtherDay:  {"另一日的同类消息", "news of its kind of another day"},
}

var colon, list = Phrase{"：", ": "}, Phrase{"、", ", "}

// wholeShare is the share of a text from which it stands in another one as a whole.
const wholeShare = .97

// Relation is a word for how the texts go together: what was measured on both, where they were aligned. Empty: nothing
// is known.
func (f *Facts) Relation(language string) string {
	if f == nil {
		return ""
	}
	word, _ := f.relation()
	return word.In(language)
}

// relation is the word of Relation, and whether a sentence begins with it; else it begins with what is covered.
func (f *Facts) relation() (word Phrase, begins bool) {
	_, known := because[f.Reason]
	switch c := f.Coverage; {
	case c == nil || known || f.Reason == compare.OtherFacts:
		return relations[f.Reason], true
	case min(c.Later, c.Earlier) >= compare.NearlyAll:
		return relations[compare.Exact], true
	case c.Later >= compare.NearlyAll && c.Earlier < compare.Most:
		return Phrase{"摘段", "excerpt"}, true
	case max(c.Later, c.Earlier) >= compare.Most:
		return Phrase{"大半相同", "mostly the same"}, false
	}
	return Phrase{"部分相同", "partly the same"}, false
}

// covered says how much of each text is in the other one. They were aligned.
func (f *Facts) covered(language string) string {
	said, extends := Phrase{"部分见于先到稿", "part of it is in the earlier text"}, f.Reason == compare.Extends ||
		f.Reason == compare.Update
	switch c := f.Coverage; {
	case extends && c.Earlier >= wholeShare:
		said = Phrase{"含先到稿", "has the earlier text"}
	case extends && c.Earlier >= compare.Most && c.Later < c.Earlier:
		said = Phrase{"含先到稿大半", "has most of the earlier text"}
	case c.Later >= wholeShare && f.New.Characters == 0:
		said = Phrase{"正文全见于先到稿", "all of it is in the earlier text"}
	case c.Later >= compare.NearlyAll:
		said = Phrase{"几乎全文见于先到稿", "nearly all of it is in the earlier text"}
	case len(f.New.Quotes) == 0 && c.Later > .5 && !extends && f.Reason != compare.OtherFacts:
		said = Phrase{"大半见于先到稿，或为改写", "most of it is in the earlier text, or reworded"}
	case c.Later >= compare.Most:
		said = Phrase{"大半见于先到稿", "most of it is in the earlier text"}
	}
	return said.In(language)
}

// Sentence puts Facts into words.
func Sentence(f *Facts, language string) string {
	relation, begins := f.relation()
	word, colon := relation.In(language), colon.In(language)
	if len(f.Conflict) > 0 {
		return word + f.pairs(language)
	}
	if because, ok := because[f.Reason]; ok {
		return word + colon + because.In(language)
	}
	if f.Coverage == nil {
		return word
	}
	switch said := f.covered(language); {
	case len(f.New.Quotes) > 0:
		return said + Phrase{"；新增", "; new"}.In(language) + colon +
			strings.Join(f.New.Quotes, list.In(language))
	case begins:
		return word + colon + said
	default:
		return said
	}
}

// pairs are the values and names in conflict: those of the item, then those of the earlier text.
func (f *Facts) pairs(language string) string {
	var sides [2][]string
	for _, c := range f.Conflict {
		sides[0], sides[1] = append(sides[0], c[0]), append(sides[1], c[1])
	}
	return colon.In(language) + strings.Join(sides[0], list.In(language)) +
		Phrase{"｜先到稿 ", " | earlier: "}.In(language) + strings.Join(sides[1], list.In(language))
}
