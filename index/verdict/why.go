package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"jianguo/sketch"
)

// Languages in which an event can say why.
const (
	Chinese = "zh"
	English = "en"
)

// phrases are the sentences of one language. %s is the earlier item's id; 本稿 (this text) is the later one,
// 先到稿 (the earlier text) the earlier one.
type phrases struct {
	withdrawn, promoted, edited, unseen string
	blocked, exact, distance, same      string
	licensed, preferred, yielded        string
	exempt, aside, little               string

	sameText, contained, contains, reworded string // duplicates; with shares
	extends, overlap, inDoubt, series       string
	related, loose                          string // neither a copy nor of one form, as far as was measured
	headlines                               string // the same short body
	undecided                               string // behind inDoubt, where nothing differs
	oneSided                                string // a suspect whose texts were not aligned
	estimated                               string // because they are too long
	characters, quote, lacks, adds          string
	figuresAgree, figuresShared             string
	figuresLacked, andMore                  string
	differ, against, more                   string
	list, note, comma                       string
}

var chinese = phrases{
	withdrawn: "来源方撤回", promoted: "原首发稿撤回，最早的副本转为首发", edited: "编辑决定", unseen: "未见过相近的稿件",
	blocked: "与已封禁的先到稿 %s 同文", exact: "同文：本稿与先到稿 %s 仅格式不同", distance: "本稿与先到稿 %s 的指纹相差 %d 位", same: "同文：本稿与先到稿 %s 相同",
	licensed: "授权转载：本稿与先到稿 %s 同文，照发", preferred: "优先首发：本稿与先到稿 %s 同文，由本稿接替首发", yielded: "优先来源的 %s 到达，本稿转为它的副本",
	exempt: "免比对：本稿与先到稿 %s 同文，编辑已定其不作比对，照发", aside: "已搁置：与先到稿 %s 相近的疑似稿一分钟内过多，本稿照发",
	little: "本稿与先到稿 %s 相同之处很少",

	sameText: "同文：本稿 %[2]d%% 见于先到稿 %[1]s", contained: "摘段：本稿 %[2]d%% 见于先到稿 %[1]s，是其 %[3]d%%",
	contains: "含先到稿：先到稿 %[1]s 的 %[3]d%% 见于本稿，占本稿 %[2]d%%", reworded: "改写：本稿 %[2]d%% 的文字见于先到稿 %[1]s",
	extends: "本稿含先到稿 %[1]s 的 %[3]d%%", overlap: "本稿 %[2]d%% 的文字见于先到稿 %[1]s",
	inDoubt: "存疑：本稿 %[2]d%% 的文字见于先到稿 %[1]s", undecided: "是否同稿不能断定", series: "系列稿：本稿与先到稿 %s 格式相同，事实不同", related: "相关稿：本稿 %[2]d%% 的文字见于先到稿 %[1]s，是其 %[3]d%%", loose: "相关稿：本稿与先到稿 %s 有相同之处",
	headlines:  "存疑：本稿与先到稿 %s 正文相同，标题各说各的，正文都没有提到",
	oneSided:   "本稿与先到稿 %s 大段相同，但各自篇幅不同",
	estimated:  "存疑：本稿与先到稿 %s 相近；全文过长，只按摘要比较",
	characters: "约 %d 字", quote: "“%s”", lacks: "先到稿另有本稿没有的约 %d 字", adds: "另有先到稿没有的内容",
	figuresAgree: "本稿 %d 个数字全部见于先到稿", figuresShared: "本稿 %d 个数字中 %d 个见于先到稿", figuresLacked: "先到稿没有 %s", andMore: "等 %d 个",
	differ: "不同", against: "本稿 %s，先到稿 %s", more: "等 %d 处",
	list: "、", note: "：", comma: "，",
}

