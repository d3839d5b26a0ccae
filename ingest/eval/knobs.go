package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"jianguo/index"
)

// durations are the numbers of a policy that do not change a verdict on a pair.
var durations = []string{"window", "cap", "flood"}

// numbers returns all numbers of a policy by their path of JSON names, such as max_s or
// thresholds.duplicate.
func numbers(p index.Policy) map[string]float64 {
	data, err := json.Marshal(p)
	var tree map[string]any
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	if err != nil {
		panic(err) // every field of a Policy can be encoded
	}
	out := map[string]float64{}
	var walk func(prefix string, tree map[string]any)
	walk = func(prefix string, tree map[string]any) {
		for name, v := range tree {
			switch v := v.(type) {
			case float64:
				out[prefix+name] = v
			case map[string]any:
				walk(prefix+name+".", v)
			}
		}
	}
	walk("", tree)
	return out
}

// knobs returns the names of the numbers that a sweep moves, in order. The weights
// inside thresholds, which are fitted together, are left out.
func knobs(all map[string]float64) []string {
	names := slices.Sorted(maps.Keys(all))
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(durations, name) || strings.Count(name, ".") > 1 })
}

// Turn returns a policy with one number changed, named by its path of JSON names:
// max_s, thresholds.duplicate, thresholds.Copy.bias.
func Turn(p index.Policy, name string, value float64) (index.Policy, error) {
	if _, ok := numbers(p)[name]; !ok {
		return p, fmt.Errorf("policy: no number %q in it", name)
	}
	change := strconv.FormatFloat(value, 'f', -1, 64)
	path := strings.Split(name, ".")
	for _, step := range slices.Backward(path) {
		change = fmt.Sprintf("{%q:%s}", step, change)
	}
	if err := json.Unmarshal([]byte(change), &p); err != nil {
		return p, fmt.Errorf("policy: %s: %w", name, err)
	}
	return p, p.Validate()
}
