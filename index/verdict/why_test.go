package verdict

import "testing"

func TestWhy(t *testing.T) {
	distance, resemblance := 2, float32(0.9)
	for _, c := range []struct {
		e      Event
		zh, en string
	}{
		{Event{Verdict: Unique, Cause: CauseIngest}, "未见过相近的稿件", "nothing like it has been seen"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByExact, Of: "a"}, "与 a 同文，仅格式不同", "the same text as a, but for its form"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByHamming, Of: "a", Distance: &distance}, "与 a 的指纹相差 2 位", "its fingerprint and that of a differ in 2 bits"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByMargin, Of: "a", Resemblance: &resemblance, Facts: &Facts{Numbers: 4, Shared: 4, Conflict: []string{"比较 / 较为"}}},
			"与 a 同文，4 处数字全部相同，不同处：比较 / 较为", "the same text as a, all 4 figures agree, what differs: 比较 / 较为"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByMargin, Of: "a", Resemblance: &resemblance, Facts: &Facts{Numbers: 4, Shared: 3, Conflict: []string{"35亩 / 32亩"}}},
			"与 a 同文，4 处数字中 1 处不同，如 35亩 / 32亩", "the same text as a, of 4 figures 1 differ, as 35亩 / 32亩"},
		{Event{Verdict: Unique, Cause: CauseIngest, Of: "a", Resemblance: &resemblance, Facts: &Facts{Reason: "little-text", Numbers: 4, Shared: 3}},
			"与 a 相同之处很少", "little in common with a"},
		{Event{Verdict: Unique, Cause: CauseIngest, Rule: ByLicence, Of: "a"}, "授权转载：与 a 同文，照发", "licensed: the text of a, which its source may republish"},
		{Event{Verdict: Unique, Cause: CauseRevision, Rule: ByPreference, Of: "a"}, "优先首发：与 a 同文，由本稿接替首发", "preferred: the text of a, which it takes the lead from"},
		{Event{Verdict: Duplicate, Cause: CausePromotion, Rule: ByPreference, Of: "a"}, "优先来源的 a 到达，本稿转为它的副本", "a copy of a, which came from a preferred source and takes the lead"},
		{Event{Verdict: Unique, Cause: CausePromotion, Rule: ByLicence, Of: "a"}, "授权转载：与 a 同文，照发", "licensed: the text of a, which its source may republish"},
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
