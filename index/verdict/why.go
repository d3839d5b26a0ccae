package verdict

import (
	"cmp"
	"fmt"

	"jianguo/compare/reason"
)

// causes are the sentences about what no comparison of texts says, in Chinese and English.
type causes struct {
	withdrawn, promoted, edited, unseen, yielded    string
	blocked, licensed, preferred, exempt, aside, of string
	distance                                        string
}

var causesOf = map[string]*causes{
	reason.Chinese: {
		withdrawn: "来源方撤回", promoted: "原首发稿撤回，最早的副本转为首发", edited: "编辑决定", unseen: "未见过相近的稿件",
		yielded: "优先来源的稿件到达，本稿转为它的副本", blocked: "与已封禁的稿件同文", licensed: "授权转载，照发", preferred: "优先首发，接替首发",
		exempt: "免比对，照发", aside: "已搁置：相近的疑似稿一分钟内过多，照发", of: "%s：%s", distance: "与先到稿的指纹相差 %d 位",
	},
	reason.English: {
		withdrawn: "withdrawn by its source", promoted: "the former lead was taken back; this is its oldest copy",
		edited:  "an editor decided so",
		unseen:  "nothing like it has been seen",
		yielded: "a copy of an item from a preferred source, which takes the lead",
		blocked: "the same text as a blocked item", licensed: "licensed, and published",
		preferred: "preferred, and takes the lead",
		exempt:    "exempt from comparison, and published",
		aside:     "set aside: too many suspects in a minute; published",
		of:        "%s: %s",
		distance:  "the fingerprints differ in %d bits",
	},
}

// Why puts an event into one sentence, in Chinese or English.
func Why(e *Event, language string) string {
	w := causesOf[language]
	if w == nil {
		w = causesOf[reason.Chinese]
	}
	cause := cmp.Or(e.Stands, e.Cause)
	switch {
	case cause == CauseWithdrawal:
		return w.withdrawn
	case cause == CausePromotion && e.Of == "":
		return w.promoted
	case cause == CausePromotion && e.Rule == ByLicence:
		return w.licensed
	case cause == CausePromotion:
		return w.yielded
	case cause == CauseEditor:
		return w.edited
	case e.Of == "":
		return w.unseen
	}
	said := w.compared(e, language)
	if byRule := map[Rule]string{ByBlocked: w.blocked, ByLicence: w.licensed, ByPreference: w.preferred,
		ByExempt: w.exempt,
		ByAside:  w.aside}[e.Rule]; byRule != "" {
		return fmt.Sprintf(w.of, byRule, said)
	}
	return said
}

// compared is what comparing the texts said, or their fingerprints.
func (w *causes) compared(e *Event, language string) string {
	switch {
	case e.Facts != nil && e.Facts.Reason != reason.Distance:
		return reason.Sentence(e.Facts, language)
	case e.Distance != nil:
		return fmt.Sprintf(w.distance, *e.Distance)
	}
	return w.unseen
}

// NoteSeparator stands between an event's sentence and the note that follows it.
func NoteSeparator(language string) string {
	if language == reason.English {
		return ": "
	}
	return "："
}
