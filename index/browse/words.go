package browse

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// wordsFormat is the version of words.db: 1 was an inverted index of this
// package, 2 is SQLite's full-text index.
const wordsFormat = 2

// The index stores neither the texts nor their lengths, and lists the newest
// version of each word first. The words are already cut: only a space ends a
// token.
const wordsSchema = `CREATE VIRTUAL TABLE search USING fts4(content="", matchinfo=fts3, order=desc, tokenize=simple " ", words);`

const (
	// wordBatch is how many events one transaction takes in at most, wordBytes
	// bounds their packed texts.
	wordBatch = 512
	wordBytes = 8 << 20
	// mergeWords merges runs once a level has eight of them, and writes about 64
	// pages of 1 KB.
	mergeWords = `INSERT INTO search (search) VALUES ('merge=64,8')`
	// maxIndexed is how much of a text is searched, in bytes.
	maxIndexed = 64 << 10
)

// wordIndex finds the versions that have a word in headline or text. It has a
// file and a pace of its own, since it costs a hundred times as much as the lists.
type wordIndex struct {
	projection
	cat     Catalogue
	of      func(title, body string) []string
	made    int64 // hash of the recipe of the words that are indexed; under follow
	workers int
	follow  sync.Mutex // serialises step
}

// renew empties the index where its words are of another recipe.
func (s *wordIndex) renew(ctx context.Context) {
	recipe := int64(xxh3.HashString(s.cat.Recipe()) >> 1)
	if recipe == s.made {
		return
	}
	if s.made = int64(count(ctx, s.writer, "recipe", `SELECT coalesce(max(value), 0) FROM marks WHERE key = 'recipe'`)); recipe == s.made {
		return
	}
	s.update(ctx, 0, func(tx *transaction) {
		tx.exec(`DROP TABLE search`)
		tx.exec(wordsSchema)
		tx.setMark("recipe", recipe)
	})
	s.made = recipe
}

// wordVersion is one event and its version.
type wordVersion struct {
	event      uint64
	ordinal    uint32
	cause      verdict.Cause
	title, url string
	body       []byte // packed; nil: not kept
	words      string // separated by spaces
}

// step takes in one batch of events and reports whether there may be more.
// Several goroutines cut the texts into words before the transaction begins.
// Package must ends it.
func (s *wordIndex) step(ctx context.Context, p *pace) (more bool) {
	s.follow.Lock()
	defer s.follow.Unlock()
	s.renew(ctx)
	versions, more := s.read(ctx, s.mark(ctx))
	if len(versions) == 0 {
		return false
	}
	must.Do(s.cut(ctx, versions, p))
	s.write(ctx, versions, p.begin())
	s.merge(ctx, p.begin())
	return more
}

// read reads the events after a mark, and reports whether there may be more.
func (s *wordIndex) read(ctx context.Context, mark uint64) (read []wordVersion, more bool) {
	size := 0
	for r := range sqlite.Rows(ctx, s.cat.Tables(), `SELECT e.number, e.ordinal, e.cause, i.title, coalesce(i.url, ''),
		CASE WHEN e.cause IN (1, 2) THEN (SELECT body FROM texts t WHERE t.ordinal = e.ordinal) END
		FROM events e JOIN items i ON i.ordinal = e.ordinal WHERE e.number > ? ORDER BY e.number LIMIT ?`, mark, wordBatch) {
		var v wordVersion
		must.Do(r.Scan(&v.event, &v.ordinal, &v.cause, &v.title, &v.url, &v.body))
		read = append(read, v)
		if size += len(v.body); size > wordBytes {
			return read, true
		}
	}
	return read, len(read) == wordBatch
}

// cut fills in the words of the versions that arrive.
func (s *wordIndex) cut(ctx context.Context, versions []wordVersion, p *pace) error {
	g, ctx := errgroup.WithContext(ctx)
	next := make(chan *wordVersion, len(versions))
	for i := range versions {
		if c := versions[i].cause; c == verdict.CauseIngest || c == verdict.CauseRevision {
			next <- &versions[i]
		}
	}
	close(next)
	for range s.workers {
		g.Go(func() (err error) {
			p := p.begin()
			for v := range next {
				if v.words, err = s.words(v); err != nil {
					return fmt.Errorf("ordinal %d: %w", v.ordinal, err)
				}
				if err := p.rest(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// words are the words of a version, each once.
func (s *wordIndex) words(v *wordVersion) (_ string, err error) {
	var body string
	if v.body != nil {
		if body, err = verdict.UnpackText(v.body); err != nil {
			return "", err
		}
	}
	if len(body) > maxIndexed {
		body = strings.ToValidUTF8(body[:maxIndexed], "")
	}
	list := s.of(v.title, body)
	if v.url != "" {
		list = append(list, URLWord(v.url))
	}
	for i, w := range list {
		list[i] = token(w)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " "), nil
}

// write indexes versions in one transaction.
func (s *wordIndex) write(ctx context.Context, versions []wordVersion, p *pace) {
	s.update(ctx, versions[len(versions)-1].event, func(tx *transaction) {
		insert := must.Get(tx.PrepareContext(tx.ctx, `INSERT INTO search (docid, words) VALUES (?,?)`))
		for i := range versions {
			v := &versions[i]
			if v.words == "" {
				continue
			}
			_, err := insert.ExecContext(tx.ctx, v.ordinal, v.words)
			must.Dof(err, "ordinal %d", v.ordinal)
			must.Do(p.rest(ctx))
		}
	})
}

// merge merges runs of the index in small steps until no merge is due. Without
// it a write would sometimes merge a whole level at once.
func (s *wordIndex) merge(ctx context.Context, p *pace) {
	changes := func() int { return count(ctx, s.writer, "changes", `SELECT total_changes()`) }
	before := changes()
	for {
		must.Get(s.writer.ExecContext(ctx, mergeWords))
		after := changes()
		if after-before < 2 { // SQLite's sign that nothing was merged
			return
		}
		before = after
		must.Do(p.rest(ctx))
	}
}

// search returns the versions that have all of the words, the newest first,
// at most limit of them. Package must ends it.
func (s *wordIndex) search(ctx context.Context, words []string, limit int) (found []uint32) {
	var query strings.Builder
	for _, w := range words {
		fmt.Fprintf(&query, `"%s" `, token(w))
	}
	must.Dof(must.Catch(func() {
		for r := range sqlite.Rows(ctx, s.reader, `SELECT docid FROM search WHERE words MATCH ? ORDER BY docid DESC`, query.String()) {
			var ordinal uint32
			must.Do(r.Scan(&ordinal))
			if _, superseded := s.cat.State(ordinal); !superseded {
				found = append(found, ordinal)
			}
			if len(found) == limit {
				return
			}
		}
	}), "browse: search")
	return found
}

// token is a word as the index has it, without what ends a token or a phrase
// of a query.
func token(word string) string { return tokens.Replace(word) }

var tokens = strings.NewReplacer(" ", "\x03", `"`, "\x04")

// URLWord is the word under which Search finds an address: scheme, a trailing
// slash and parameters that only count visitors do not matter. It is a hash of
// 64 bits: the index does not tell upper from lower case, and is smaller so.
func URLWord(address string) string {
	return fmt.Sprintf("\x01%016x", xxh3.HashString(normalAddress(address)))
}

func normalAddress(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return address
	}
	q := u.Query()
	for k := range q {
		if strings.HasPrefix(k, "utm_") || k == "from" || k == "spm" {
			q.Del(k)
		}
	}
	normal := strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimSuffix(u.EscapedPath(), "/")
	if len(q) > 0 {
		normal += "?" + q.Encode()
	}
	return normal
}
