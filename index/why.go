package index

import "fmt"

// Why puts an event into one sentence, in Chinese or English.
func Why(e *Event, language string) string {
	zh := language != English
	pick := func(chinese, english string) string {
		if zh {
			return chinese
		}
		return english
	}
	switch e.Cause {
	case CauseWithdrawal:
		return pick("来源方撤回", "withdrawn by its source")
	case CausePromotion:
		return pick("原首发撤回，最早的副本转为首发", "the former lead was taken back; this is its oldest copy")
	case CauseEditor:
		return pick("编辑决定", "an editor decided so")
	}
	switch e.Verdict {
	case Duplicate:
		return whyDuplicate(e, zh)
	case Suspect:
		return fmt.Sprintf(pick("疑似：与《%s》%s", "suspect: like %s: %s"), e.Of, whyFacts(e.Facts, zh))
	}
	if e.Series != 0 {
		return fmt.Sprintf(pick("系列稿：与 %s 同格式，%s", "a series: the form of %s, %s"), e.Of, whyFacts(e.Facts, zh))
	}
	return pick("未见过相近的稿件", "nothing like it has been seen")
}

func whyDuplicate(e *Event, zh bool) string {
	pick := func(chinese, english string) string {
		if zh {
			return chinese
		}
		return english
	}
	switch e.Rule {
	case ByBlocked:
		return fmt.Sprintf(pick("与已封禁的 %s 同文", "the same text as %s, which is blocked"), e.Of)
	case ByExact:
		return fmt.Sprintf(pick("与 %s 同文，仅格式不同", "the same text as %s, but for its form"), e.Of)
	case ByHamming:
		if e.Resemblance == nil && e.Distance != nil {
			return fmt.Sprintf(pick("与 %s 的指纹相差 %d 位", "its fingerprint is %[2]d bits from that of %[1]s"), e.Of, *e.Distance)
		}
	}
	return fmt.Sprintf(pick("与 %s %s", "like %s: %s"), e.Of, whyFacts(e.Facts, zh))
}

// whyFacts says how two texts go together.
func whyFacts(f *Facts, zh bool) string {
	if f == nil {
		if zh {
			return "同文"
		}
		return "the same text"
	}
	different := f.Numbers - f.Shared
	switch {
	case f.Numbers > 0 && different > 0 && zh:
		return fmt.Sprintf("同文，%d 处数字中 %d 处不同", f.Numbers, different)
	case f.Numbers > 0 && different > 0:
		return fmt.Sprintf("the same text, %d of %d figures differ", different, f.Numbers)
	case f.Numbers > 0 && zh:
		return fmt.Sprintf("同文，%d 处数字全部相同", f.Numbers)
	case f.Numbers > 0:
		return fmt.Sprintf("the same text, all %d figures agree", f.Numbers)
	case zh:
		return "同文"
	}
	return "the same text"
}

func noteSeparator(language string) string {
	if language == English {
		return ": "
	}
	return "："
}
