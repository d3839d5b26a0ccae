package indextest

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/compare"
	"jianguo/index/verdict"
	"jianguo/simhash"
)

// Press writes the articles of a small corpus: families of bulletins, edited
// reprints, excerpts, short flashes.
type Press struct {
	Rand    *rand.Rand
	stories [][]rune
	IDs     []string // of all articles so far
}

// Words returns random characters.
func (p *Press) Words(n int) []rune {
	out := make([]rune, n)
	for i := range out {
		out[i] = rune(0x4e00 + p.Rand.IntN(600))
	}
	return out
}

// Write returns a text: a new story, or one made of an old one.
func (p *Press) Write() string {
	if len(p.stories) == 0 || p.Rand.IntN(4) == 0 {
		p.stories = append(p.stories, p.Words([]int{20, 60, 150, 300}[p.Rand.IntN(4)]))
		return string(p.stories[len(p.stories)-1])
	}
	// The first few stories are the families.
	s := p.stories[p.Rand.IntN(min(len(p.stories), 1+p.Rand.IntN(len(p.stories))))]
	out := append([]rune{}, s...)
	switch p.Rand.IntN(5) {
	case 0: // the same but for its form
	case 1:
		for range 1 + p.Rand.IntN(len(out)/10+1) {
			out[p.Rand.IntN(len(out))] = rune(0x4e00 + p.Rand.IntN(600))
		}
	case 2:
		out = append(out[len(out)/3:], p.Words(len(out)/3)...)
	default: // other figures in the same words
		for range 5 {
			at := p.Rand.IntN(len(out))
			out = append(out[:at:at], append([]rune(fmt.Sprint(p.Rand.IntN(40))), out[at:]...)...)
		}
	}
	return string(out)
}

// Mutation returns the next message of the stream: an article, a revision, or a
// withdrawal.
func (p *Press) Mutation(seq uint64) verdict.Mutation {
	m := verdict.Mutation{Seq: seq, At: Start.Add(time.Duration(seq) * time.Minute)}
	if len(p.IDs) > 5 && p.Rand.IntN(25) == 0 {
		m.Withdraw = &verdict.Withdrawal{ID: p.IDs[p.Rand.IntN(len(p.IDs))], Promote: p.Rand.IntN(2) > 0}
		return m
	}
	id := fmt.Sprint("i", seq)
	if len(p.IDs) > 5 && p.Rand.IntN(9) == 0 {
		id = p.IDs[p.Rand.IntN(len(p.IDs))] // a revision
	}
	p.IDs = append(p.IDs, id)
	m.Article = ArticleOf(id, p.Write())
	return m
}

// ArticleOf is a text as ingest would make it, with simple features.
func ArticleOf(id, body string) *verdict.Article {
	a := &verdict.Article{ID: id, Title: "t", Packed: verdict.PackText(body), Text: compare.Text{Body: body}}
	sum := sha256.Sum256([]byte(body))
	copy(a.Exact[:], sum[:])
	var s simhash.Sum
	runes := []rune(body)
	for i := range len(runes) - 1 {
		s.Add(xxh3.HashString(string(runes[i:i+2])), 1)
	}
	a.Print = s.Print()
	a.Sketch = compare.NewSketch(&a.Text)
	return a
}
