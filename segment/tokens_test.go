package segment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

func keys(tokens []Token) (k []uint64) {
	for _, t := range tokens {
		if !t.Residue {
			k = append(k, t.Key)
		}
	}
	return k
}

func TestTokensPointIntoTheOriginal(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"東京證券交易所，８月９日上漲３．５％。", []string{"東京證券交易所", "８", "月", "９", "日", "上漲", "３．５％"}},
		{"营收1,600亿元", []string{"营", "收", "1,600", "亿元"}},
		{"京\u200b东<b>物</b>流 Hello, World", []string{"京\u200b东", "物</b>流", "Hello", "World"}},
		{"<p>中&#22269;</p><script>x</script>人&amp;民", []string{"中&#22269;", "人&amp;民"}},
		{"か\u3099き", []string{"か\u3099", "き"}},
		{"", nil},
		{"。🔥", nil},
	} {
		var got []string
		for _, x := range shipped().Tokens(nil, c.in) {
			got = append(got, c.in[x.Start:x.End])
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
	}
}

// Whatever the form, the keys are the same.
func TestTokensAlign(t *testing.T) {
	want := keys(shipped().Tokens(nil, bulletin))
	for name, change := range forms {
		if name == "headline repeated" {
			continue // a headline is not residue to an editor
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if got := keys(shipped().Tokens(nil, change(t, bulletin))); !slices.Equal(want, got) {
					t.Fatal(cmp.Diff(want, got))
				}
			})
		})
	}
}

func TestTokensMarkResidue(t *testing.T) {
	const text = bulletin + "\n责任编辑：王小明"
	for _, x := range shipped().Tokens(nil, text) {
		if want := x.Start >= strings.Index(text, "责任编辑"); x.Residue != want {
			t.Errorf("%q: residue %v, want %v", text[x.Start:x.End], x.Residue, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.body)
	}
	f.Add("㍿㋿½か\u3099&lt;&ampx&#x4e2d;<b>1,234</b>,567")
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		for _, x := range shipped().Tokens(nil, s) {
			if x.Start < end || x.End < x.Start || x.End > len(s) {
				t.Fatalf("token %v after %d of %d in %q", x, end, len(s), s)
			}
			end = x.End
		}
	})
}

// TestTokensApart: the words of a text whose characters are set apart, and where
// they stand in it, also where references set them apart.
func TestTokensApart(t *testing.T) {
	s := shipped()
	for _, body := range []string{
		"青 禾 河 全 长 1 8 7 . 5 公 里 流 经 四 县",
		"<p>青&nbsp;禾&nbsp;河&nbsp;全&nbsp;长&nbsp;1&nbsp;8&nbsp;7&nbsp;.&nbsp;5&nbsp;公&nbsp;里&nbsp;流&nbsp;经&nbsp;四&nbsp;县</p>",
		"青。禾。河", // nothing is set apart
	} {
		var got, want []uint64
		for _, x := range s.Tokens(nil, body) {
			got = append(got, x.Key)
			if x.Start >= x.End {
				t.Errorf("%q: a word from %d to %d", body, x.Start, x.End)
			}
		}
		for _, w := range wordsOf(analyze("", body)) {
			want = append(want, xxh3.HashString(w))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", body, d)
		}
	}
}
