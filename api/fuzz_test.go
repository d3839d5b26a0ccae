package api

import (
	"testing"

	"jianguo/index"
	"jianguo/internal/must"
	"jianguo/internal/testbed"
)

// FuzzDecodeDecision: a decision that is taken has what its kind needs.
func FuzzDecodeDecision(f *testing.F) {
	for _, s := range []string{`{"kind":"release","item":"a","by":"张三"}`, `{"kind":"merge","into":3}`, `{"kind":"undo","decision":18446744073709551615}`, `{"kind":"reject","items":[{"item":7,"seen":3}],"expect":"unique"}`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := must.Try(func() *index.DecisionRequest { return decodeDecision(body) })
		if err != nil {
			return
		}
		testbed.OK(t, must.Catch(func() { checkDecision(req) }))
		if len(req.Reason) > maxReason {
			t.Fatalf("a reason of %d bytes", len(req.Reason))
		}
	})
}
