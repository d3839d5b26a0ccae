package segment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func keys(tokens []Token) (k []string) {
	for _, t := range tokens {
		k = append(k, t.Key)
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
		{"京\u200b东物流 Hello, World", []string{"京\u200b东", "物流", "Hello", "World"}},
		{"<p>中国</p>&amp;人民", []string{"p", "中国", "p", "amp", "人民"}}, // markup is text
		{"株㍿", []string{"株", "㍿"}},
		{"か\u3099き", []string{"か\u3099", "き"}},
		{"", nil},
		{"。🔥", nil},
	} {
		var got []string
		for _, x := range shipped().Tokens(c.in) {
			got = append(got, c.in[x.Start:x.End])
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
	}
}

// Whatever the form, the keys are the same.
func TestTokensAlign(t *testing.T) {
	want := keys(shipped().Tokens(bulletin))
	for name, change := range forms {
		if name == "headline repeated" || name == "residue" || strings.HasSuffix(name, "HTML") {
			continue // Tokens takes plain text, and residue is text to an editor
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if got := keys(shipped().Tokens(change(t, bulletin))); !slices.Equal(want, got) {
					t.Fatal(cmp.Diff(want, got))
				}
			})
		})
	}
}

func FuzzTokens(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.body)
	}
	f.Add("㍿㋿½か\u3099&lt;&ampx&#x4e2d;<b>1,234</b>,567")
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		for _, x := range shipped().Tokens(s) {
			if x.Start < end || x.End <= x.Start || x.End > len(s) {
				t.Fatalf("token %v after %d of %d in %q", x, end, len(s), s)
			}
			end = x.End
		}
	})
}

// TestTokensApart: the words of a text whose characters are set apart, and where
// they stand in it.
func TestTokensApart(t *testing.T) {
	s := shipped()
	for _, body := range []string{
		"青 禾 河 全 长 1 8 7 . 5 公 里 流 经 四 县",
		"青。禾。河", // nothing is set apart
	} {
		var got, want []string
		for _, x := range s.Tokens(body) {
			got = append(got, x.Key)
			if x.Start >= x.End {
				t.Errorf("%q: a word from %d to %d", body, x.Start, x.End)
			}
		}
		for _, w := range wordsOf(analyze("", body)) {
			want = append(want, w)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", body, d)
		}
	}
}
