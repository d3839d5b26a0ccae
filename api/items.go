package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/must"
)

func (s *Server) postItem(c echo.Context) any {
	body := readBody(c)
	it := must.Get(ingest.DecodeItem(body))
	must.Do(s.mayPublish(c.Request().Context(), it.ID, it.Source))
	defer must.Get(s.publishers.enter(c, len(body)))()
	return s.submit(c, bus.SubjectPublish, it.ID, encodeItem(it))
}

// encodeItem encodes an item again: its size on the bus is then that of its texts, however its sender escaped them.
func encodeItem(it *ingest.Item) []byte {
	if it.Published != nil {
		it.Published = new(it.Published.UTC())
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	must.Dof(e.Encode(it), "api: item %q", it.ID)
	return b.Bytes()
}

// deleteItem withdraws an item, also one that has not arrived yet.
func (s *Server) deleteItem(c echo.Context) any {
	w := ingest.Withdrawal{ID: pathID(c), Mode: c.QueryParam("mode"), Reason: c.QueryParam("reason"),
		Revision: queryInt[int64](c, "revision", 0, 0, math.MaxInt64)}
	payload := must.Get(json.Marshal(&w))
	must.Get(ingest.DecodeWithdrawal(payload))
	must.Do(s.mayPublish(c.Request().Context(), w.ID))
	return s.submit(c, bus.SubjectWithdraw, w.ID, payload)
}

// submit takes a checked payload through ITEMS.
func (s *Server) submit(c echo.Context, subject, id string, payload []byte) any {
	must.Do(s.room())
	if err := s.busReady(); err != nil {
		must.Do(NewProblem(http.StatusServiceUnavailable, "", "nothing can be published at the moment: "+err.Error()))
	}
	// It is in work also when its client has left.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), s.cfg.Wait)
	defer cancel()
	outcome, err := s.publisher.Submit(ctx, subject, payload)
	if errors.Is(err, ingest.ErrPending) {
		c.Response().Header().Set(echo.HeaderLocation, itemPath(id))
		must.Do(c.JSON(http.StatusAccepted, map[string]string{"id": id, "status": "pending",
			"detail": "it is stored and will be judged; ask again at Location, or read /verdicts"}))
		return nil
	}
	if must.Do(err); outcome.Error != "" {
		// It passed our check and not that of the ingest path.
		must.Do(NewProblem(http.StatusUnprocessableEntity, outcome.Field,
			"it was refused, and lies in the dead letters: "+outcome.Error))
	}
	return outcome
}

// room is nil while the disk has space for what clients send.
func (s *Server) room() error {
	if err := s.cfg.Room(); err != nil {
		return NewProblem(http.StatusInsufficientStorage, "", "nothing is taken at the moment: "+err.Error())
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

// check is the verdict an item would get: POST /items/check and items.check.
func (s *Server) check(ctx context.Context, body []byte) index.Event {
	it := must.Get(ingest.DecodeDocument(body))
	e, err := s.cfg.Ingest.Check(ctx, it)
	must.Dof(err, "api: check of %q", it.ID)
	return e
}

func (s *Server) getItem(c echo.Context) any {
	it := s.findItem(c, pathID(c))
	if !c.QueryParams().Has("why") {
		return it
	}
	return struct {
		*index.Item
		Explanation *ingest.Explanation `json:"explanation"`
	}{it, s.explain(c, it, c.QueryParam("why"))}
}

// explain judges an item against another, that of its verdict where none is
// named. The later of the two is the query.
func (s *Server) explain(c echo.Context, it *index.Item, other string) *ingest.Explanation {
	if other = cmp.Or(other, it.Event.Of); other == "" {
		refuse("why", "is empty, and the item's verdict names no other item: name one")
	}
	must.Do(inField("why", ingest.CheckID(other)))
	later, earlier := it, s.findItem(c, other)
	if later.Body == nil || earlier.Body == nil {
		must.Do(NewProblem(http.StatusConflict, "why", "the text of one of the two was not kept"))
	}
	if later.Before(earlier) {
		later, earlier = earlier, later
	}
	return s.cfg.Ingest.Explain(later, earlier)
}

func (s *Server) findItem(c echo.Context, id string) *index.Item {
	it, err := s.cfg.Index.Item(c.Request().Context(), id)
	if errors.Is(err, index.ErrNotFound) {
		err = NewProblem(http.StatusNotFound, "", fmt.Sprintf("no item has the id %q", id))
	}
	return must.Get(it, err)
}
