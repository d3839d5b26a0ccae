package compare

import (
	"strings"
	"testing"
	"time"

	"jianguo/internal/testbed"
)

// TestGrowth: no text of one repeated piece, or of two in turns, costs more than its length. A quadratic step would take
// minutes where a linear one takes a fraction of a second; growthMost lies between them on any machine.
func TestGrowth(t *testing.T) {
	pieces := []string{"零", "一", "十", "百", "万", "亿", "9", "1.", "1:", "1-", "3%", "a", "a1", "的", "年", "月", "日", "第", "百分之",
		"分之", "至", "比", "元", "公里", "每", "秒", "\n", " ", "2023年8月9日", "12:30", "h", "http", "某某市", "今天", "不", "1,", "-", "半",
		"余", "时"}
	const growthMost = 20 * time.Second
	limits, size := DefaultLimits(), testbed.Count(32, 128, 512)<<10
	for i, a := range pieces {
		for k, b := range pieces {
			if k < i || (i+k)%testbed.Count(9, 3, 1) != 0 && i != k {
				continue
			}
			text := strings.ToValidUTF8(strings.Repeat(a+b, size/len(a+b)+1)[:size], "")
			start := time.Now()
			d := NewDoc(&Text{Body: text})
			Judge(d, NewDoc(&Text{Body: text[:len(text)/2] + "完" + text[len(text)/2:]}), &limits)
			NewSketch(d.Text)
			if took := time.Since(start); took > growthMost {
				t.Errorf("%q: %v for %d KB", a+b, took, size>>10)
			}
		}
	}
}
