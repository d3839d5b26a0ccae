package sources

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"jianguo/compare"
	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Boilerplate: the passages that recur at the ends of unrelated articles of a source, such as footers, credits, link
// lists and share prompts, and behind their headlines, such as the name of the site, carry no weight where a text of
// the source is compared.
//
// What is learned is a function of the articles of the source in stream order and of what editors decided, so a
// standby or a restart knows the same. A source takes 2 KB for what is counted, and maxPassages passages.

// The states of a passage.
const (
	PassageLearned = "learned" // it recurs
	PassageIn      = "in"      // an editor has put it in
	PassageOut     = "out"     // an editor has taken it out: it keeps its weight and is not learned again
)

// Passage is a clause of the normal form.
type Passage struct {
	// Text begins with compare.Behind if it stands behind headlines, such as the name of a site.
	Text    string `json:"text"`
	State   string `json:"state"`
	Article uint64 `json:"article"` // the number of the source's article that had it last, as far as learned from
	// Articles is how many articles that were learned from had it, Example the id of the last.
	Articles uint64     `json:"articles,omitempty"`
	Example  string     `json:"example,omitempty"`
	By       string     `json:"by,omitempty"`
	At       *time.Time `json:"at,omitempty"`
	Reason   string     `json:"reason,omitempty"`

	hash uint64
}

const (
	headClauses = 4  // at the beginning of an article
	tailClauses = 12 // at its end
	minArticles = 4  // unrelated ones that a clause has to be in
	// maxCounts bounds the clauses that are counted. When there are more, all counts are halved, so that what is left
	// out is what is rare (Manku & Motwani 2002): a clause in one article of fifteen or more is learned.
	maxCounts = 512
	// forgetAfter is after how many articles without it a passage is no longer learned.
	forgetAfter = 500
	maxPassages = 96
	maxPassage  = 4096 // bytes of a passage
	// After sampleFrom articles of a source one in sampleEvery is learned from, which costs less and changes little.
	sampleFrom, sampleEvery = 200, 4
	minBytes                = 4 // two Latin letters, or a Han character and a half: less may stand anywhere
)

// Clauses are what is known of the clauses of one source. They do not change.
type Clauses struct {
	articles uint64
	counts   []uint32 // sorted: 24 bits of the hash of a clause, and in how many articles it was
	passages []Passage
	residue  *compare.Residue // of the passages; another one only where these change
}

// maxRecent bounds the sources whose clauses stay in memory.
const maxRecent = 4096

// Boilerplate finds the clauses of sources: in memory those that the batch under way has changed and those used
// lately, else in the catalogue. Of is safe for concurrent use; the other methods are for the writer.
type Boilerplate struct {
	DB *sql.DB // read-only connections to the catalogue

	mu      sync.Mutex
	recent  map[string]*Clauses // as committed; under mu
	changed map[string]*Clauses // not committed; under mu
	decided map[string]bool     // sources of which an editor has decided about a passage; nil: not read yet; under mu
}

// Of returns the clauses of a source. It reads under mu, so that what End keeps later is newer.
func (t *Boilerplate) Of(ctx context.Context, source string) (*Clauses, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := cmp.Or(t.changed[source], t.recent[source]); s != nil {
		return s, nil
	}
	s, err := t.read(ctx, source)
	if err == nil {
		t.keep(source, s)
	}
	return s, wrap.Err(err, "boilerplate of source %q", source)
}

// Residue is what carries no weight in texts of a source; nil: nothing.
func (t *Boilerplate) Residue(ctx context.Context, source string) (*compare.Residue, error) {
	s, err := t.Of(ctx, source)
	return s.residue, err
}

func (t *Boilerplate) keep(source string, s *Clauses) {
	if t.recent == nil || len(t.recent) >= maxRecent {
		t.recent = map[string]*Clauses{}
	}
	t.recent[source] = s
}

// Decided are the sources of which an editor has decided about a passage, maybe with some where that was taken back.
func (t *Boilerplate) Decided(ctx context.Context) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.decided == nil { // once: it reads all passages
		list, err := sqlite.Column[string](ctx, t.DB, `SELECT source FROM boilerplate WHERE passages LIKE '%"by":%'`)
		if err != nil {
			return nil, err
		}
		t.decided = map[string]bool{}
		for _, source := range list {
			t.decided[source] = true
		}
	}
	return slices.Sorted(maps.Keys(t.decided)), nil
}

// Set replaces the clauses of a source in the batch under way.
func (t *Boilerplate) Set(source string, s *Clauses) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = map[string]*Clauses{}
	}
	t.changed[source] = s
}

// Changed is what the batch under way has changed.
func (t *Boilerplate) Changed() map[string]*Clauses { return t.changed }

// End ends the batch: what it has changed is kept if it was committed, or else forgotten.
func (t *Boilerplate) End(committed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for source, s := range t.changed {
		if committed {
			t.keep(source, s)
			if t.decided != nil && slices.ContainsFunc(s.passages, func(p Passage) bool { return p.By != "" }) {
				t.decided[source] = true
			}
		}
	}
	t.changed = nil
}

// Passages are those of the source, by text.
func (s *Clauses) Passages() []Passage {
	out := append([]Passage{}, s.passages...)
	slices.SortFunc(out, func(a, b Passage) int { return cmp.Compare(a.Text, b.Text) })
	return out
}

