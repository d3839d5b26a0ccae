package api

import (
	"encoding/json"
	"errors"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/index/boilerplate"
	"jianguo/internal/must"
)

// boilerplatePage is what carries no weight in texts of a source.
type boilerplatePage struct {
	Passages []boilerplate.Passage `json:"passages"`
}

// getBoilerplate lists the passages of a source.
func (s lists) getBoilerplate(c echo.Context) any {
	return boilerplatePage{s.cfg.Index.Boilerplate(sourceName(c))}
}

// postBoilerplate applies an editor's decision about a passage of a source.
func (s lists) postBoilerplate(c echo.Context) any {
	source, ctx := sourceName(c), c.Request().Context()
	var b struct{ Text, State, By, Reason string }
	if err := json.Unmarshal(must.Get(readBody(c)), &b); err != nil {
		refuse("payload", "is no object of the strings text, state, by and reason: %v", err)
	}
	err := s.cfg.Ingest.DecideBoilerplate(ctx, source, boilerplate.Passage{Text: b.Text, State: b.State, By: decider(ctx, b.By), Reason: b.Reason})
	if errors.Is(err, index.ErrQuery) {
		refuse("decision", "%v", err)
	}
	must.Do(err)
	return s.getBoilerplate(c)
}
