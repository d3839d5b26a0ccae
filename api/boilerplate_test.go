package api

import (
	"net/url"
	"strings"
	"testing"

	"jianguo/index"
)

// TestBoilerplate: an editor puts a passage in, and takes it out again.
func TestBoilerplate(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	const path = "/sources/%E6%B5%B7%E5%B2%AC%E6%99%9A%E6%8A%A5/boilerplate"
	if page := want[boilerplatePage](r, 200, "GET", path, nil); len(page.Passages) != 0 {
		t.Errorf("at first: %+v", page)
	}
	for _, state := range []string{"in", "out"} {
		page := want[boilerplatePage](r, 200, "POST", path, map[string]string{"text": "本报客户端，每天更新。", "state": state, "by": "张三"})
		if len(page.Passages) != 2 || page.Passages[0].State != state || page.Passages[0].By != "张三" {
			t.Errorf("%s: %+v", state, page)
		}
	}
	for field, wrong := range map[string]map[string]string{"by": {"text": "本报", "state": "in"}, "text": {"text": "。", "state": "in", "by": "张三"}, "state": {"text": "本报", "state": "never", "by": "张三"}} {
		if p := want[Problem](r, 400, "POST", path, wrong); p.Field != field || !strings.HasPrefix(p.Detail, field+" is ") {
			t.Errorf("%v: field %s: %s", wrong, p.Field, p.Detail)
		}
	}
	long := map[string]string{"text": "本报", "state": "in", "by": "张三", "reason": strings.Repeat("长", maxReason/3+1)}
	if p := want[Problem](r, 413, "POST", path, long); p.Field != "reason" {
		t.Errorf("a long reason: %+v", p)
	}
	if page := want[boilerplatePage](r, 200, "POST", path, map[string]string{"text": "本报客户端，每天更新。", "state": "learned", "by": "张三"}); len(page.Passages) != 0 {
		t.Errorf("taken back: %+v", page)
	}
}

// TestSourceWithPercent: a percent sign in the name of a source is escaped once.
func TestSourceWithPercent(t *testing.T) {
	t.Parallel()
	r := newService(t, testConfig{})
	for _, source := range []string{"50%折扣", "a%41", "a/b%2F"} {
		path := "/sources/" + url.PathEscape(source) + "/boilerplate"
		want[boilerplatePage](r, 200, "POST", path, map[string]string{"text": "本报客户端", "state": "in", "by": "张三"})
		if list, err := r.Index.Boilerplate(t.Context(), source); err != nil || len(list) != 1 {
			t.Errorf("%s: %+v, %v", source, list, err)
		}
	}
}

// boilerplatePage is the answer of routes about what carries no weight in texts of a source.
type boilerplatePage struct{ Passages []index.Passage }
