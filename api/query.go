package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"jianguo/ingest"
	"jianguo/internal/must"
)

// A handler returns the answer to a request, which is sent as JSON; nil: it has answered
// itself. It panics on errors (must).
type handler func(c echo.Context) any

// serve has the type of echo.HandlerFunc.
func (h handler) serve(c echo.Context) error {
	answer, err := must.Try(func() any {
		parameters, err := url.ParseQuery(c.Request().URL.RawQuery)
		if err != nil { // parameters would be left out
			refuse("query", "is not percent-encoded, as %%3B for a semicolon: %v", err)
		}
		for name, values := range parameters {
			if !utf8.ValidString(strings.Join(values, " ")) { // half a character would become another one
				refuse(name, "is not valid UTF-8")
			}
		}
		return h(c)
	})
	if err != nil || answer == nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// refuse ends a request with a field, query parameter or part of its path at fault.
func refuse(field, problem string, args ...any) {
	must.Do(&ingest.FieldError{Field: field, Problem: fmt.Sprintf(problem, args...)})
}

// tooLarge is refuse where there is more of something than is taken.
func tooLarge(field, problem string, args ...any) {
	must.Do(&ingest.FieldError{Field: field, Problem: fmt.Sprintf(problem, args...), TooLarge: true})
}

// kinds are what a field of a body may be, if not an object.
var kinds = map[reflect.Kind]string{reflect.String: "text", reflect.Slice: "a list",
	reflect.Uint32: "an integer from 0 to 4294967295", reflect.Uint64: "an integer from 0 to 18446744073709551615"}

// readJSON reads a body into a struct. It refuses one in which a name stands twice.
func readJSON(data []byte, to any) {
	err := json.Unmarshal(data, to, jsontext.AllowInvalidUTF8(true)) // as encoding/json does
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		field := cmp.Or(strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", "."), "payload")
		refuse(field, "is %.40s, want %s", cmp.Or(string(wrong.JSONValue), "a JSON "+ingest.KindName(wrong.JSONKind)),
			cmp.Or(kinds[wrong.GoType.Kind()], "an object"))
	}
	if err != nil {
		must.Do(ingest.MalformedError(err))
	}
}

// queryInt reads a whole number between least and most.
func queryInt[N int | int64 | uint32 | uint64](c echo.Context, name string, missing, least, most N) N {
	given := c.QueryParam(name)
	if given == "" {
		return missing
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < int64(least) || n > int64(most) {
		refuse(name, "is %.40q, want a whole number from %d to %d", given, least, most)
	}
	return N(n)
}

func clusterID(c echo.Context) (id uint32) {
	if err := json.Unmarshal([]byte(c.Param("id")), &id); err != nil || id == 0 {
		refuse("id", "is %.40q, want the number of a cluster", c.Param("id"))
	}
	return id
}

func itemPath(id string) string {
	if id == "." || id == ".." {
		return "/items?id=" + url.QueryEscape(id)
	}
	return "/items/" + url.PathEscape(id)
}

// pathID reads the id behind /items/, or else the query parameter id. What is
// taken apart is the path as it was sent: echo's parameters do not say whether
// a slash or a percent sign was escaped.
func pathID(c echo.Context) string {
	escaped := strings.TrimPrefix(c.Request().URL.EscapedPath(), "/items")
	escaped = strings.TrimPrefix(escaped, "/")
	id := cmp.Or(must.Get(url.PathUnescape(escaped)), c.QueryParam("id")) // the server refuses other paths
	must.Do(ingest.CheckID(id))
	return id
}

// sourceName is the source in the path, which is taken apart as pathID does.
func sourceName(c echo.Context) string {
	escaped := strings.TrimPrefix(c.Request().URL.EscapedPath(), "/sources/")
	name := must.Get(url.PathUnescape(strings.TrimSuffix(escaped, "/boilerplate")))
	if name == "" {
		refuse("name", "is not the name of a source")
	}
	return name
}
