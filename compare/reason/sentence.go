package reason

import (
	"fmt"
	"strings"

	"jianguo/compare"
)

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

// reasons are what is said by reason: of how two texts go together, where no share tells it, and why.
var reasons = map[string][2]Phrase{
	compare.Exact:       {{"同文", "same text"}, {"正文与先到稿或其副本相同", "the body is that of the earlier text or of a copy"}},
	compare.OtherDay:    {{"格式相同", "one form"}, {"日期不同", "another day"}},
	compare.OtherFacts:  {{"格式相同", "one form"}, {"数字或名称不同", "other figures or names"}},
	compare.Denial:      {{"存疑", "in doubt"}, {"标题与先到稿说法相反", "the headline denies the earlier one"}},
	compare.Moved:       {{"存疑", "in doubt"}, {"句中词语换了位置", "words of a sentence have changed places"}},
	compare.Replaced:    {{"存疑", "in doubt"}, {"换了词", "other words"}},
	compare.Headlines:   {{"存疑", "in doubt"}, {"正文相同，标题各说各的", "one body under two headlines"}},
	compare.TooLong:     {{"存疑", "in doubt"}, {"全文过长，只按摘要比较", "too long to compare in full"}},
	compare.LittleText:  {{"与先到稿相同之处很少", "little in common with the earlier text"}},
	compare.OtherMatter: {{"与先到稿只有背景相同", "only background in common with the earlier text"}},
	Distance:            {{"近似", "near"}},
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
	word, c := reasons[f.Reason][0], f.Coverage
	quoted := c != nil && len(f.New.Quotes) > 0
	switch {
	case c == nil || reasons[f.Reason][1][0] != "" && !quoted:
	case min(c.Later, c.Earlier) >= wholeShare && f.New.Characters == 0:
		word = reasons[compare.Exact][0]
	case c.Later >= wholeShare && f.New.Characters == 0:
		word = Phrase{"正文全见于先到稿", "all of it is in the earlier text"}
	case min(c.Later, c.Earlier) >= compare.NearlyAll && !quoted:
		word = Phrase{"几乎同文", "nearly the same text"}
	case c.Earlier >= wholeShare:
		word = Phrase{"含先到稿", "has the earlier text"}
	case c.Later >= compare.NearlyAll:
		word = Phrase{"几乎全文见于先到稿", "nearly all of it is in the earlier text"}
	case c.Later > .5 && !quoted && f.Reason != compare.Update:
		word = Phrase{"大半相同，或为改写", "mostly the same, or reworded"}
	case c.Earlier >= compare.Most && c.Later < compare.Most:
		word = Phrase{"含先到稿大半", "has most of the earlier text"}
	case c.Later > .5:
		word = Phrase{"大半相同", "mostly the same"}
	default:
		word = Phrase{"部分相同", "partly the same"}
	}
	return word.In(language)
}

// Sentence puts Facts into words: the relation, and the one decisive thing.
func Sentence(f *Facts, language string) string {
	word, colon := f.Relation(language), colon.In(language)
	why := reasons[f.Reason][1].In(language)
	switch {
	case len(f.Conflict) > 0:
		return word + f.pairs(language)
	case f.Coverage != nil && len(f.New.Quotes) > 0:
		return word + Phrase{"；新增", "; new"}.In(language) + colon + strings.Join(f.New.Quotes, list.In(language))
	case why != "":
		return word + colon + why
	case f.added() > 0:
		return word + fmt.Sprintf(Phrase{"；新增约%d字", "; about %d new characters"}.In(language), f.added())
	}
	return word
}

// added is how many characters an item has beside the whole of the earlier text, rounded to tens; 0 if it lacks some of
// that, which its own clauses may then tell in other words.
func (f *Facts) added() int {
	if c := f.Coverage; c == nil || c.Earlier < wholeShare || c.Later >= compare.NearlyAll {
		return 0
	}
	return (f.New.Characters + 5) / 10 * 10
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
