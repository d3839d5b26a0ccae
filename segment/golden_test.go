package segment

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt")

// vectors are texts written for this test. A change of testdata/golden.txt is
// a change of the recipe: every stored fingerprint has to be computed again.
var vectors = []struct{ name, title, body string }{
	{"article", bulletinTitle, bulletin},
	{"article as a page, traditional", bulletinTitle, "<p>" + strings.ReplaceAll("青禾河全長187公里，流經四個縣、三十一個鄉鎮。\n三年間，沿岸關停和搬遷企業214家。", "\n", "</p><p>") + "</p>"},
	{"short", "城北大桥今晨通车", "城北大桥今天早上6点正式通车，全长1.8公里，双向六车道，首日免费。"},
	{"bulletin", "", "【快讯】青禾股份（600999）8月9日收盘报12.35元，下跌2.14%，成交额3.2亿元，换手率1,024手。"},
	{"numbers only", "", "03 11 19 27 28 33 + 09"},
	{"stop words only", "", "的，了，是的。"},
	{"Latin", "Release notes", "The quick-witted fox doesn't jump over 3.5 lazy dogs; see https://example.com/a?b=1."},
	{"other scripts", "", "Привет, мир! 안녕하세요 세계. こんにちは、世界。"},
	{"blank", "", "……🔥"},
}

func TestGolden(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "recipe %s\n", shipped().Recipe())
	for _, v := range vectors {
		x := analyze(v.title, v.body)
		p := fingerprint(x)
		fmt.Fprintf(&b, "\n%s\nexact %x\nfingerprint %s\nmargins", v.name, x.Exact, p.Fingerprint)
		for _, m := range p.Margins[:8] {
			fmt.Fprintf(&b, " %.3f", m)
		}
		fmt.Fprintf(&b, "\nwords %s\nnames %s\nterms", strings.Join(wordsOf(x), "/"), strings.Join(namesOf(x), "/"))
		for _, term := range x.Terms[:min(6, len(x.Terms))] {
			fmt.Fprintf(&b, " %s %.4f", strings.ReplaceAll(term.Text, " ", "_"), term.Weight)
		}
		fmt.Fprintf(&b, " (%d)\n", len(x.Terms))
	}
	const file = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the recipe has changed (-update rewrites it): %s", d)
	}
}