var english = phrases{
	withdrawn: "withdrawn by its source", promoted: "the former lead was taken back; this is its oldest copy", edited: "an editor decided so", unseen: "nothing like it has been seen",
	blocked: "the same text as the earlier %s, which is blocked", exact: "the same text: this and the earlier %s differ in form only", distance: "the fingerprints of this text and the earlier %s differ in %d bits", same: "the same text as the earlier %s",
	licensed: "licensed: the text of the earlier %s, which its source may republish", preferred: "preferred: the text of the earlier %s, which it takes the lead from",
	yielded: "a copy of %s, which came from a preferred source and takes the lead",
	exempt:  "exempt: the text of the earlier %s, with which an editor lets nothing be compared", aside: "set aside: like the earlier %s, which has had too many suspects in a minute",
	little: "this text has little in common with the earlier %s",

	sameText: "the same text: %[2]d%% of this text is in the earlier %[1]s", contained: "an excerpt: %[2]d%% of this text is in the earlier %[1]s, %[3]d%% of which it is",
	contains: "contains the earlier text: %[3]d%% of %[1]s is in this text, %[2]d%% of which it is", reworded: "reworded: %[2]d%% of this text is in the earlier %[1]s",
	extends: "this text has %[3]d%% of the earlier %[1]s", overlap: "%[2]d%% of this text is in the earlier %[1]s",
	inDoubt: "in doubt: %[2]d%% of this text is in the earlier %[1]s", undecided: "which may be another article", series: "a series: this text has the form of the earlier %s and other facts", related: "related: %[2]d%% of this text is in the earlier %[1]s, %[3]d%% of which it is", loose: "related: this text has something in common with the earlier %s",
	headlines:  "in doubt: the body is that of the earlier %s, the headlines are of two matters, and the body says nothing of either",
	oneSided:   "this text has much in common with the earlier %s, and one of them has more",
	estimated:  "in doubt: this text is like the earlier %s; the texts are too long to compare, so this is an estimate",
	characters: " about %d characters", quote: "“%s”", lacks: "the earlier text has about %d characters that this text lacks", adds: "this text adds",
	figuresAgree: "all figures of this text (%d) are in the earlier text", figuresShared: "of the figures of this text (%d) the earlier text has %d", figuresLacked: "the earlier text lacks %s", andMore: " and others, %d in all",
	differ: "different", against: "this text %s, the earlier text %s", more: "%d in all",
	list: ", ", note: ": ", comma: ", ",
}

func phrasesOf(language string) *phrases {
	if language == English {
		return &english
	}
	return &chinese
}

// formed reports whether a text has the form of the earlier one: more than one fact differs, or who it is about, or half of it is
// in common; most of both, if but a time differs, which a retelling of one event may name too.
func (f *Facts) formed() bool {
	timed := len(f.Conflict) == 1 && strings.ContainsAny(f.Conflict[0], "年月日时")
	return f.Conflicts > 1 || f.Coverage == nil || f.Coverage.Later >= .5 && !timed || min(f.Coverage.Later, f.Coverage.Earlier) >= most ||
		!strings.ContainsAny(f.Conflict[0], "0123456789")
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
		return p.withFacts(p.licensed, e)
	case e.Rule == ByPreference:
		return p.withFacts(p.preferred, e)
	case e.Rule == ByExempt, e.Rule == ByAside, e.Rule == ByBlocked:
		return fmt.Sprintf(map[Rule]string{ByExempt: p.exempt, ByAside: p.aside, ByBlocked: p.blocked}[e.Rule], e.Of)
	case e.Facts != nil && e.Facts.Reason == sketch.Headlines:
		return fmt.Sprintf(p.headlines, e.Of)
	case e.Rule == ByExact:
		return fmt.Sprintf(p.exact, e.Of)
	case e.Resemblance == nil && e.Distance != nil:
		return fmt.Sprintf(p.distance, e.Of, *e.Distance)
	}
	if e.Facts != nil && e.Facts.Reason == sketch.LittleText {
		return fmt.Sprintf(p.little, e.Of)
	}
	if e.Series != 0 {
		said := p.conflicts(e.Facts)
		switch {
		case len(said) > 0 && e.Facts.formed():
			return fmt.Sprintf(p.series, e.Of) + p.note + said[0]
		case e.Facts == nil || e.Facts.Coverage == nil:
			return p.withFacts(p.loose, e)
		}
		form := fmt.Sprintf(p.related, e.Of, percent(e.Facts.Coverage.Later), percent(e.Facts.Coverage.Earlier))
		return strings.Join(slices.Concat([]string{form}, p.facts(e.Facts), p.added(e.Facts, worthAdded)), p.comma)
	}
	return strings.Join(p.judged(e.Of, e.Facts), p.comma)
}

// withFacts is a sentence about the earlier text, and how the figures compare.
func (p *phrases) withFacts(form string, e *Event) string {
	return strings.Join(append([]string{fmt.Sprintf(form, e.Of)}, p.facts(e.Facts)...), p.comma)
}

