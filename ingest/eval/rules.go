package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jianguo/index"
	"jianguo/sketch"
)

// Rule is a way to judge that is measured beside ours.
type Rule struct {
	Name string
	// verdict is what the rule says of a pair.
	verdict func(j *Judged) index.Verdict
	// feed gives the earlier item that each of a corpus is a copy of, or -1;
	// nil for ours, which the bench has fed already.
	feed func(c *texts) []int
	// pairs says that the rule is for pairs only.
	pairs bool
}

// Rules makes the rules with these names: jianguo, hamming (once for each
// distance) and minhash (at the thresholds .5 and .7).
func Rules(names []string, distances []int) ([]Rule, error) {
	var rules []Rule
	for _, name := range names {
		switch name {
		case "jianguo":
			rules = append(rules, Rule{Name: "jianguo", verdict: ours}, Rule{Name: "its judge, had all met", verdict: judge, pairs: true})
		case "hamming":
			for _, d := range distances {
				rules = append(rules, hammingRule(d))
			}
		case "minhash":
			for i, t := range minHashSettings {
				rules = append(rules, minHashRule(i, t))
			}
		default:
			return nil, fmt.Errorf("rule %q: want jianguo, hamming or minhash", name)
		}
	}
	return rules, nil
}

func hammingRule(d int) Rule {
	return Rule{
		Name:    fmt.Sprintf("hamming ≤ %d", d),
		verdict: func(j *Judged) index.Verdict { return rejected(j.Identical || j.Distance <= d) },
		feed:    func(c *texts) []int { return c.scan(d) },
	}
}

func minHashRule(i int, threshold float64) Rule {
	return Rule{
		Name:    fmt.Sprintf("minhash %.1f", threshold),
		verdict: func(j *Judged) index.Verdict { return rejected(j.Identical || j.lsh[i]) },
		feed:    func(c *texts) []int { return c.lsh(threshold) },
	}
}

// judge is our judgement on both texts, without the search: what is left to
// win by finding more.
func judge(j *Judged) index.Verdict {
	switch {
	case j.Identical || j.onTexts == sketch.Duplicate:
		return index.Duplicate
	case j.onTexts == sketch.Suspect:
		return index.Suspect
	}
	return index.Unique
}

func rejected(yes bool) index.Verdict {
	if yes {
		return index.Duplicate
	}
	return index.Unique
}

// Distances reads "3", "0..10" or "3,6,10": bits, 0 to 64.
func Distances(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		low, high, spread := strings.Cut(part, "..")
		from, err := strconv.Atoi(strings.TrimSpace(low))
		to := from
		if err == nil && spread {
			to, err = strconv.Atoi(strings.TrimSpace(high))
		}
		if err != nil || from < 0 || to > 64 || to < from {
			return nil, fmt.Errorf("distance %q: want bits from 0 to 64, as 3 or 0..10 or 3,6", part)
		}
		for d := from; d <= to; d++ {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
