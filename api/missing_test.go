package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"jianguo/exposure"
	"jianguo/ingest"
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

// TestForms: a time may be in any form of RFC 3339, also one that its pattern in the description leaves out, and what
// has the wrong type is told what it may be.
func TestForms(t *testing.T) {
	t.Parallel()
	x := newExposureServer(t, exposure.Config{}, nil)
	const utc = "2026-11-28T02:00:00.5Z"
	for _, at := range []string{utc, "2026-11-28t02:00:00.5z", "2026-11-28T10:00:00.50+08:00", "2026-11-28t02:00:00.500-00:00"} {
		it, err := ingest.DecodeItem([]byte(fmt.Sprintf(`{"id":"a","body":"台风登陆。","published_at":%q}`, at)))
		if err != nil || it.Published.UTC().Format(time.RFC3339Nano) != utc {
			t.Errorf("%s: %+v %v", at, it, err)
		}
		report := fmt.Sprintf(`{"user":"u","kind":"seen","items":["a"],"at":%q}`, at)
		if rep, err := x.Conn.Request("exposures.report", []byte(report), patience); err != nil || string(rep.Data) != "{}" {
			t.Errorf("%s: %s %v", at, rep.Data, err)
		}
	}
	for _, user := range []string{"1e3", "true", "[]", "9223372036854775808"} {
		if p := want[Problem](x, 400, "POST", "/filter", `{"user":`+user+`,"items":["a"]}`); p.Detail != "user is neither a string nor an integer of 64 bits" {
			t.Errorf("%s: %+v", user, p)
		}
	}
	x.noDeadLetters()
}