// judged says what the texts share and what is new.
func (p *phrases) judged(of string, f *Facts) []string {
	if f == nil || f.Coverage == nil {
		return []string{fmt.Sprintf(p.unaligned(f), of)}
	}
	form := map[string]string{sketch.SameText: p.sameText, sketch.Contained: p.contained, sketch.Reworded: p.reworded,
		sketch.Extends: p.extends, sketch.Overlap: p.overlap, sketch.InDoubt: p.inDoubt}[f.Reason]
	if f.Reason == sketch.Reworded && contained(f.Coverage.Earlier, f.Coverage.Later, f.New.Characters) {
		form = p.contains
	}
	said := []string{fmt.Sprintf(form, of, percent(f.Coverage.Later), percent(f.Coverage.Earlier))}
	switch f.Reason {
	case sketch.Extends, sketch.Overlap:
		said = slices.Concat(said, p.added(f, 1), p.differing(f), p.lacking(f.New, examples))
	case sketch.InDoubt:
		if len(f.Conflict) == 0 {
			said = append(said, p.undecided)
		}
		fallthrough
	default:
		said = slices.Concat(said, p.facts(f), p.added(f, worthAdded))
	}
	if f.Lacks >= worthAdded || f.Lacks >= worthwhile && f.Reason != sketch.SameText {
		said = append(said, fmt.Sprintf(p.lacks, rounded(f.Lacks)))
	}
	return said
}

// Least numbers of characters that only one text has and that are worth a word: of the earlier text, and of one that is rejected
// or belongs to a series, where little is often what a page shows beside an article.
const (
	worthwhile = 30
	worthAdded = 60
	worthShare = .2 // of a short text, less than worthAdded is much
)

// added quotes what a text adds, if that has at least so many characters.
func (p *phrases) added(f *Facts, least int) []string {
	if f.New == nil || f.New.Characters < least && (f.New.Share < worthShare || f.New.Characters < worthwhile) {
		return nil
	}
	said := p.adds + fmt.Sprintf(p.characters, rounded(f.New.Characters))
	if f.New.Text != "" {
		said += p.note + fmt.Sprintf(p.quote, f.New.Text)
	}
	return []string{said}
}

// lacking names some of the figures that the earlier text lacks.
func (p *phrases) lacking(n *New, most int) []string {
	if n == nil || n.Facts == 0 {
		return nil
	}
	named := n.Examples[:min(most, len(n.Examples))]
	said := fmt.Sprintf(p.figuresLacked, strings.Join(named, p.list))
	if n.Facts > len(named) {
		said += fmt.Sprintf(p.andMore, n.Facts)
	}
	return []string{said}
}

func (p *phrases) unaligned(f *Facts) string {
	if f != nil && f.Reason == sketch.Estimated {
		return p.estimated
	}
	if f != nil && (f.Reason == sketch.OneSided || f.Reason == sketch.InDoubt) {
		return p.oneSided
	}
	return p.same
}

func percent(share float32) int { return int(math.Round(100 * float64(share))) }

// rounded is a number of characters to its first two digits.
func rounded(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// facts compares the figures of two texts in words.
func (p *phrases) facts(f *Facts) (said []string) {
	switch {
	case f == nil:
		return nil
	case f.Numbers == 0:
	case f.Numbers == f.Shared:
		said = append(said, fmt.Sprintf(p.figuresAgree, f.Numbers))
	default:
		if f.Shared > 0 {
			said = append(said, fmt.Sprintf(p.figuresShared, f.Numbers, f.Shared))
		}
		if len(f.Conflict) == 0 {
			said = append(said, p.lacking(f.New, 3)...)
		}
	}
	return append(said, p.differing(f)...)
}

// differing is conflicts behind the word for it.
func (p *phrases) differing(f *Facts) []string {
	if said := p.conflicts(f); len(said) > 0 {
		return []string{p.differ + p.note + said[0]}
	}
	return nil
}

// conflicts puts side by side what the two texts have at the same places.
func (p *phrases) conflicts(f *Facts) []string {
	if f == nil || len(f.Conflict) == 0 {
		return nil
	}
	var later, earlier []string
	for _, pair := range f.Conflict[:min(3, len(f.Conflict))] {
		a, b, _ := strings.Cut(pair, " / ")
		later, earlier = append(later, a), append(earlier, b)
	}
	said := fmt.Sprintf(p.against, strings.Join(later, p.list), strings.Join(earlier, p.list))
	if f.Conflicts > len(later) {
		said += p.comma + fmt.Sprintf(p.more, f.Conflicts)
	}
	return []string{said}
}

// NoteSeparator stands between an event's sentence and the note that follows it.
func NoteSeparator(language string) string { return phrasesOf(language).note }
