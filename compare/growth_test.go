package compare

import (
	"strings"
	"testing"
	"time"

	"jianguo/internal/testbed"
)

// TestGrowth: no text of one repeated piece, or of two in turns, costs more than its length: eight times as long a text takes at most ten
// times as long to prepare and to judge. The pieces are characters of every kind and the words of the tables.
func TestGrowth(t *testing.T) {
	pieces := []string{"零", "一", "十", "百", "万", "亿", "9", "1.", "1:", "1-", "3%", "a", "a1", "的", "年", "月", "日", "第", "百分之", "分之",
		"至", "比", "元", "公里", "每", "秒", "\n", " ", "2023年8月9日", "12:30", "h", "http", "某某市", "今天", "不", "1,", "-", "半", "余", "时"}
	limits := DefaultLimits()
	cost := func(text string) time.Duration {
		best := time.Hour
		for range 2 {
			start := time.Now()
			d := NewDoc(&Text{Body: text})
			Judge(d, NewDoc(&Text{Body: text[:len(text)/2] + "完" + text[len(text)/2:]}), &limits)
			NewSketch(d.Text)
			best = min(best, time.Since(start))
		}
		return best
	}
	for i, a := range pieces {
		for k, b := range pieces {
			if k < i || (i+k)%testbed.Count(9, 3, 1) != 0 && i != k {
				continue
			}
			small, large := testbed.Count(4, 16, 64)<<10, testbed.Count(32, 128, 512)<<10
			text := func(n int) string { return strings.Repeat(a+b, n/len(a+b)+1)[:n] }
			if s, l := cost(strings.ToValidUTF8(text(small), "")), cost(strings.ToValidUTF8(text(large), "")); l > 12*s+40*time.Millisecond*time.Duration(large>>15) {
				t.Errorf("%q: %v for %d KB, %v for %d KB", a+b, s, small>>10, l, large>>10)
			}
		}
	}
}
