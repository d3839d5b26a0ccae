package sources

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"jianguo/compare"
)

// A footer that recurs is learned, and so is the name of a site behind headlines, but not what the bodies say, too. A date that recurs is not: it tells a notice from that of another day.
func TestLearn(t *testing.T) {
	s := new(Clauses)
	for i := range uint64(2 * minArticles) {
		s = s.Learn(fmt.Sprint("a", i), &compare.Text{Title: "柳桥村修桥\n青禾新闻\n另一件事情",
			Body: fmt.Sprintf("1月27日\n第%d篇说的是另一件事情\n更多内容请下载客户端", i)}, i)
	}
	p := s.Passages()
	if site := slices.IndexFunc(p, func(p Passage) bool { return p.Text == "_青禾新闻" }); site < 0 {
		t.Errorf("the name of the site is not learned: %+v", p)
	} else {
		p = slices.Delete(p, site, site+1)
	}
	if len(p) != 1 || p[0].Text != "更多内容请下载客户端" || p[0].State != PassageLearned ||
		p[0].Articles != 2*minArticles || p[0].Example != fmt.Sprint("a", 2*minArticles-1) {
		t.Errorf("%+v", p)
	}
	// What is known of it outlives an editor's decision.
	out, err := s.Decide("晨报", Passage{Text: "更多内容请下载客户端", State: PassageOut, By: "林编辑"}, nil)
	footer := slices.IndexFunc(out.Passages(), func(p Passage) bool { return p.Text == "更多内容请下载客户端" })
	if err != nil || out.Passages()[footer].Articles != 2*minArticles {
		t.Errorf("%+v %v", out, err)
	}
	normal := func(_, body string) compare.Text { return compare.Text{Body: strings.Trim(body, "_ ")} }
	if out, err = s.Decide("晨报", Passage{Text: "_青禾新闻", State: PassageOut, By: "林编辑"}, normal); err != nil ||
		len(out.Passages()) != len(s.Passages()) || (*out.residue)[compare.HashClause("_青禾新闻")] {
		t.Errorf("%+v %v", out, err)
	}
	if _, err = s.Decide("晨报", Passage{Text: "_ ", State: PassageIn, By: "林编辑"}, normal); err == nil {
		t.Error("an empty passage was put in")
	}
}
