package exposure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jianguo/exposure/state"
	"jianguo/internal/testbed"
)

func TestReadPolicies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	text := `{"histories": {
		"default": {"policy": "rotate,ttl=120h"},
		"disliked": {"policy": "rotate,slots=2,ttl=2160h", "kinds": ["disliked", "muted"]},
		"clicked": {"policy": "calendar", "kinds": ["clicked"]},
		"video": {"policy": ""}},
	"scenes": {
		"default": {"writes": ["default", "disliked", "clicked"], "reads": ["default", "disliked"]},
		"player": {"reads": ["video", "disliked"], "writes": ["video", "disliked"]},
		"search": {"reads": ["disliked"], "writes": []},
		"shelf": {"reads": []}}}`
	testbed.OK(t, os.WriteFile(path, []byte(text), 0o600))
	cfg, err := ReadPolicies(path)
	testbed.OK(t, err)
	if p := cfg.Policies["disliked"]; len(cfg.Policies) != 4 || p.TTL != 90*24*time.Hour || cfg.Policies["clicked"].Kind != state.Calendar || cfg.Policies[""].Slots != 5 {
		t.Errorf("%+v", cfg.Policies)
	}
	if diff := cmp.Diff([]string{"clicked", "disliked", "muted"}, cfg.MoreKinds()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]Scene{
		"":       {Reads: []string{"", "disliked"}, Writes: []string{"", "disliked", "clicked"}},
		"player": {Reads: []string{"video", "disliked"}, Writes: []string{"video", "disliked"}},
		"search": {Reads: []string{"disliked"}},
		"shelf":  {Writes: []string{"", "disliked", "clicked"}},
	}, cfg.Scenes); diff != "" {
		t.Error(diff)
	}
	if cfg, err = parsePolicies([]byte(`{"histories": {"default": {}, "b": {"kinds": ["b"]}, "a": {"kinds": ["a"]}}}`)); err != nil ||
		!cmp.Equal(cfg.Scenes, map[string]Scene{"": {Reads: []string{"", "a", "b"}, Writes: []string{"", "a", "b"}}}) {
		t.Errorf("without scenes: %+v %v", cfg, err)
	}
}

// TestErrors: what is wrong with a file is said with the name of the field.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                `EOF`,
		`{`:                               `EOF`,
		`[]`:                              `unmarshal JSON array`,
		`{}`:                              `histories: default is missing`,
		`{"histories":{}`:                 `EOF`,
		`{"histories":{"default":{}}} {}`: `after top-level value`,
		`{"histories":{"default":{"polcy":"rotate"}}}`:                              `unknown object member name "polcy" within "/histories/default"`,
		`{"histories":{"default":{"policy":7}}}`:                                    `within "/histories/default/policy"`,
		`{"histories":{"default":{"policy":"weekly"}}}`:                             `histories.default.policy: exposure: policy "weekly"`,
		`{"histories":{"default":{"policy":"rotate,ttl=5"}}}`:                       `histories.default.policy: exposure: policy setting "ttl=5"`,
		`{"histories":{"default":{},"d":{"kinds":[]}}}`:                             `histories.d.kinds: is empty`,
		`{"histories":{"default":{},"d":{"kinds":["un.seen"]}}}`:                    `histories.d.kinds: "un.seen" is no name of a kind`,
		`{"histories":{"default":{},"d":{"kinds":["forget"]}}}`:                     `histories.d.kinds: "forget"`,
		`{"histories":{"default":{},"d":{"kinds":["linked"]}}}`:                     `histories.d.kinds: "linked"`,
		`{"histories":{"default":{}},"scenes":{"feed":{"reads":["x"]}}}`:            `scenes.feed.reads: "x" is no history: default`,
		`{"histories":{"default":{}},"scenes":{"feed":{"writes":["x"]}}}`:           `scenes.feed.writes: "x"`,
		`{"histories":{"default":{}},"scenes":{"feed":{"reads":"default"}}}`:        `within "/scenes/feed/reads"`,
		`{"histories":{"default":{},"d":{}},"scenes":{"default":{"writes":["d"]}}}`: `histories.default: no scene writes it`,
		`{"histories":{"default":{},"default":{}}}`:                                 `duplicate`,
		`{"histories":{"default":{},"":{}}}`:                                        `empty name`,
		`{"histories":{"default":{}},"scenes":{"":{"reads":[]}}}`:                   `empty name`,
	} {
		if _, err := parsePolicies([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzReadPolicies: a file that is taken has a history for each name, and at most those.
func FuzzReadPolicies(f *testing.F) {
	f.Add([]byte(`{"histories":{"default":{"policy":"rotate,ttl=120h"},"d":{"kinds":["d"]}},"scenes":{"feed":{"reads":["d"],"writes":[]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := parsePolicies(text)
		if err != nil {
			return
		}
		for scene, sc := range cfg.Scenes {
			for _, h := range append(sc.Reads, sc.Writes...) {
				if _, ok := cfg.Policies[h]; !ok {
					t.Fatalf("scene %q names %q", scene, h)
				}
			}
		}
		if _, ok := cfg.Scenes[""]; !ok {
			t.Fatal("no default scene")
		}
	})
}
