package sources

import (
	"fmt"
	"testing"
)

// A footer that recurs is learned. A date that recurs is not: it tells a notice from that of another day.
func TestLearn(t *testing.T) {
	s := new(Clauses)
	for i := range uint64(2 * least) {
		s = s.Learn(fmt.Sprintf("1月27日\n第%d篇说的是另一件事情\n更多内容请下载客户端", i), i)
	}
	if p := s.Passages(); len(p) != 1 || p[0].Text != "更多内容请下载客户端" || p[0].State != PassageLearned {
		t.Errorf("%+v", p)
	}
}
