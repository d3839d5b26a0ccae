package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/ingest"
)

// Bounds of a decision.
const (
	maxReason    = 2000 // bytes
	maxName      = 256  // bytes
	maxDecisions = 200  // a page
)

// decisionBody is the body of POST /clusters/{id}/decisions.
type decisionBody struct {
	Kind     string          `json:"kind"`
	Item     json.RawMessage `json:"item"`
	Items    []decisionItem  `json:"items"`
	Into     uint32          `json:"into"`
	Decision uint64          `json:"decision"` // to undo
	Expect   string          `json:"expect"`
	Seen     uint64          `json:"seen"`
	By       string          `json:"by"`
	Reason   string          `json:"reason"`
}

// decisionItem is one of several items that are decided about together.
type decisionItem struct {
	Item json.RawMessage `json:"item"`
	Seen uint64          `json:"seen"`
}

// postDecision applies an editor's decision about a cluster.
func (s lists) postDecision(c echo.Context) error {
	cluster, err := clusterID(c.Param("id"))
	if err != nil {
		return err
	}
	body, err := readBody(c)
	if err != nil {
		return err
	}
	req, err := decodeDecision(body)
	if err != nil {
		return err
	}
	if req.By, err = decider(callerName(c.Request().Context()), req.By); err != nil {
		return err
	}
	switch {
	case req.Kind == index.Merge, (req.Kind == index.Block || req.Kind == index.Exempt) && req.Item == "":
		req.Cluster = cluster
	default:
		req.In = cluster
	}
	d, err := s.cfg.Ingest.Decide(c.Request().Context(), *req)
	if err != nil {
		return decisionProblem(err)
	}
	return c.JSON(http.StatusOK, d)
}

// decodeDecision reads a body and checks that it has what its kind needs.
func decodeDecision(data []byte) (*index.DecisionRequest, error) {
	var b decisionBody
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(data, &b); {
	case errors.As(err, &wrong) && wrong.Field != "":
		return nil, &ingest.FieldError{Field: wrong.Field, Problem: fmt.Sprintf("is a JSON %s, which it cannot be", wrong.Value)}
	case wrong != nil:
		return nil, &ingest.FieldError{Field: "payload", Problem: "is a JSON " + wrong.Value + ", not an object"}
	case err != nil:
		return nil, &ingest.FieldError{Field: "payload", Problem: "is not a JSON object: " + err.Error()}
	}
	var expect index.Verdict
	if b.Expect != "" {
		if err := expect.UnmarshalText([]byte(b.Expect)); err != nil {
			return nil, &ingest.FieldError{Field: "expect", Problem: fmt.Sprintf("is %.40q, which is no verdict", b.Expect)}
		}
	}
	req := &index.DecisionRequest{Kind: b.Kind, Into: b.Into, Undo: b.Decision, Expect: expect, Seen: b.Seen, By: b.By, Reason: b.Reason}
	var err error
	if req.Item, err = decisionID("item", b.Item); err != nil {
		return nil, err
	}
	if len(b.Items) > index.MaxTogether {
		return nil, &ingest.FieldError{Field: "items", Problem: fmt.Sprintf("has %d of them, at most %d are taken", len(b.Items), index.MaxTogether), TooLarge: true}
	}
	for i, it := range b.Items {
		field := fmt.Sprintf("items[%d].item", i)
		id, err := decisionID(field, it.Item)
		if err == nil && id == "" {
			err = &ingest.FieldError{Field: field, Problem: "is missing"}
		}
		if err != nil {
			return nil, err
		}
		req.Items = append(req.Items, index.DecisionItem{Item: id, Seen: it.Seen})
	}
	return req, checkDecision(req)
}

