package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"jianguo/index"
	"jianguo/index/boilerplate"
	"jianguo/ingest"
)

// boilerplatePage is what carries no weight in texts of a source.
type boilerplatePage struct {
	Passages []boilerplate.Passage `json:"passages"`
}

// getBoilerplate lists the passages of a source.
func (s lists) getBoilerplate(c echo.Context) error {
	source, err := sourceName(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, boilerplatePage{s.cfg.Index.Boilerplate(source)})
}

// postBoilerplate applies an editor's decision about a passage of a source.
func (s lists) postBoilerplate(c echo.Context) error {
	source, err := sourceName(c)
	if err != nil {
		return err
	}
	body, err := readBody(c)
	if err != nil {
		return err
	}
	var b struct{ Text, State, By, Reason string }
	if err := json.Unmarshal(body, &b); err != nil {
		return &ingest.FieldError{Field: "payload", Problem: "is no object of the strings text, state, by and reason: " + err.Error()}
	}
	if b.By, err = decider(callerName(c.Request().Context()), b.By); err != nil {
		return err
	}
	err = s.cfg.Ingest.DecideBoilerplate(c.Request().Context(), source, boilerplate.Passage{Text: b.Text, State: b.State, By: b.By, Reason: b.Reason})
	if errors.Is(err, index.ErrQuery) {
		return &ingest.FieldError{Field: "decision", Problem: err.Error()}
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, boilerplatePage{s.cfg.Index.Boilerplate(source)})
}

// sourceName is the source in the path, which may be escaped.
func sourceName(c echo.Context) (string, error) {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil || name == "" {
		return "", &ingest.FieldError{Field: "name", Problem: "is not the name of a source"}
	}
	return name, nil
}
