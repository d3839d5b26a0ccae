package console

import (
	"context"
	"slices"

	"jianguo/index/browse"
	"jianguo/segment"
)

// Finder returns the console's search as a function for api.Config.Find.
func Finder(b *browse.Model, s *segment.Segmenter) func(ctx context.Context, words string, limit int) ([]uint32, error) {
	return (&Console{cfg: Config{Browse: b}, words: newCutter(s)}).find
}

// find looks up words. If too few articles have them, those whose headline has
// the same characters follow.
func (c *Console) find(ctx context.Context, text string, limit int) ([]uint32, error) {
	words, pairs := c.words.query(text)
	found, err := c.cfg.Browse.Search(ctx, words, limit)
	if err != nil || len(found) >= limit || len(pairs) == 0 {
		return found, err
	}
	more, err := c.cfg.Browse.Search(ctx, pairs, limit)
	for _, o := range more {
		if len(found) < limit && !slices.Contains(found, o) {
			found = append(found, o)
		}
	}
	return found, err
}
