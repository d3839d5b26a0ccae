package exposure

import (
	"context"
	"encoding/json"
)

// Request asks which items a user has not been shown.
type Request struct {
	User  string   `json:"user"`
	Items []string `json:"items"`
	Scene string   `json:"scene,omitempty"`
	Scope string   `json:"scope,omitempty"` // "" or "item", "telling", "story"
	Adds  int      `json:"adds,omitempty"`
	// Max is the number of items returned at most; 0 is no limit.
	Max int `json:"max,omitempty"`
	// AtLeast brings back up to so many items that only shards hold, those of
	// the oldest shard first, never what tail or ring hold.
	AtLeast int `json:"at_least,omitempty"`
	// Mark, if it is "delivered", reports the answer as delivered before it is returned. It takes
	// a Max of at most RingSize: a client that ranks afterwards reports what it delivered then.
	Mark string `json:"mark,omitempty"`
	// DeadlineMS bounds the wait for the user's state; 0 is no bound.
	DeadlineMS int `json:"deadline_ms,omitempty"`
}

// Response answers in the order of the request. An id that was given twice is returned once.
type Response struct {
	Items    []string `json:"items"`
	Relaxed  []string `json:"relaxed"`
	Dropped  int      `json:"dropped"`  // ids not returned because seen, delivered or repeated
	Degraded string   `json:"degraded"` // "" or why everything (open) or nothing (closed) was returned
}

// Filter is FilterBytes for callers in Go.
func (s *Store) Filter(ctx context.Context, req Request) (resp Response, err error) {
	req.Items = append([]string{}, req.Items...) // and not null
	body, err := json.Marshal(req)
	if err != nil {
		return resp, err
	}
	if body, _, err = s.FilterBytes(ctx, nil, body, JSON); err != nil {
		return resp, err
	}
	return resp, json.Unmarshal(body, &resp)
}
