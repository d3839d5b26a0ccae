package segment

import (
	"fmt"
	"testing"

	"jianguo/data"
)

func TestFirst(t *testing.T) {
	s, err := New(Config{Data: data.FS})
	if err != nil {
		t.Fatal(err)
	}
	var x Text
	for _, b := range []string{"营收1,600亿元，同比增长３．５％。8 月 9 日 12：30，IT 之家 hello, world é", "<p>京<b>东</b></p><script>x<y</script><p style='display:none'>no</p>3<5 and x <y and z> w", "", "🔥。！", "1,2,3 ①②❸"} {
		s.Analyze(&x, "标题", b)
		_ = fmt.Sprint(x.Body)
	}
}
