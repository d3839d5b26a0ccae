package verdict

import "testing"

func TestWhy(t *testing.T) {
	distance, resemblance := 2, float32(0.9)
	judged := func(v Verdict, f Facts) Event {
		return Event{Verdict: v, Cause: CauseIngest, Rule: ByMargin, Of: "a", Resemblance: &resemblance, Facts: &f}
	}
	series := judged(Unique, Facts{Reason: "other-facts", Coverage: &Coverage{.6, .6}, New: &New{}, Numbers: 9, Shared: 4, Conflicts: 5,
		Conflict: []string{"40万元 / 30万元", "8月11日 / 8月2日", "温州 / 金华"}})
	series.Series = 1
	for _, c := range []struct {
		e      Event
		zh, en string
	}{
		{Event{Verdict: Unique, Cause: CauseIngest}, "未见过相近的稿件", "nothing like it has been seen"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByExact, Of: "a"}, "同文：本稿与先到稿 a 仅格式不同", "the same text: this and the earlier a differ in form only"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByHamming, Of: "a", Distance: &distance}, "本稿与先到稿 a 的指纹相差 2 位", "the fingerprints of this text and the earlier a differ in 2 bits"},
		{judged(Duplicate, Facts{Reason: "same-text", Coverage: &Coverage{.98, .95}, New: &New{}, Numbers: 4, Shared: 4}),
			"同文：本稿 98% 见于先到稿 a，本稿 4 个数字全部见于先到稿", "the same text: 98% of this text is in the earlier a, all figures of this text (4) are in the earlier text"},
		{judged(Duplicate, Facts{Reason: "reworded", Coverage: &Coverage{.6, .6}, New: &New{}, Numbers: 4, Shared: 3, Conflicts: 1, Conflict: []string{"35亩 / 32亩"}}),
			"改写：本稿 60% 的文字见于先到稿 a，本稿 4 个数字中 3 个见于先到稿，不同：本稿 35亩，先到稿 32亩",
			"reworded: 60% of this text is in the earlier a, of the figures of this text (4) the earlier text has 3, different: this text 35亩, the earlier text 32亩"},
		{judged(Duplicate, Facts{Reason: "contained", Coverage: &Coverage{.93, .4}, New: &New{}, Lacks: 317}),
			"摘段：本稿 93% 见于先到稿 a，是其 40%，先到稿另有本稿没有的约 320 字",
			"an excerpt: 93% of this text is in the earlier a, 40% of which it is, the earlier text has about 320 characters that this text lacks"},
		{judged(Suspect, Facts{Reason: "extends", Coverage: &Coverage{.6, .95}, New: &New{Share: .3, Characters: 316, Text: "主办方回应称…", Facts: 2, Examples: []string{"529元", "8月10日"}}}),
			"本稿含先到稿 a 的 95%，另有先到稿没有的内容约 320 字：“主办方回应称…”，先到稿没有 529元、8月10日",
			"this text has 95% of the earlier a, this text adds about 320 characters: “主办方回应称…”, the earlier text lacks 529元, 8月10日"},
		{judged(Suspect, Facts{Reason: "in-doubt", Coverage: &Coverage{.98, .97}, New: &New{}, Conflicts: 1, Conflict: []string{"8月18日 / 8月17日"}}),
			"存疑：本稿 98% 的文字见于先到稿 a，不同：本稿 8月18日，先到稿 8月17日", "in doubt: 98% of this text is in the earlier a, different: this text 8月18日, the earlier text 8月17日"},
		{judged(Suspect, Facts{Reason: "in-doubt", Coverage: &Coverage{.68, .7}, New: &New{}}),
			"存疑：本稿 68% 的文字见于先到稿 a，是否同稿不能断定", "in doubt: 68% of this text is in the earlier a, which may be another article"},
		{series, "系列稿：本稿与先到稿 a 格式相同，事实不同：本稿 40万元、8月11日、温州，先到稿 30万元、8月2日、金华，等 5 处",
			"a series: this text has the form of the earlier a and other facts: this text 40万元, 8月11日, 温州, the earlier text 30万元, 8月2日, 金华, 5 in all"},
		{judged(Duplicate, Facts{Reason: "same-text", Numbers: 4, Shared: 3}), "同文：本稿与先到稿 a 相同", "the same text as the earlier a"},
		{judged(Unique, Facts{Reason: "little-text", Numbers: 4, Shared: 3}), "本稿与先到稿 a 相同之处很少", "this text has little in common with the earlier a"},
		{Event{Verdict: Unique, Cause: CauseIngest, Rule: ByLicence, Of: "a"}, "授权转载：本稿与先到稿 a 同文，照发", "licensed: the text of the earlier a, which its source may republish"},
		{Event{Verdict: Unique, Cause: CauseRevision, Rule: ByPreference, Of: "a"}, "优先首发：本稿与先到稿 a 同文，由本稿接替首发", "preferred: the text of the earlier a, which it takes the lead from"},
		{Event{Verdict: Duplicate, Cause: CausePromotion, Rule: ByPreference, Of: "a"}, "优先来源的 a 到达，本稿转为它的副本", "a copy of a, which came from a preferred source and takes the lead"},
		{Event{Verdict: Unique, Cause: CausePromotion, Rule: ByLicence, Of: "a"}, "授权转载：本稿与先到稿 a 同文，照发", "licensed: the text of the earlier a, which its source may republish"},
		{Event{Verdict: Unique, Cause: CausePromotion}, "原首发稿撤回，最早的副本转为首发", "the former lead was taken back; this is its oldest copy"},
	} {
		if got := Why(&c.e, Chinese); got != c.zh {
			t.Errorf("%q, want %q", got, c.zh)
		}
		if got := Why(&c.e, English); got != c.en {
			t.Errorf("%q, want %q", got, c.en)
		}
	}
}
