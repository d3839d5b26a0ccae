// Package trace tells support why a user is or is not shown an item: from what is held of the user now (Evidence),
// and by recording what is reported and asked about the user for a while (Traces).
package trace

import (
	_ "embed"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Evidence is what is held of some items, in each history that the scene reads, by the user and then by all whose
// histories count as well.
type Evidence []History

// place is where an item may be held, as a template says it.
type place struct {
	*History
	Where
	Linked, Story string // the linked user, and the other item of the story, that it is about
}

func (p place) In() Shard   { return p.Shards[p.Shard] }
func (p place) Number() int { return p.Shard + 1 }

// Ago is how many exposures ago the newest of its shard was reported.
func (p place) Ago() int {
	n := p.History.Tail + 1
	for _, newer := range p.Shards[p.Shard+1:] {
		n += newer.Keys
	}
	return n
}

func (p place) AgoOldest() int { return p.Ago() + p.In().Keys - 1 }

// Why says in a sentence each where the item with a number is held. Held says whether a filter drops it.
// asked is the item of the request, which may be another one of the story.
func (e Evidence) Why(number int, asked string) (reasons []string, held bool) {
	item, story := e[0].Items[number].Item, ""
	if item != asked {
		story = item
	}
	for i := range e {
		h := &e[i]
		p := place{History: h, Where: h.Items[number], Story: story}
		excepted := p.Excepted && p.Shard >= 0 && !h.Expired && story == ""
		if !p.Seen && !excepted {
			continue
		}
		if h.User != e[0].User {
			p.Linked = h.User
		}
		reasons, held = append(reasons, text("place", p)), held || p.Seen
	}
	return reasons, held
}

// Explanation says what a filter makes of one item for one user.
type Explanation struct {
	User      string    `json:"user"`
	Item      string    `json:"item"`
	Policy    string    `json:"policy"`
	Dropped   bool      `json:"dropped"`          // with the scope item
	Story     bool      `json:"dropped_by_story"` // with the scope story
	Reasons   []string  `json:"reasons"`          // sentences: of the item itself, then of others of its story
	Histories []History `json:"histories"`        // what they were made from
}

// Explain concludes from the evidence for an item, number 0, and for the others of its story.
func (e Evidence) Explain() *Explanation {
	own := &e[0]
	x := &Explanation{User: own.User, Item: own.Items[0].Item, Policy: own.Policy, Reasons: []string{}, Histories: e}
	for i := range own.Items {
		reasons, held := e.Why(i, x.Item)
		x.Reasons = append(x.Reasons, reasons...)
		x.Dropped, x.Story = x.Dropped || held && i == 0, x.Story || held
	}
	return x
}

func (x *Explanation) String() string { return text("explanation", x) }

//go:embed explain.txt
var source string

var texts = template.Must(template.New("").Funcs(template.FuncMap{
	"minute": func(t interface{ Format(string) string }) string { return t.Format("2006-01-02 15:04") },
	"percent": func(p float64) string {
		if p < 1e-5 {
			return "below 0.001 %"
		}
		return strconv.FormatFloat(100*p, 'g', 2, 64) + " %"
	},
}).Parse(source))

// text fills in a template of this package, which cannot fail.
func text(of string, v any) string {
	var b strings.Builder
	if err := texts.ExecuteTemplate(&b, of, v); err != nil {
		panic(err)
	}
	return b.String()
}

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

type Shard struct {
	Month    string  `json:"month,omitempty"` // Calendar: 2006-01
	Capacity int     `json:"capacity"`
	Keys     int     `json:"keys"`
	Bytes    int     `json:"bytes"`
	Rate     float64 `json:"false_positive_rate"`
}

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
	Imported   bool       `json:"imported,omitempty"` // from the store that the platform had before
	Items      []Where    `json:"items,omitempty"`

	Others []History `json:"others,omitempty"` // the other histories of the scene
}
