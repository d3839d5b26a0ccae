// Package indextest has what the tests of package index and of the packages above it share.
package indextest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"jianguo/index/verdict"
	"jianguo/index/verify"
	"jianguo/simhash"
)

// Start is when the streams of tests begin.
var Start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// MustVerify fails the test if Verify finds a problem. Every test that writes ends with it.
func MustVerify(t rapid.TB, x interface {
	Verify(context.Context) (*verify.Report, error)
}) {
	t.Helper()
	r, err := x.Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Error("verify:", p)
	}
}

// Article returns an article with a fingerprint. The text is a name: articles with equal
// names are exact copies.
func Article(id, text string, fingerprint uint64) *verdict.Article {
	a := &verdict.Article{ID: id, Title: "t", Packed: verdict.PackText(text), Blank: text == ""}
	sum := sha256.Sum256([]byte(text))
	copy(a.Exact[:], sum[:])
	a.Print.Fingerprint = simhash.Fingerprint(fingerprint)
	for i := range a.Print.Margins {
		a.Print.Margins[i] = 1
	}
	return a
}

// Mutation draws from few ids and few texts, so that copies are frequent. Texts of one
// family are one to four bits apart.
func Mutation(rt *rapid.T, seq uint64) verdict.Mutation {
	id := fmt.Sprintf("id%d", rapid.IntRange(0, 7).Draw(rt, "id"))
	m := verdict.Mutation{Seq: seq, At: Start.Add(time.Duration(seq) * time.Second)}
	revision := int64(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 5}).Draw(rt, "revision"))
	if rapid.IntRange(0, 4).Draw(rt, "kind") == 0 {
		m.Withdraw = &verdict.Withdrawal{ID: id, Revision: revision, Promote: rapid.Bool().Draw(rt, "promote")}
		return m
	}
	family := uint64(rapid.IntRange(1, 3).Draw(rt, "family")) * 0x0123456789abcdef
	flips := rapid.SampledFrom([]uint64{0, 1, 3, 7, 0xf, 1 << 20, 1<<20 | 1<<40, 1<<20 | 1<<40 | 1<<60}).Draw(rt,
		"flips")
	text := fmt.Sprintf("%x/%x", family, flips)
	if rapid.IntRange(0, 9).Draw(rt, "blank") == 0 {
		text, family, flips = "", 0, 0
	}
	m.Article = Article(id, text, family^flips)
	m.Article.Source = rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(rt, "source")
	m.Article.Revision = revision
	return m
}
