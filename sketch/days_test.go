package sketch

import (
	"fmt"
	"testing"
)

// published is 28 January 2026 in days since 1970.
const published = 20_481

// TestOwnDay: the notice of another day names that day at the same place, and a copy names the day of its original.
func TestOwnDay(t *testing.T) {
	notice := func(opening string, day int32) Input {
		body := "晚间消息汇总\n" + opening + "\n" + clauses(30, 0)
		for i := range 8 {
			body += fmt.Sprintf("%s共计%d吨\n", clauses(2, 40+3*i), 31+7*i)
		}
		return Input{Body: body, Published: day}
	}
	announced := notice("新春短片将于1月30日正式首映", published)
	for _, c := range []struct {
		name     string
		q, c     Input
		otherDay bool
	}{
		{"the notice of another day", notice("1月30日的晚间红包", published+2), notice("1月28日的晚间红包", published), true},
		{"another day, without the month", notice("30日的晚间红包", published+2), notice("28日的晚间红包", published), true},
		{"times in UTC, before the day begins in China", notice("1月30日的晚间红包", published+1), notice("1月28日的晚间红包", published-1), true},
		{"a copy of another day", notice("1月28日的晚间红包", published+2), notice("1月28日的晚间红包", published), false},
		{"another day at once", notice("1月30日的晚间红包", published), notice("1月28日的晚间红包", published), false},
		{"a slip of the pen", notice("1月18日的晚间红包", published+2), notice("1月28日的晚间红包", published), false},
		{"of two days that the earlier text names", notice("1月29日的晚间红包", published+1), notice("1月28日与29日的晚间红包", published), false},
		{"a day of another year", notice("2025年1月30日的晚间红包", published+2), notice("2025年1月28日的晚间红包", published), false},
		{"no times of publication", notice("1月30日的晚间红包", 0), notice("1月28日的晚间红包", 0), false},
		{"announced, and shown", notice("新春短片今日正式首映", published+2), announced, true},
		{"announced again", notice("新春短片将于1月30日正式首映", published+2), announced, false},
		{"announced for a later day", notice("新春短片不久正式首映", published+2), notice("新春短片将于2月6日正式首映", published), false},
		{"a day far below", notice("新春短片今日正式首映", published+2), notice("新春短片不久首映\n"+clauses(30, 0)+"活动到1月30日结束", published), false},
	} {
		r := compareTexts(c.q, c.c)
		th := DefaultThresholds()
		if got := th.Vetoed(&r); (got == "each tells of its own day") != c.otherDay {
			t.Errorf("%s: vetoed %q, %+v", c.name, got, r.Layout)
		}
		if j := Judge(r, th); (j.Kind == Duplicate) == c.otherDay {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
}

// TestRepriced: two headlines that differ in a figure tell of two offers, unless the earlier text has both figures or
// one is the other rounded.
func TestRepriced(t *testing.T) {
	offer := func(title, rest string) Input { return Input{Title: title, Body: clauses(40, 0) + rest} }
	for _, c := range []struct {
		name     string
		q, c     Input
		repriced bool
	}{
		{"another price", offer("原价8199元的电视今日降到4398元", ""), offer("原价8199元的电视今日降到4419元", ""), true},
		{"the same price", offer("原价8199元的电视今日只要4419元", ""), offer("原价8199元的电视今日降到4419元", ""), false},
		{"a price that the earlier text has", offer("原价8199元的电视今日降到4398元", ""), offer("原价8199元的电视今日降到4419元", "\n用券4398元"), false},
		{"rounded", offer("该公司因违法广告被罚没2669.27万元", ""), offer("该公司因违法广告被罚没2669万元", ""), false},
		{"another unit", offer("原价8199元的电视今日降价20%", ""), offer("原价8199元的电视今日降到4419元", ""), false},
		{"another headline", offer("年货节好价汇总4398元起", ""), offer("原价8199元的电视今日降到4419元", ""), false},
	} {
		r := compareTexts(c.q, c.c)
		th := DefaultThresholds()
		if got := th.Vetoed(&r); (got == "another figure in the headline") != c.repriced || r.Layout.Repriced != c.repriced {
			t.Errorf("%s: vetoed %q, %+v", c.name, got, r.Layout)
		}
		if j := Judge(r, th); (j.Kind == Duplicate) == c.repriced {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
}
