package exposure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"jianguo/internal/must"
)

// defaultName is the name of the history that has none, and of the scene of requests that name none, or one that is not
// listed.
const defaultName = "default"

type policyFile struct {
	Histories map[string]struct {
		Policy string
		Kinds  []string // missing: delivered and seen
	}
	Scenes map[string]Scene // what one leaves out is as in defaultName, and what that leaves out is every history
}

// ReadPolicies reads a policy, of the default history, or from a file that ends in .json which histories a store has,
// which kinds of reports each keeps and for how long, and which of them each part of a platform reads and writes:
// Policies, Kinds and Scenes of a Config. docs/EXPOSURE.md describes the file. Errors name the field.
func ReadPolicies(path string) (cfg Config, err error) {
	if !strings.HasSuffix(path, ".json") {
		policy, err := ParsePolicy(path)
		if err != nil {
			return cfg, fmt.Errorf("%w, nor a file that ends in .json", err)
		}
		return Config{Policies: map[string]Policy{"": policy}}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return cfg, err
	}
	if cfg, err = parsePolicies(data); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return cfg, err
}

func parsePolicies(data []byte) (cfg Config, err error) {
	err = must.Catch(func() {
		var f policyFile
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		must.Do(d.Decode(&f))
		if d.More() {
			must.Do(errors.New("something follows the object"))
		}
		if _, ok := f.Histories[defaultName]; !ok {
			must.Do(fmt.Errorf("histories: %s is missing", defaultName))
		}
		cfg.Policies, cfg.Kinds, cfg.Scenes = map[string]Policy{}, map[string][]string{}, map[string]Scene{}
		for name, h := range f.Histories {
			policy, err := ParsePolicy(h.Policy)
			must.Dof(err, "histories.%s.policy", name)
			if cfg.Policies[stored(name)] = policy; h.Kinds != nil {
				must.Dof(checkKinds(h.Kinds), "histories.%s.kinds", name)
				cfg.Kinds[stored(name)] = h.Kinds
			}
		}
		f.fill(cfg.Scenes)
	})
	return cfg, err
}

// stored is the name of a history in the state file.
func stored(name string) string {
	if name == defaultName {
		return ""
	}
	return name
}

// taken are subjects that are no kinds of a policy file.
var taken = []string{"played", "unsee", "forget", "imported", "link", "unlink", "filter", "report"}

var kindWord = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

func checkKinds(kinds []string) error {
	for _, kind := range kinds {
		if !kindWord.MatchString(kind) || slices.Contains(taken, kind) {
			return fmt.Errorf("%.60q is no name of a kind: "+
				"a word of up to 32 letters a to z, digits, _ and -, and none of %s", kind, strings.Join(taken, ", "))
		}
	}
	if len(kinds) == 0 {
		return errors.New("is empty")
	}
	return nil
}

// fill fills in the scenes, and refuses a history that no scene writes. Package must ends it.
func (f *policyFile) fill(scenes map[string]Scene) {
	all := slices.Sorted(maps.Keys(f.Histories))
	all = append([]string{defaultName}, slices.DeleteFunc(all, func(h string) bool { return h == defaultName })...)
	base := Scene{Reads: all, Writes: all}

	var written []string
	for _, name := range append([]string{defaultName}, slices.Sorted(maps.Keys(f.Scenes))...) {
		sc := f.Scenes[name]
		if sc.Reads == nil {
			sc.Reads = base.Reads
		}
		if sc.Writes == nil {
			sc.Writes = base.Writes
		}
		if name == defaultName {
			base = sc
		}
		sc.Reads, sc.Writes = f.known(name+".reads", sc.Reads), f.known(name+".writes", sc.Writes)
		scenes[stored(name)] = sc
		written = append(written, sc.Writes...)
	}
	for _, h := range all {
		if !slices.Contains(written, stored(h)) {
			must.Do(fmt.Errorf("histories.%s: no scene writes it", h))
		}
	}
}

// known are the names of histories, which a field of the scenes lists, in the state file.
func (f *policyFile) known(field string, names []string) (list []string) {
	for _, h := range names {
		if _, ok := f.Histories[h]; !ok {
			all := strings.Join(slices.Sorted(maps.Keys(f.Histories)), ", ")
			must.Do(fmt.Errorf("scenes.%s: %.60q is no history: %s", field, h, all))
		}
		list = append(list, stored(h))
	}
	return list
}
