package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
)

// pending answers a publisher whose verdict is late.
type pending struct {
	ID     string `json:"id"`
	Status string `json:"status"` // "pending"
	Detail string `json:"detail"`
}

// postItem publishes an item and waits for its verdict.
func (s *Server) postItem(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	it, err := ingest.DecodeItem(body)
	if err != nil {
		return err
	}
	payload, err := encodeItem(it)
	if err != nil {
		return err
	}
	return s.submit(c, bus.SubjectPublish, it.ID, payload)
}

// encodeItem encodes an item again, so that its size on the bus depends on its texts
// and not on the escapes of its sender.
func encodeItem(it *ingest.Item) ([]byte, error) {
	if it.Published != nil {
		utc := it.Published.UTC()
		if y := utc.Year(); y < 0 || y > 9999 {
			return nil, &ingest.FieldError{Field: "published_at", Problem: "is not between the years 0 and 9999"}
		}
		it.Published = &utc
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(it); err != nil {
		return nil, fmt.Errorf("api: item %q: %w", it.ID, err)
	}
	return b.Bytes(), nil
}

// deleteItem withdraws an item, also one that has not arrived yet.
func (s *Server) deleteItem(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	revision, err := queryInt(c, "revision", 0, 0, 1<<63-1)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(&ingest.Withdrawal{ID: id, Mode: c.QueryParam("mode"), Reason: c.QueryParam("reason"), Revision: revision})
	if err != nil {
		return fmt.Errorf("api: withdrawal of %q: %w", id, err)
	}
	if _, err := ingest.DecodeWithdrawal(payload); err != nil {
		return err
	}
	return s.submit(c, bus.SubjectWithdraw, id, payload)
}

// submit takes a checked payload through ITEMS.
func (s *Server) submit(c echo.Context, subject, id string, payload []byte) error {
	if err := s.room(); err != nil {
		return err
	}
	if err := s.busReady(); err != nil {
		return caused(http.StatusServiceUnavailable, "nothing can be published at the moment: "+err.Error(), err)
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), s.cfg.Wait)
	defer cancel()
	outcome, err := s.publisher.Submit(ctx, subject, payload)
	switch {
	case errors.Is(err, ingest.ErrPending):
		c.Response().Header().Set(echo.HeaderLocation, itemPath(id))
		return c.JSON(http.StatusAccepted, pending{ID: id, Status: "pending", Detail: "it is stored and will be judged; ask again at Location, or read /verdicts"})
	case err != nil:
		return err
	case outcome.Error != "":
		// It passed our check and not that of the ingest path.
		return NewProblem(http.StatusUnprocessableEntity, outcome.Field, "it was refused, and lies in the dead letters: "+outcome.Error)
	}
	return c.JSON(http.StatusOK, outcome)
}

// room is nil while the disk has space for what clients send.
func (s *Server) room() error {
	if err := s.cfg.Room(); err != nil {
		return caused(http.StatusInsufficientStorage, "nothing is taken at the moment: "+err.Error(), err)
	}
	return nil
}

// busReady is nil when messages can be published.
func (s *Server) busReady() error {
	if !s.cfg.Conn.IsConnected() {
		return errors.New("the bus is not connected")
	}
	return nil
}

// checkItem is the verdict an item would get.
func (s *Server) checkItem(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	e, err := s.check(c.Request().Context(), body)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, e)
}

// check serves POST /items/check and items.check.
func (s *Server) check(ctx context.Context, body []byte) (*index.Event, error) {
	it, err := ingest.DecodeDocument(body)
	if err != nil {
		return nil, err
	}
	e, err := s.cfg.Ingest.Check(ctx, it)
	if err != nil {
		return nil, fmt.Errorf("api: check of %q: %w", it.ID, err)
	}
	return &e, nil
}

// checkMessage serves items.check.
func (s *Server) checkMessage(ctx context.Context, data []byte, _ nats.Header) ([]byte, error) {
	e, err := s.check(ctx, data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

func (s *Server) getItem(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	it, err := s.findItem(c, id)
	if err != nil {
		return err
	}
	if !c.QueryParams().Has("why") {
		return c.JSON(http.StatusOK, it)
	}
	e, err := s.explain(c, it, c.QueryParam("why"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		*index.Item
		Explanation *ingest.Explanation `json:"explanation"`
	}{it, e})
}

// explainedTerms is how many terms an explanation lists.
const explainedTerms = 30

// explain judges an item against another, that of its verdict where none is
// named. The later of the two is the query.
func (s *Server) explain(c echo.Context, it *index.Item, other string) (*ingest.Explanation, error) {
	if other == "" {
		other = it.Event.Of
	}
	if other == "" {
		return nil, NewProblem(http.StatusBadRequest, "why", "is empty, and the item's verdict names no other item: name one")
	}
	earlier, err := s.findItem(c, other)
	if err != nil {
		return nil, err
	}
	if it.Body == nil || earlier.Body == nil {
		return nil, NewProblem(http.StatusConflict, "why", "the text of one of the two was not kept")
	}
	later := it
	if later.Before(earlier) {
		later, earlier = earlier, later
	}
	return s.cfg.Ingest.Explain(later, earlier, explainedTerms), nil
}

// findItem looks up an item.
func (s *Server) findItem(c echo.Context, id string) (*index.Item, error) {
	if err := ingest.CheckID(id); err != nil {
		return nil, err
	}
	it, err := s.cfg.Index.Item(c.Request().Context(), id)
	if errors.Is(err, index.ErrNotFound) {
		return nil, caused(http.StatusNotFound, fmt.Sprintf("no item has the id %q", id), err)
	}
	return it, err
}

// itemPath is the address of an item.
func itemPath(id string) string {
	if id == "." || id == ".." {
		return "/items?id=" + url.QueryEscape(id)
	}
	return "/items/" + url.PathEscape(id)
}

// pathID reads the id behind /items/, or else the query parameter id. What is
// taken apart is the path as it was sent: echo's parameters do not say whether
// a slash or a percent sign was escaped.
func pathID(c echo.Context) (string, error) {
	escaped := strings.TrimPrefix(c.Request().URL.EscapedPath(), "/items")
	escaped = strings.TrimPrefix(escaped, "/")
	id, err := url.PathUnescape(escaped)
	if err != nil {
		return "", &ingest.FieldError{Field: "id", Problem: "is not percent-encoded as a path is"}
	}
	if id == "" {
		id = c.QueryParam("id")
	}
	return id, ingest.CheckID(id)
}

// queryInt reads a whole number between least and most.
func queryInt(c echo.Context, name string, missing, least, most int64) (int64, error) {
	given := c.QueryParam(name)
	if given == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < least || n > most {
		return 0, &ingest.FieldError{Field: name, Problem: fmt.Sprintf("is %.40q, want a whole number from %d to %d", given, least, most)}
	}
	return n, nil
}