// Learn returns the state after an article that has nothing to do with an earlier one. due says which articles of a
// source with many are learned from.
func (s *Clauses) Learn(id string, t *compare.Text, due uint64) *Clauses {
	if s.articles >= sampleFrom && due%sampleEvery != 0 {
		return s
	}
	next := &Clauses{s.articles + 1, slices.Clone(s.counts), slices.Clone(s.passages), s.residue}
	clauses := strings.Split(t.Body, "\n")
	if len(clauses) > headClauses+tailClauses {
		clauses = slices.Concat(clauses[:headClauses], clauses[len(clauses)-tailClauses:])
	}
	clauses = append(clauses, t.Tails()...)
	slices.Sort(clauses)
	for _, c := range slices.Compact(clauses) {
		if len(c) >= minBytes && len(c) <= maxPassage && !strings.ContainsAny(c, "0123456789") {
			next.count(c, id)
		}
	}
	next.passages = slices.DeleteFunc(next.passages, func(p Passage) bool {
		return p.State == PassageLearned && next.articles-p.Article > forgetAfter
	})
	return next.withResidue()
}

// count counts a clause of an article.
func (s *Clauses) count(clause, id string) {
	hash := compare.HashClause(clause)
	if i := slices.IndexFunc(s.passages, func(p Passage) bool { return p.hash == hash }); i >= 0 {
		p := &s.passages[i]
		p.Article, p.Articles, p.Example = s.articles, p.Articles+1, id
		return
	}
	key := uint32(hash) &^ 0xff
	i, _ := slices.BinarySearch(s.counts, key)
	if i == len(s.counts) || s.counts[i]&^0xff != key {
		s.counts = slices.Insert(s.counts, i, key)
	}
	if s.counts[i]++; s.counts[i] >= key+minArticles && len(s.passages) < maxPassages {
		s.counts = slices.Delete(s.counts, i, i+1)
		p := Passage{Text: strings.Clone(clause), State: PassageLearned, Article: s.articles, Articles: minArticles,
			Example: id, hash: hash}
		s.passages = append(s.passages, p)
	}
	if len(s.counts) > maxCounts {
		for i, c := range s.counts {
			s.counts[i] = c&^0xff | c&0xff/2
		}
		s.counts = slices.DeleteFunc(s.counts, func(c uint32) bool { return c&0xff == 0 })
	}
}

// Decide returns the state after an editor's decision: PassageIn, PassageOut, or PassageLearned, which takes a decision
// back. A passage of several clauses is as many passages; normal makes its normal form.
func (s *Clauses) Decide(source string, p Passage, normal func(title, body string) compare.Text) (*Clauses, error) {
	wrong := func(what string) (*Clauses, error) { return nil, fmt.Errorf("%s: %w", what, verdict.ErrQuery) }
	switch {
	case source == "":
		return wrong("source: is missing")
	case p.By == "":
		return wrong("by: is missing: a decision has a name")
	case p.State != PassageIn && p.State != PassageOut && p.State != PassageLearned:
		return wrong(fmt.Sprintf("state %q: want %s, %s or %s", p.State, PassageIn, PassageOut, PassageLearned))
	}
	if normal != nil {
		clause, behind := strings.CutPrefix(p.Text, compare.Behind)
		if p.Text = strings.Clone(normal("", clause).Body); behind && p.Text != "" {
			p.Text = compare.Behind + p.Text
		}
	}
	if p.Text == "" || len(p.Text) > maxPassage {
		return wrong(fmt.Sprintf("text: want a passage of at most %d bytes, with a letter or digit", maxPassage))
	}
	p.At = cmp.Or(p.At, new(time.Now()))
	p.Article = s.articles
	next := *s
	for clause := range strings.SplitSeq(p.Text, "\n") {
		p.Text, p.hash, p.Articles, p.Example = clause, compare.HashClause(clause), 0, ""
		next.passages = slices.DeleteFunc(slices.Clone(next.passages), func(o Passage) bool {
			if o.hash == p.hash {
				p.Articles, p.Example = o.Articles, o.Example
			}
			return o.hash == p.hash
		})
		if p.State != PassageLearned {
			next.passages = append(next.passages, p)
		}
	}
	return next.withResidue(), nil
}

// withResidue makes the residue of the passages, unless it is the same as before. It returns s.
func (s *Clauses) withResidue() *Clauses {
	r := compare.Residue{}
	for _, p := range s.passages {
		if p.State != PassageOut {
			r[p.hash] = true
		}
	}
	if s.residue == nil && len(r) > 0 || s.residue != nil && !maps.Equal(r, *s.residue) {
		s.residue = &r
	}
	return s
}

// Row is the row of a source, with its checksum.
func (s *Clauses) Row(source string) []any {
	counts, _ := binary.Append([]byte{}, binary.LittleEndian, s.counts) // of a fixed size: no error
	passages, _ := json.Marshal(s.passages)                             // strings and numbers: no error
	return sqlite.WithSum(source, int64(s.articles), counts, string(passages))
}

// InsertClauses is the statement that a Row is for.
const InsertClauses = `INSERT OR REPLACE INTO boilerplate (source, articles, counts, passages, sum)
	VALUES (?, ?, ?, ?, ?)`

func (t *Boilerplate) read(ctx context.Context, source string) (*Clauses, error) {
	var counts, passages []byte
	s := new(Clauses)
	err := t.DB.QueryRowContext(ctx, `SELECT articles, counts, passages FROM boilerplate WHERE source = ?`,
		source).Scan(&s.articles, &counts, &passages)
	if errors.Is(err, sql.ErrNoRows) {
		return s, nil
	}
	s.counts = make([]uint32, len(counts)/4)
	if err == nil {
		_, err = binary.Decode(counts, binary.LittleEndian, s.counts)
	}
	if err == nil {
		err = json.Unmarshal(passages, &s.passages)
	}
	for i := range s.passages {
		s.passages[i].hash = compare.HashClause(s.passages[i].Text)
	}
	return s.withResidue(), err
}
