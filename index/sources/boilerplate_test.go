package sources

import (
	"fmt"
	"testing"
)

// A footer that recurs is learned. A date that recurs is not: it tells a notice from that of another day.
func TestLearn(t *testing.T) {
	s := new(Clauses)
	for i := range uint64(2 * minArticles) {
		s = s.Learn(fmt.Sprint("a", i), fmt.Sprintf("1月27日\n第%d篇说的是另一件事情\n更多内容请下载客户端", i), i)
	}
	if p := s.Passages(); len(p) != 1 || p[0].Text != "更多内容请下载客户端" || p[0].State != PassageLearned ||
		p[0].Articles != 2*minArticles || p[0].Example != fmt.Sprint("a", 2*minArticles-1) {
		t.Errorf("%+v", p)
	}
	// What is known of it outlives an editor's decision.
	out, err := s.Decide("晨报", Passage{Text: "更多内容请下载客户端", State: PassageOut, By: "林编辑"}, nil)
	if err != nil || out.Passages()[0].Articles != 2*minArticles {
		t.Errorf("%+v %v", out, err)
	}
}
