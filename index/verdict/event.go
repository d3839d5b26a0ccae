package verdict

import (
	"math"
	"time"

	"jianguo/compare/reason"
)

// Outcome is the result of one Mutation.
type Outcome struct {
	// Changed is false where the mutation was older than the stored state, or
	// equal to it. Event then is the stored verdict.
	Changed bool
	// Event is the state of the mutation's item afterwards. Its Number is 0
	// for a dead letter.
	Event Event
}

// Event is one change of an item's state, as it is published. Per id, the
// event with the highest Number is the present state.
type Event struct {
	Number         uint64        `json:"event"`
	ID             string        `json:"id"`
	Revision       int64         `json:"revision"`
	Verdict        Verdict       `json:"verdict"`
	Previous       Verdict       `json:"previous,omitempty"`
	Cause          Cause         `json:"cause"`
	Restores       uint64        `json:"restores,omitempty"` // of an undo: the event that it brings back
	EffectiveCause Cause         `json:"-"`                  // Cause, but for an undo that of the event it brings back
	EffectiveNote  string        `json:"-"`                  // of an undo: the note of that event
	Rule           Rule          `json:"rule,omitempty"`
	Of             string        `json:"of,omitempty"`
	Cluster        uint32        `json:"cluster"`
	Story          uint32        `json:"story"` // the first telling of its story
	Series         uint32        `json:"series,omitempty"`
	Distance       *int          `json:"distance,omitempty"`    // bits, 0…64
	Margin         *float32      `json:"margin,omitempty"`      // S, 0…64
	Resemblance    *float32      `json:"resemblance,omitempty"` // 0…1
	Facts          *reason.Facts `json:"facts,omitempty"`
	Why            string        `json:"why"`
	Fingerprint    string        `json:"fingerprint"` // 16 hexadecimal digits
	Recipe         string        `json:"recipe"`
	Policy         string        `json:"policy"`
	At             time.Time     `json:"at"`
}

// Measure sets Distance, Margin and Resemblance, rounded as they are published.
func (e *Event) Measure(distance *int, margin, resemblance *float32) {
	e.Distance, e.Margin, e.Resemblance = distance, Rounded(margin, 100), Rounded(resemblance, 1000)
}

// Rounded rounds a value, if there is one, to so many steps between two whole numbers.
func Rounded(v *float32, steps float64) *float32 {
	if v == nil {
		return nil
	}
	return new(float32(math.Round(float64(*v)*steps) / steps))
}
