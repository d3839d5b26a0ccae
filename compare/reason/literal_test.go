package reason

import "testing"

// TestInventedEnd: a piece whose end comes from nowhere in the original is not quoted, and ends nothing.
func TestInventedEnd(t *testing.T) {
	o := &Original{Text: "甲乙", Form: "甲乙丙", Origin: func(i int) (int, int) {
		if i >= len("甲乙") {
			return -1, -1
		}
		return i, i + 1
	}}
	if got := o.literal("甲乙丙", ""); got != "" {
		t.Errorf("%q", got)
	}
}
