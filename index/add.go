package index

import (
	"context"
	"errors"
	"slices"
	"time"

	"jianguo/internal/must"
)

// ErrRecipe says that an article has to be prepared again, because of a reindex.
var ErrRecipe = errors.New("the article was prepared by another recipe")

// Add applies mutations in order, as one durable transaction, and returns the
// outcome of each. A mutation that was applied before changes nothing. On an error
// nothing was applied, in the files or in memory, and the caller may repeat the
// call. The error is ErrRecipe if an article was prepared by another recipe than Recipe's.
func (x *Index) Add(ctx context.Context, mutations []Mutation) ([]Outcome, error) {
	x.write.Lock()
	defer x.write.Unlock()
	if recipe := x.Recipe(); recipe != "" && slices.ContainsFunc(mutations, func(m Mutation) bool {
		return m.Article != nil && m.Article.Recipe != "" && m.Article.Recipe != recipe
	}) {
		return nil, ErrRecipe
	}
	outcomes := make([]Outcome, len(mutations))
	x.mu.RLock()
	applied := x.applied
	x.mu.RUnlock()
	err := x.apply(ctx, max(applied, lastSeq(mutations)), func(b *batch) {
		for i := range mutations {
			m := &mutations[i]
			err := must.Catch(func() {
				switch {
				case m.Article != nil && m.Seq > applied:
					outcomes[i] = b.publish(m)
				case m.Withdraw != nil && m.Seq > applied:
					outcomes[i] = b.withdraw(m)
				default:
					outcomes[i] = b.again(m)
				}
			})
			must.Dof(err, "index: item %q (sequence %d)", m.ID(), m.Seq)
		}
		must.Do(x.cfg.Fail("batch"))
	})
	if err != nil {
		return nil, err
	}
	x.metrics.observe(outcomes)
	x.rate.add(time.Now(), len(mutations))
	return outcomes, nil
}

func lastSeq(mutations []Mutation) uint64 {
	var last uint64
	for i := range mutations {
		last = max(last, mutations[i].Seq)
	}
	return last
}
