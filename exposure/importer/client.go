package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"jianguo/exposure/trace"
)

// Client talks to the service by HTTP.
type Client struct {
	URL   string // as http://127.0.0.1:8080
	Token string // of the role recall; empty: none
	// Patience is how long a request is repeated while the service cannot be reached or
	// asks to wait. 0: two minutes.
	Patience time.Duration

	http http.Client
}

// RefusedError says that the service will never take a request.
type RefusedError struct{ Detail string }

func (e *RefusedError) Error() string { return e.Detail }

// query returns what the service knows of a user.
func (c *Client) query(ctx context.Context, user, scene string) (info trace.History, err error) {
	err = c.post(ctx, "/exposures/query", map[string]string{"user": user, "scene": scene}, &info)
	return info, err
}

func (c *Client) report(ctx context.Context, r Report) error {
	return c.post(ctx, "/exposures", r, nil)
}

// post sends a request until it is answered: a report that arrives twice counts once.
func (c *Client) post(ctx context.Context, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	patience := c.Patience
	if patience == 0 {
		patience = 2 * time.Minute
	}
	end := time.Now().Add(patience)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		again, err := c.try(ctx, path, data, answer)
		if err == nil || !again || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (c *Client) try(ctx context.Context, path string, data []byte, answer any) (again bool, err error) {
	url := strings.TrimSuffix(c.URL, "/") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return ctx.Err() == nil, fmt.Errorf("import: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return true, fmt.Errorf("import: %s: %w", path, err)
	case resp.StatusCode < 300:
		if answer == nil {
			return false, nil
		}
		return false, json.Unmarshal(text, answer)
	}
	var problem struct{ Detail string }
	if json.Unmarshal(text, &problem) != nil || problem.Detail == "" {
		problem.Detail = resp.Status
	}
	switch resp.StatusCode {
	case http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return false, &RefusedError{Detail: problem.Detail}
	case http.StatusUnauthorized, http.StatusForbidden:
		return false, fmt.Errorf("import: %s: give a token of the role recall with --token or JIANGUO_TOKEN",
			problem.Detail)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		return true, errors.New("import: " + problem.Detail)
	}
	return resp.StatusCode >= 500, fmt.Errorf("import: %s: %s", path, problem.Detail)
}
