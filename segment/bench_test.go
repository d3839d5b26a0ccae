package segment

import (
	"strings"
	"sync"
	"testing"

	"github.com/go-ego/gse"

	"jianguo/compare"
	"jianguo/data"
)

// bulletin is written for the benchmarks; with its headline it has about 650
// characters.
const (
	bulletinTitle = "青禾河治理三年，沿岸村镇重见清流"
	bulletin      = `9月3日清晨，青禾河下游的柳桥村，六十二岁的渔民方守田撑着竹筏巡河。他告诉来访的客人，三年前这段河道还是黑的，夏天谁也不愿意从桥上走过，如今水草长起来了，白鹭也回来了。
青禾河全长187公里，流经四个县、三十一个乡镇。过去沿岸小作坊多，污水不经处理直接排入河中，2019年的监测显示，全河十二个断面中有九个水质劣于五类。2020年春天，四县联合成立治理办公室，约定统一规划、统一标准、统一执法，并从财政中拿出6.4亿元，用于截污管网和污水处理厂的建设。
治理从源头开始。三年间，沿岸关停和搬迁企业214家，新建污水处理厂7座，铺设管网530公里，日处理能力达到28万吨。与此同时，各村聘请了一千二百多名护河员，每天两次巡查，发现问题用手机拍照上传，平均四小时内就有回应。
“光靠罚款不行，得让大家看到好处。”治理办公室副主任林晓岚说。柳桥村把废弃的砖瓦厂改成了湿地公园，去年接待游客11.8万人次，村集体收入增加了九十多万元，三十多户村民办起了农家乐。
专家认为，青禾河的经验在于把上下游的账算在一起。上游县多投入一分，下游县就少花两分，补偿协议让双方都愿意坚持下去。根据最新的监测结果，今年1至8月，全河十二个断面水质全部达到三类以上，其中五个断面达到二类。
下一步，四县计划用两年时间恢复两岸的林带，种植乡土树种四十万株，并把巡河数据向公众开放。方守田说，他打算把竹筏留给孙子，“等他长大，这河还得有人看着。”`
)

var shipped = sync.OnceValue(func() *Segmenter {
	s, err := New(Config{Data: data.FS})
	if err != nil {
		panic(err)
	}
	return s
})

// The yardstick: gse's Segment alone on the same text.
func BenchmarkGSE(b *testing.B) {
	g := gse.Segmenter{SkipLog: true, NotLoadHMM: true}
	if err := g.LoadDictEmbed("zh_s"); err != nil {
		b.Fatal(err)
	}
	text := []byte(bulletinTitle + bulletin)
	b.ReportAllocs()
	for b.Loop() {
		g.Segment(text)
	}
}

func BenchmarkAnalyze(b *testing.B) {
	s := shipped()
	var x Text
	b.ReportAllocs()
	for b.Loop() {
		s.Analyze(&x, bulletinTitle, bulletin)
	}
}

// All that an item costs before the index: to be held against BenchmarkGSE.
func BenchmarkAnalyzeFingerprintAndSketch(b *testing.B) {
	s := shipped()
	var x Text
	b.ReportAllocs()
	for b.Loop() {
		s.Analyze(&x, bulletinTitle, bulletin)
		fingerprint(&x)
		compare.NewSketch(&compare.Text{Title: x.Title, Body: x.Body})
	}
}

func BenchmarkAnalyzeHTML(b *testing.B) {
	s := shipped()
	body := "<div><p>" + strings.ReplaceAll(bulletin, "\n", "</p>\n<p>") + "</p></div>"
	var x Text
	b.ReportAllocs()
	for b.Loop() {
		s.Analyze(&x, bulletinTitle, body)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(Config{Data: data.FS}); err != nil {
			b.Fatal(err)
		}
	}
}