// checkDecision checks that a decision has what its kind needs.
func checkDecision(req *index.DecisionRequest) error {
	missing := func(field, what string) error {
		return &ingest.FieldError{Field: field, Problem: "is missing: " + what}
	}
	switch req.Kind {
	case index.Release, index.Reject, index.MakeLead:
		if req.Item == "" && (len(req.Items) == 0 || req.Kind == index.MakeLead) {
			return missing("item", req.Kind+" is about one item of the cluster")
		}
	case index.Block, index.Exempt:
	case index.Merge:
		if req.Into == 0 {
			return missing("into", "the cluster to merge this one into")
		}
	case index.Undo:
		if req.Undo == 0 {
			return missing("decision", "the number of the decision to take back")
		}
	default:
		return &ingest.FieldError{Field: "kind", Problem: fmt.Sprintf("is %.40q, want release, reject, block, exempt, merge, lead or undo", req.Kind)}
	}
	if len(req.Reason) > maxReason {
		return &ingest.FieldError{Field: "reason", Problem: fmt.Sprintf("has %d bytes, at most %d are taken", len(req.Reason), maxReason), TooLarge: true}
	}
	return nil
}

// decisionID reads an optional id.
func decisionID(field string, raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	id, err := ingest.ParseID(raw)
	if f, ok := errors.AsType[*ingest.FieldError](err); ok {
		return "", &ingest.FieldError{Field: field, Problem: f.Problem, TooLarge: f.TooLarge}
	}
	return id, err
}

// decider is the name that a decision is recorded with: the name of the token, or the
// given one if there are no tokens.
func decider(token, given string) (string, error) {
	switch {
	case token != "" && given != "" && given != token:
		return "", &ingest.FieldError{Field: "by", Problem: fmt.Sprintf("is %.80q, but the token is that of %q: leave it out", given, token)}
	case token != "":
		return token, nil
	case strings.TrimSpace(given) == "":
		return "", &ingest.FieldError{Field: "by", Problem: "is missing: a decision has a name, and without tokens the request must give it"}
	case len(given) > maxName || strings.ContainsFunc(given, unicode.IsControl):
		return "", &ingest.FieldError{Field: "by", Problem: fmt.Sprintf("is no name: want at most %d bytes without control characters", maxName)}
	}
	return given, nil
}

// decisionProblem says what an error of Decide means to the caller.
func decisionProblem(err error) error {
	var conflict *index.ConflictError
	switch {
	case errors.As(err, &conflict):
		p := NewProblem(http.StatusConflict, "", conflict.Error())
		p.Decision = conflict.Decision
		return p
	case errors.Is(err, index.ErrQuery):
		return NewProblem(http.StatusUnprocessableEntity, "", strings.TrimSuffix(err.Error(), ": "+index.ErrQuery.Error()))
	}
	return err
}

// decisionPage is one page of decisions, the last one first.
type decisionPage struct {
	Decisions []index.Decision `json:"decisions"`
}

// getDecisions lists what was decided about a cluster.
func (s lists) getDecisions(c echo.Context) error {
	cluster, err := clusterID(c.Param("id"))
	if err != nil {
		return err
	}
	return decisions(c, func(ctx context.Context, limit int) ([]index.Decision, error) {
		return s.cfg.Index.Decisions(ctx, index.DecisionQuery{Cluster: cluster, Limit: limit})
	})
}

// getExemptions lists what nothing is matched against, and what was set aside.
func (s lists) getExemptions(c echo.Context) error { return decisions(c, s.cfg.Index.Exemptions) }

// decisions answers with a list of decisions.
func decisions(c echo.Context, list func(ctx context.Context, limit int) ([]index.Decision, error)) error {
	limit, err := queryInt(c, "limit", 50, 1, maxDecisions)
	if err != nil {
		return err
	}
	page, err := list(c.Request().Context(), int(limit))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, decisionPage{Decisions: append([]index.Decision{}, page...)})
}

// clusterID reads the number of a cluster.
func clusterID(number string) (uint32, error) {
	var id uint32
	if err := json.Unmarshal([]byte(number), &id); err != nil || id == 0 {
		return 0, &ingest.FieldError{Field: "id", Problem: fmt.Sprintf("is %.40q, want the number of a cluster", number)}
	}
	return id, nil
}
