package legacy

import (
	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
)

// reasonOf says why jianguo, which marks an item so, and the old store differ about it.
func reasonOf(mark byte, old, imported bool) string {
	switch {
	case old && !imported:
		return "not_imported" // only the old store has it, and the user is not imported yet
	case old:
		return "retention" // only the old store has it: the policy forgot it, or it was not reported here
	case mark == kernel.Exact:
		return "unknown_to_old" // only jianguo has it: the old store dropped it, or was not told
	}
	return "false_positive" // only a shard has it: also what the old store dropped long ago
}

var reasons = []string{"not_imported", "retention", "unknown_to_old", "false_positive"}

// compare counts where marks, those of jianguo, differ from what the old store holds.
func (o *Old) compare(q *wire.Query, marks []byte, held map[string]bool, imported bool) {
	o.compared.Add(float64(len(marks)))
	for i, mark := range marks {
		if old := held[string(q.ID(i))]; old != (mark != kernel.Unseen) {
			o.differences.WithLabelValues(reasonOf(mark, old, imported)).Inc()
		}
	}
}
