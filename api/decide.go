package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/must"
)

const (
	maxReason    = 2000 // bytes
	maxName      = 256  // bytes
	maxDecisions = 200  // a page
)

type decisionBody struct {
	Kind  string         `json:"kind"`
	Item  jsontext.Value `json:"item"`
	Items []struct {
		Item jsontext.Value `json:"item"`
		Seen uint64         `json:"seen"`
	} `json:"items"`
	Into     uint32 `json:"into"`
	Decision uint64 `json:"decision"` // to undo
	Expect   string `json:"expect"`
	Seen     uint64 `json:"seen"`
	By       string `json:"by"`
	Reason   string `json:"reason"`
}

func (s *Server) postDecision(c echo.Context) any {
	cluster, ctx := clusterID(c), c.Request().Context()
	req := decodeDecision(readBody(c))
	req.By = decider(ctx, req.By)
	switch {
	case req.Kind == index.Merge, req.Kind == index.Join, req.Kind == index.Split,
		(req.Kind == index.Block || req.Kind == index.Exempt) && req.Item == "":
		req.Cluster = cluster
	default:
		req.In = cluster
	}
	must.Do(s.room())
	return must.Get(s.cfg.Ingest.Edit(ctx, index.Edit{Decision: req}))
}

// decodeDecision reads a body and checks that it has what its kind needs.
func decodeDecision(data []byte) *index.DecisionRequest {
	var b decisionBody
	readJSON(data, &b)
	var expect index.Verdict
	if b.Expect != "" && expect.UnmarshalText([]byte(b.Expect)) != nil {
		refuse("expect", "is %.40q, which is no verdict", b.Expect)
	}
	req := &index.DecisionRequest{Kind: b.Kind, Item: decisionID("item", b.Item), Into: b.Into, Undo: b.Decision,
		Expect: expect, Seen: b.Seen, By: b.By, Reason: b.Reason}
	if len(b.Items) > index.MaxTogether {
		tooLarge("items", "has %d of them, at most %d are taken", len(b.Items), index.MaxTogether)
	}
	for i, it := range b.Items {
		field := fmt.Sprintf("items[%d].item", i)
		id := decisionID(field, it.Item)
		if id == "" {
			refuse(field, "is missing")
		}
		req.Items = append(req.Items, index.DecisionItem{Item: id, Seen: it.Seen})
	}
	checkDecision(req)
	return req
}

func checkDecision(req *index.DecisionRequest) {
	switch req.Kind {
	case index.Release, index.Reject, index.MakeLead:
		if req.Item == "" && (len(req.Items) == 0 || req.Kind == index.MakeLead) {
			refuse("item", "is missing: %s is about one item of the cluster", req.Kind)
		}
	case index.Block, index.Exempt, index.Split:
	case index.Merge, index.Join:
		if req.Into == 0 {
			refuse("into", "is missing: the cluster to %s this one with", req.Kind)
		}
	case index.Undo:
		if req.Undo == 0 {
			refuse("decision", "is missing: the number of the decision to take back")
		}
	default:
		refuse("kind", "is %.40q, want release, reject, block, exempt, merge, join, split, lead or undo", req.Kind)
	}
	checkReason(req.Reason)
}

func checkReason(reason string) {
	if len(reason) > maxReason {
		tooLarge("reason", "has %d bytes, at most %d are taken", len(reason), maxReason)
	}
}

func decisionID(field string, raw jsontext.Value) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	id, err := ingest.ParseID(raw)
	return must.Get(id, inField(field, err))
}

// inField is an error about an id under the name of the field or parameter that has it.
func inField(field string, err error) error {
	if f, ok := errors.AsType[*ingest.FieldError](err); ok {
		return &ingest.FieldError{Field: field, Problem: f.Problem, TooLarge: f.TooLarge}
	}
	return err
}

// decider is the name that a decision is recorded with: the name of the token, or the
// given one if there are no tokens.
func decider(ctx context.Context, given string) string {
	token := callerName(ctx)
	switch {
	case token != "" && given != "" && given != token:
		refuse("by", "is %.80q, but the token is that of %q: leave it out", given, token)
	case token != "":
		return token
	case strings.TrimSpace(given) == "":
		refuse("by", "is missing: a decision has a name, and without tokens the request must give it")
	case len(given) > maxName || strings.ContainsFunc(given, unicode.IsControl):
		refuse("by", "is no name: want at most %d bytes without control characters", maxName)
	}
	return given
}

func (s *Server) getDecisions(c echo.Context) any {
	cluster := clusterID(c)
	return decisions(c, func(ctx context.Context, limit int) ([]index.Decision, error) {
		list, err := s.cfg.Index.Decisions(ctx, index.DecisionQuery{Cluster: cluster, Limit: limit})
		if err == nil && len(list) == 0 {
			_, err = s.cfg.Browse.Lead(ctx, cluster)
		}
		return list, noCluster(err, cluster)
	})
}

// decisions answers with a list of decisions, the last one first.
func decisions(c echo.Context, list func(ctx context.Context, limit int) ([]index.Decision, error)) any {
	page := must.Get(list(c.Request().Context(), queryInt(c, "limit", 50, 1, maxDecisions)))
	return map[string]any{"decisions": append([]index.Decision{}, page...)}
}
