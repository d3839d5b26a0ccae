package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

type shadowCmd struct {
	Server string `help:"The running service." default:"http://127.0.0.1:8080" placeholder:"URL"`
	Token  string `help:"A token of the role operator, if the service has tokens." placeholder:"TOKEN"`
}

// meanings say what a difference is, in the order of the report.
var meanings = [][2]string{
	{"not_imported", "only the old store has the item, and the user was not imported yet"},
	{"retention", "only the old store has it: the policy forgets sooner, or jianguo was not told"},
	{"unknown_to_old", "only jianguo has it: the old store was trimmed, or was not told"},
	{"false_positive", "only a shard has it: a false positive, or trimmed by the old store"},
}

// Run prints what a service with --shadow has counted since its start.
func (c *shadowCmd) Run(co *streams) error {
	req, err := http.NewRequestWithContext(co.ctx, http.MethodGet, strings.TrimSuffix(c.Server, "/")+"/metrics", nil)
	if err != nil {
		return err
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s/metrics: %s: give --token of the role operator", c.Server, res.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		return fmt.Errorf("%s/metrics: %w", c.Server, err)
	}
	if families["jianguo_legacy_compared_items_total"] == nil {
		return errors.New("the service has no old store to compare with: start it with --legacy-redis and --shadow")
	}
	count := func(name, reason string) (sum float64) {
		for _, m := range families["jianguo_legacy_"+name+"_total"].GetMetric() {
			if reason == "" || has(m, reason) {
				sum += m.GetCounter().GetValue()
			}
		}
		return sum
	}
	compared, asked, late := count("compared_items", ""), count("requests", ""), count("unanswered", "")
	fmt.Fprintf(co.out, "%.0f items compared in %.0f requests; the old store did not answer %.0f of these in time "+
		"(%s); %.0f users imported\n\n",
		compared, asked, late, share(late, asked), count("imported_users", ""))
	table := tabwriter.NewWriter(co.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "difference\titems\tshare\twhat it means")
	for _, m := range meanings {
		n := count("differences", m[0])
		fmt.Fprintf(table, "%s\t%.0f\t%s\t%s\n", m[0], n, share(n, compared), m[1])
	}
	return table.Flush()
}

func has(m *dto.Metric, reason string) bool {
	for _, label := range m.GetLabel() {
		if label.GetName() == "reason" && label.GetValue() == reason {
			return true
		}
	}
	return false
}

// share is a part of a whole in per cent.
func share(part, whole float64) string { return fmt.Sprintf("%.2g %%", 100*part/max(whole, 1)) }
