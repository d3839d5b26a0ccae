package sketch

import (
	"strings"
	"testing"
)

// article makes a text of n clauses without any real one.
func article(n, seed int) string {
	var b strings.Builder
	const stock = "今年上半年全市新建道路里程同比增长有关负责人表示将继续推进下一阶段工作确保按期完成任务并接受社会监督居民对此表示欢迎记者现场看到施工有序进行"
	runes := []rune(stock)
	for i := range n {
		h := mix(uint64(i + seed*1000))
		for range 12 {
			h = mix(h)
			b.WriteRune(runes[pick(h, len(runes))])
		}
		if i%3 == 0 {
			b.WriteString("2023年8月9日3.5%")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func BenchmarkMake(b *testing.B) {
	in := Input{Body: article(45, 1)}
	b.ReportAllocs()
	for b.Loop() {
		Make(in)
	}
}

func BenchmarkAlign(b *testing.B) {
	x, y := article(45, 1), article(45, 2)
	q, c := Input{Body: x}, Input{Body: x[:len(x)/2] + "\n" + y[len(y)/2:]}
	b.ReportAllocs()
	for b.Loop() {
		compareTexts(q, c)
	}
}

func BenchmarkCompare(b *testing.B) {
	x, y := Make(Input{Body: article(45, 1)}), Make(Input{Body: article(45, 2)})
	b.ReportAllocs()
	for b.Loop() {
		Compare(&x, &y)
	}
}
