package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"jianguo/api/console/diff"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/must"
)

const (
	passageLeast = 12  // characters of a passage that is looked up; a shorter text is a search for words
	passageWords = 16  // that are looked up together
	passagesMost = 200 // that are looked up of a text, evenly spread
	passageItems = 400 // that have its words, the newest
	heldRead     = 60  // items whose texts are read: those with most of the passages
	sure         = 0.8 // of a text: what has so much of it, and alone, is what was pasted
)

// passages are the words by which a text is looked up, clause by clause. Those at the ends of a
// clause may be cut in another way where it stands, and are left out.
func (c *Console) passages(text string) (out [][]string) {
	clause := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("。！？；，、：…×\n", r) }) {
		if clause += part; utf8.RuneCountInString(clause) < passageLeast {
			continue
		}
		words := appendWords(c.cfg.Segmenter, nil, clause, false)
		if len(words) > 4 {
			words = words[1 : len(words)-1]
		}
		out, clause = slices.AppendSeq(out, slices.Chunk(words, passageWords)), ""
	}
	return out
}

// prepared is an article as it is compared.
func (c *Console) prepared(title, body string) *diff.Form {
	t := ingest.Normal(c.cfg.Segmenter, title, body)
	return diff.NewForm(t.Title + "\n" + t.Body)
}

// found is an item that a search found.
type found struct {
	index.Brief
	Share   float64 // of the text, that the item has; 0: it has the words
	order   float64 // the same, and 1 more if it was rejected
	besides int     // 0: it has the text to the letter; else the higher, the longer it is
}

// lookUp finds the items of an address, those that have the text or sentences of it, or else those
// that have its words.
func (c *Console) lookUp(ctx context.Context, v *searchView) {
	if fields := strings.Fields(v.Text); len(v.Text) <= 2*searched {
		for _, field := range fields { // an address may stand behind a headline
			if list := must.Get(c.cfg.Browse.Search(ctx, []string{browse.URLWord(field)}, foundMost)); len(list) > 0 {
				v.Found = c.found(ctx, list, 1)
				return
			}
		}
	}
	passages := c.passages(v.Text)
	c.holding(ctx, v, passages)
	if v.Held || len(passages) > 1 {
		return
	}
	list := must.Get(Find(ctx, c.cfg.Browse, c.cfg.Segmenter, v.Text, foundMost+1))
	v.More = len(list) > foundMost
	v.Found = c.found(ctx, list[:min(len(list), foundMost)], 0)
}

// found reads the items that were found.
func (c *Console) found(ctx context.Context, ordinals []uint32, share float64) (out []found) {
	briefs := must.Get(c.cfg.Index.Briefs(ctx, ordinals))
	for _, o := range ordinals {
		if b := briefs[o]; b != nil {
			out = append(out, found{Brief: *b, Share: share})
		}
	}
	return out
}

// holding finds the items that have passages of a text: the rejected ones first, then those that
// have most of it and least besides.
func (c *Console) holding(ctx context.Context, v *searchView, passages [][]string) {
	votes, step := map[uint32]int{}, 1+len(passages)/passagesMost
	for i := 0; i < len(passages); i += step {
		for _, o := range must.Get(c.cfg.Browse.Search(ctx, passages[i], passageItems)) {
			votes[o]++
		}
	}
	likely := slices.SortedFunc(maps.Keys(votes), func(a, b uint32) int {
		return cmp.Or(votes[b]-votes[a], cmp.Compare(b, a))
	})
	text := c.prepared("", v.Text)
	for _, f := range c.found(ctx, likely[:min(len(likely), heldRead)], 0) {
		if body := must.Get(c.cfg.Index.Text(ctx, f.Ordinal)); body != nil {
			if f.Share = 1; !strings.Contains(f.Title+"\n"+*body, v.Text) {
				item := c.prepared(f.Title, *body)
				f.Share, f.besides = diff.Share(text, item), 1+len(item.Form)
			}
			if f.order = f.Share; f.Verdict == index.Duplicate {
				f.order++
			}
			if f.Share == 1 {
				v.whole++
			}
			if f.Share > 0 {
				v.Found = append(v.Found, f)
			}
		}
	}
	v.Held, v.Part = len(v.Found) > 0, step > 1
	v.More = v.Held && len(likely) > heldRead
	slices.SortStableFunc(v.Found, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.order, a.order), a.besides-b.besides)
	})
}
