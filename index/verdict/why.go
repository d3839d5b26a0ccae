package verdict

import (
	"cmp"
	"fmt"

	"jianguo/compare/reason"
)

// unseen is said of an item that has met no earlier text.
var unseen = reason.Phrase{"未见过相近的稿件", "nothing like it has been seen"}

// byRule is what is said of a rule before what comparing the texts said.
var byRule = map[Rule]reason.Phrase{
	ByBlocked:    {"与已封禁的稿件同文", "the same text as a blocked item"},
	ByLicence:    {"授权转载，照发", "licensed, and published"},
	ByPreference: {"优先首发，接替首发", "preferred, and takes the lead"},
	ByExempt:     {"免比对，照发", "exempt from comparison, and published"},
	ByAside:      {"已搁置：相近的疑似稿一分钟内过多，照发", "set aside: too many suspects in a minute; published"},
}

// undone follows what an undo brings back: what else an event notes is of the undo.
var undone = reason.Phrase{"（后来的决定已撤销）", " (a later decision was taken back)"}

// Why puts an event into one sentence, in Chinese or English.
func Why(e *Event, language string) string {
	switch why := judged(e, language); {
	case e.Restores == 0:
		return why
	case e.EffectiveNote != "":
		return why + NoteSeparator.In(language) + e.EffectiveNote + undone.In(language)
	default:
		return why + undone.In(language)
	}
}

// judged is why the verdict of an event stands.
func judged(e *Event, language string) string {
	said := unseen
	switch cause := cmp.Or(e.EffectiveCause, e.Cause); {
	case cause == CauseWithdrawal:
		said = reason.Phrase{"来源方撤回", "withdrawn by its source"}
	case cause == CausePromotion && e.Of == "":
		said = reason.Phrase{"原首发稿撤回，最早的副本转为首发", "the former lead was taken back; this is its oldest copy"}
	case cause == CausePromotion && e.Rule == ByLicence:
		said = byRule[ByLicence]
	case cause == CausePromotion:
		said = reason.Phrase{"优先来源的稿件到达，本稿转为它的副本",
			"a copy of an item from a preferred source, which takes the lead"}
	case cause == CauseEditor:
		said = reason.Phrase{"编辑决定", "an editor decided so"}
	case e.Of != "":
		if rule, ok := byRule[e.Rule]; ok {
			return rule.In(language) + NoteSeparator.In(language) + compared(e, language)
		}
		return compared(e, language)
	}
	return said.In(language)
}

// compared is what comparing the texts said, or their fingerprints.
func compared(e *Event, language string) string {
	switch {
	case e.Facts != nil && e.Facts.Reason != reason.Distance:
		return reason.Sentence(e.Facts, language)
	case e.Distance != nil:
		distance := reason.Phrase{"与先到稿的指纹相差 %d 位", "the fingerprints differ in %d bits"}
		return fmt.Sprintf(distance.In(language), *e.Distance)
	}
	return unseen.In(language)
}

// NoteSeparator stands between an event's sentence and the note that follows it.
var NoteSeparator = reason.Phrase{"：", ": "}
