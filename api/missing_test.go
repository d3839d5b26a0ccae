package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"jianguo/exposure"
)

// required are the fields that a schema requires.
func required(s *openapi3.Schema) []string {
	fields := s.Required
	for _, part := range s.AllOf {
		fields = append(fields, required(part.Value)...)
	}
	return fields
}

// TestMissingFields: every operation refuses a request without one of its required fields, and a body in which one
// stands twice, with 400 and the name of the field.
func TestMissingFields(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{}, nil)
	given := map[string]string{"id": `"a"`, "user": `"u"`, "from": `"v"`, "items": `["a"]`, "item": `"a"`, "kind": `"seen"`,
		"for": `"1h"`, "reason": `"r"`, "text": `"客户端"`, "state": `"in"`}
	refused := func(method, path, body, field string) {
		t.Helper()
		rep := x.do(method, path, body)
		var p Problem
		if err := json.Unmarshal(rep.body, &p); err != nil || rep.status != 400 || p.Field != field {
			t.Errorf("%s %s %s: %d %s, want 400 and %s", method, path, body, rep.status, rep.body, field)
		}
	}
	tried := 0
	for path, item := range description.doc.Paths.Map() {
		path = strings.NewReplacer("{id}", "1", "{name}", "s").Replace(path)
		for method, op := range item.Operations() {
			for _, p := range op.Parameters {
				if p.Value.In == "query" && p.Value.Required {
					refused(method, path, "", p.Value.Name)
					tried++
				}
			}
			if op.RequestBody == nil {
				continue
			}
			fields := required(op.RequestBody.Value.Content["application/json"].Schema.Value)
			var all []string
			for _, f := range fields {
				all = append(all, fmt.Sprintf("%q:%s", f, given[f]))
			}
			for i, f := range fields {
				without := append(append([]string{`"by":"张三","body":"台风登陆。"`}, all[:i]...), all[i+1:]...)
				refused(method, path, "{"+strings.Join(without, ",")+"}", f)
				refused(method, path, "{"+strings.Join(append(all, all[i]), ",")+"}", f)
				tried++
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d required fields were found", tried)
	}
	refused(http.MethodPost, "/items/check", `{"body":"台风登陆。","url":null,"url":"x"}`, "url")
	refused(http.MethodPost, "/clusters/1/decisions", `{"kind":"release","items":[{"item":"a","item":"b"}],"by":"张三"}`, "item")
	refused(http.MethodPost, "/filter", `{"user":"u","items":["a"],"mine":1,"mine":2}`, "payload")
	refused(http.MethodPost, "/exposures", `{"user":null,"user":"u","kind":"seen","items":["a"]}`, "user")
	x.noDeadLetters()
}
