package trace

import "time"

// Where says which part of a user's state holds an item.
type Where struct {
	Item     string `json:"item"`
	Tail     bool   `json:"tail"`
	Ring     bool   `json:"ring"`
	Shard    int    `json:"shard"` // index of the newest shard that tests positive, -1 for none
	Excepted bool   `json:"excepted"`
	Seen     bool   `json:"seen"` // a filter would not return it
	// Both only while they count: the day under which the tail holds it, and its delivery, to the minute.
	Day         string     `json:"day,omitempty"`
	DeliveredAt *time.Time `json:"delivered_at,omitempty"`
}

// Shard describes one shard.
type Shard struct {
	Month    string  `json:"month,omitempty"` // Calendar: 2006-01
	Capacity int     `json:"capacity"`
	Keys     int     `json:"keys"`
	Bytes    int     `json:"bytes"`
	Rate     float64 `json:"false_positive_rate"`
}

// History is a user's state in one history.
type History struct {
	User       string     `json:"user"`
	History    string     `json:"history"`
	Kinds      []string   `json:"kinds,omitempty"` // of reports that it keeps; missing: delivered and seen
	Policy     string     `json:"policy"`
	Last       *time.Time `json:"last,omitempty"` // newest exposure
	Expired    bool       `json:"expired"`
	Tail       int        `json:"tail"`                // keys
	TailFrom   string     `json:"tail_from,omitempty"` // the day of the one that arrived first
	Delivered  int        `json:"delivered"`
	Exceptions int        `json:"exceptions"`
	Shards     []Shard    `json:"shards"` // oldest first
	Bytes      int        `json:"bytes"`  // as stored
	Rate       float64    `json:"false_positive_rate"`
	Linked     []string   `json:"linked,omitempty"`   // users whose histories count as well
	Imported   bool       `json:"imported,omitempty"` // the old store is not asked any more
	Items      []Where    `json:"items,omitempty"`

	Others []History `json:"others,omitempty"` // the other histories of the scene
}
