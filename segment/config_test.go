package segment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"jianguo/data"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const userDict = "# 用户词典\n青禾河 50 ns\n柳桥村 20 ns\n治理办公室 30 nt\n发布 3\n量子纠缠态\nＡＩ大模型 40 nz\n"

// A user's dictionary has the effect it has when gse loads it first: these are gse's words. TestUserWordsLikeGSE in
// package cut compares thousands of such words with gse itself.
func TestUserDictionary(t *testing.T) {
	s, err := New(Config{Data: data.FS, UserDict: file(t, userDict)})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"青禾河 沿岸 的 柳桥村", "青禾河 治理办公室 发布 年度报告", "量子纠缠态 与 ai大模型", "治理办公室", "发布会"} {
		var x Text
		s.Analyze(&x, "", strings.ReplaceAll(text, " ", ""))
		if d := cmp.Diff(strings.Fields(text), wordsOf(&x)); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	var x Text
	s.Analyze(&x, "", "青禾河沿岸的柳桥村有ＡＩ大模型")
	if d := cmp.Diff([]string{"青禾河", "柳桥村", "ai大模型"}, namesOf(&x)); d != "" {
		t.Errorf("names: %s", d)
	}
}

func TestUserResidue(t *testing.T) {
	s, err := New(Config{Data: data.FS, Residue: file(t, "any ^{4}日报社声明：...\n")})
	if err != nil {
		t.Fatal(err)
	}
	var x Text
	s.Analyze(&x, "", "柳桥村去年接待游客十一万人次。\n青禾日报社声明：本报从未授权，谨防受骗。")
	if x.Body != "柳桥村去年接待游客十一万人次" {
		t.Errorf("%q remains", x.Body)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Data: fstest.MapFS{}}, "table variants.txt"},
		{Config{Data: data.FS, UserDict: "no such file"}, "user dictionary"},
		{Config{Data: data.FS, Residue: "no such file"}, "residue list"},
		{Config{Data: data.FS, UserDict: file(t, "青禾河 50 ns\n柳桥村 many ns\n")}, "line 2"},
		{Config{Data: data.FS, UserDict: file(t, "青禾河 1\n")}, "line 1"},
		{Config{Data: data.FS, UserDict: file(t, "。 3\n")}, "line 1"},
		{Config{Data: data.FS, Residue: file(t, "\n\nany x{\n")}, "line 3"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.cfg.UserDict+c.cfg.Residue, err, c.want)
		}
	}
}

// The recipe names every table and every file of the user's.
func TestRecipe(t *testing.T) {
	seen := map[string]string{}
	recipe := func(name string, cfg Config) {
		t.Helper()
		s, err := New(cfg)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(s.Recipe()) != 16 || strings.Trim(s.Recipe(), "0123456789abcdef") != "" {
			t.Fatalf("%s: recipe %q", name, s.Recipe())
		}
		if other, ok := seen[s.Recipe()]; ok {
			t.Errorf("%s has the recipe of %s", name, other)
		}
		seen[s.Recipe()] = name
	}
	recipe("shipped", Config{Data: data.FS})
	recipe("user dictionary", Config{Data: data.FS, UserDict: file(t, userDict)})
	recipe("another user dictionary", Config{Data: data.FS, UserDict: file(t, userDict+"白鹭 9 n\n")})
	recipe("residue", Config{Data: data.FS, Residue: file(t, "any 青禾日报\n")})
	for _, table := range []string{"variants.txt", "lookalikes.txt", "residue.txt", "df.txt"} {
		changed := fstest.MapFS{}
		for _, name := range []string{"variants.txt", "lookalikes.txt", "residue.txt", "df.txt", "dict.bin.zst"} {
			b, err := data.FS.ReadFile("tables/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if name == table {
				b = append(b, "# a comment\n"...)
			}
			changed["tables/"+name] = &fstest.MapFile{Data: b}
		}
		recipe("changed "+table, Config{Data: changed})
	}
}

// The corpus counts the words of the shipped dictionary. A word that only a user's dictionary has is rare, and
// one that both have keeps its weight.
func TestUserWordsAreRare(t *testing.T) {
	weights := func(dict string) (all []float32) {
		s, err := New(Config{Data: data.FS, UserDict: file(t, dict)})
		if err != nil {
			t.Fatal(err)
		}
		var x Text
		s.Analyze(&x, "", "app。魑魅。发布")
		for _, term := range x.Terms {
			if !strings.Contains(term.Text, "魑魅") || term.Text == "魑魅" { // no pairs
				all = append(all, term.Weight)
			}
		}
		return all
	}
	before := weights("青禾河 5\n")
	after := weights("app 5\n发布 3\n")
	if want := []float32{before[1], before[1], before[2]}; before[0] >= before[1] || !slices.Equal(after, want) {
		t.Errorf("weights of app, 魑魅, 发布: %v, with app and 发布 in a user's dictionary %v, want %v", before, after, want)
	}
}
