package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jianguo/index"
)

// Knob is one number of a policy that decides verdicts.
type Knob struct {
	Name  string // path of JSON names, such as max_s or thresholds.duplicate
	Value float64
}

// unmoved are numbers of a policy that say how long, not what.
var unmoved = []string{"window", "cap"}

// knobs lists the numbers of a policy; the weights inside thresholds, which
// are one thing and not many, are left out.
func knobs(p index.Policy) []Knob {
	var out []Knob
	for name, v := range tree(p) {
		switch v := v.(type) {
		case float64:
			if !slices.Contains(unmoved, name) {
				out = append(out, Knob{name, v})
			}
		case map[string]any:
			for inner, v := range v {
				if f, ok := v.(float64); ok {
					out = append(out, Knob{name + "." + inner, f})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Knob) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// tree is a policy by its JSON names.
func tree(p index.Policy) map[string]any {
	data, err := json.Marshal(p)
	var t map[string]any
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		panic(err) // no field of a Policy can fail to encode
	}
	return t
}

// Turn returns a policy with one number changed, named by its path of JSON
// names: max_s, thresholds.duplicate, thresholds.Copy.bias.
func Turn(p index.Policy, name string, value float64) (index.Policy, error) {
	t := tree(p)
	at := t
	path := strings.Split(name, ".")
	for _, step := range path[:len(path)-1] {
		next, ok := at[step].(map[string]any)
		if !ok {
			return p, fmt.Errorf("policy: no %q in it", name)
		}
		at = next
	}
	last := path[len(path)-1]
	if _, ok := at[last].(float64); !ok {
		return p, fmt.Errorf("policy: no number %q in it", name)
	}
	at[last] = json.Number(strconv.FormatFloat(value, 'f', -1, 64))
	data, err := json.Marshal(t)
	if err != nil {
		return p, fmt.Errorf("policy: %s: %w", name, err)
	}
	var out index.Policy
	if err := json.Unmarshal(data, &out); err != nil {
		return p, fmt.Errorf("policy: %s: %w", name, err)
	}
	return out, out.Validate()
}
