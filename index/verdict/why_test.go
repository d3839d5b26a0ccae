package verdict

import (
	"testing"

	"jianguo/compare"
	"jianguo/compare/reason"
)

func TestWhy(t *testing.T) {
	distance := 2
	exact := &reason.Facts{Reason: compare.Exact}
	for _, c := range []struct {
		e      Event
		zh, en string
	}{
		{Event{Verdict: Unique, Cause: CauseIngest}, "未见过相近的稿件", "nothing like it has been seen"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByExact, Of: "a", Facts: exact}, "同文：正文与先到稿或其副本相同", "same text: the body is that of the earlier text or of a copy"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByHamming, Of: "a", Distance: &distance, Facts: &reason.Facts{Reason: reason.Distance}},
			"与先到稿的指纹相差 2 位", "the fingerprints differ in 2 bits"},
		{Event{Verdict: Unique, Cause: CauseIngest, Rule: ByLicence, Of: "a", Facts: exact}, "授权转载，照发：同文：正文与先到稿或其副本相同",
			"licensed, and published: same text: the body is that of the earlier text or of a copy"},
		{Event{Verdict: Duplicate, Cause: CauseIngest, Rule: ByBlocked, Of: "a", Facts: exact}, "与已封禁的稿件同文：同文：正文与先到稿或其副本相同",
			"the same text as a blocked item: same text: the body is that of the earlier text or of a copy"},
		{Event{Verdict: Unique, Cause: CausePromotion}, "原首发稿撤回，最早的副本转为首发", "the former lead was taken back; this is its oldest copy"},
	} {
		if got := Why(&c.e, reason.Chinese); got != c.zh {
			t.Errorf("%q, want %q", got, c.zh)
		}
		if got := Why(&c.e, reason.English); got != c.en {
			t.Errorf("%q, want %q", got, c.en)
		}
	}
}
