package browse

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/clock"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// The index is SQLite's full-text index. It stores neither the texts nor their
// lengths, and lists the newest version of each word first. The words are already
// cut: only a space ends a token.
const searchSchema = `CREATE VIRTUAL TABLE search
	USING fts4(content="", matchinfo=fts3, order=desc, tokenize=simple " ", words);`

const (
	// wordsBatch is how many events one transaction takes in at most, wordsBytes
	// bounds their packed texts. The lists wait for a transaction: about 30 ms.
	wordsBatch = 128
	wordsBytes = 2 << 20
	// mergeWords merges runs once a level has eight of them, and writes about 64
	// pages of 1 KB.
	mergeWords = `INSERT INTO search (search) VALUES ('merge=64,8')`
)

// indexer takes events into the search.
type indexer struct {
	cat *index.Index
	*file
	words func(title, body string) []string
}

// wordsOf is one event and its version.
type wordsOf struct {
	event      uint64
	ordinal    uint32
	cause      verdict.Cause
	title, url string
	body       []byte // packed; nil: not kept
	words      string // separated by spaces; empty: not indexed
}

// step takes one batch of events into the search and reports whether there may be more.
// It cuts the texts into words before the transaction begins. It panics on errors (must).
func (x *indexer) step(ctx context.Context) (more bool) {
	x.resetForRecipe(ctx)
	versions := x.read(ctx, x.mark(ctx, wordsMark))
	if len(versions) == 0 {
		return false
	}
	p := &pace{x.cat.Busy, time.Now()}
	for i := range versions {
		if v := &versions[i]; v.cause == verdict.CauseIngest || v.cause == verdict.CauseRevision {
			v.words = must.Get(v.cut(x.words))
			must.Do(p.rest(ctx))
		}
	}
	x.update(ctx, func(tx *transaction) {
		insert := must.Get(tx.PrepareContext(tx.ctx, `INSERT INTO search (docid, words) VALUES (?,?)`))
		for _, v := range versions {
			if v.words != "" {
				_, err := insert.ExecContext(tx.ctx, v.ordinal, v.words)
				must.Dof(err, "words of ordinal %d", v.ordinal)
			}
		}
		tx.setMark(wordsMark, versions[len(versions)-1].event)
	})
	must.Do(p.rest(ctx))
	x.merge(ctx, p)
	return true
}

// resetForRecipe empties the index where its words are of another recipe.
func (x *indexer) resetForRecipe(ctx context.Context) {
	recipe := xxh3.HashString(x.cat.Recipe()) >> 1
	if recipe == x.mark(ctx, recipeMark) {
		return
	}
	x.update(ctx, func(tx *transaction) {
		tx.exec(`DROP TABLE search`)
		tx.exec(searchSchema)
		tx.setMark(recipeMark, recipe)
		tx.setMark(wordsMark, 0)
	})
}

// read reads a batch of the events after a mark.
func (x *indexer) read(ctx context.Context, mark uint64) (versions []wordsOf) {
	size := 0
	for r := range sqlite.Rows(ctx, x.cat.Tables(), `SELECT e.number, e.ordinal, e.cause, i.title, coalesce(i.url, ''),
		CASE WHEN e.cause IN (1, 2) THEN (SELECT body FROM texts t WHERE t.ordinal = e.ordinal) END
		FROM events e JOIN items i ON i.ordinal = e.ordinal
		WHERE e.number > ? ORDER BY e.number LIMIT ?`, mark, wordsBatch) {
		var v wordsOf
		must.Do(r.Scan(&v.event, &v.ordinal, &v.cause, &v.title, &v.url, &v.body))
		versions = append(versions, v)
		if size += len(v.body); size > wordsBytes {
			break
		}
	}
	return versions
}

// cut returns the words of a version, each once.
func (v *wordsOf) cut(words func(title, body string) []string) (_ string, err error) {
	var body string
	if v.body != nil {
		if body, err = verdict.UnpackText(v.body); err != nil {
			return "", fmt.Errorf("words of ordinal %d: %w", v.ordinal, err)
		}
	}
	list := words(v.title, body)
	if v.url != "" {
		list = append(list, URLWord(v.url))
	}
	for i, w := range list {
		list[i] = token(w)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " "), nil
}

// merge merges runs of the index in small steps until no merge is due. Without
// it a write would sometimes merge a whole level at once.
func (x *indexer) merge(ctx context.Context, p *pace) {
	for merged := true; merged; {
		x.update(ctx, func(tx *transaction) {
			before := tx.number(`SELECT total_changes()`)
			tx.exec(mergeWords)
			merged = tx.number(`SELECT total_changes()`)-before >= 2 // fewer: SQLite's sign that nothing was merged
		})
		must.Do(p.rest(ctx))
	}
}

// pace slows background work down while many mutations arrive: ingest needs the
// processor more, and the work catches up later. The worker calls rest between
// small pieces of work, so that no article waits long for a processor.
type pace struct {
	busy func() bool // whether many mutations arrive
	from time.Time   // when the worker began, or last rested
}

const (
	paceStretch = 2 * time.Millisecond
	paceRest    = 3 // times as long as the work
)

// rest waits if the worker has worked long enough and many mutations arrive. Its
// only error is that ctx is done.
func (p *pace) rest(ctx context.Context) (err error) {
	worked := time.Since(p.from)
	if worked < paceStretch {
		return nil
	}
	if p.busy() {
		err = clock.Sleep(ctx, paceRest*worked)
	}
	p.from = time.Now()
	return err
}

// Search returns the versions that have all of the words, the newest first,
// at most limit of them.
func (b *Model) Search(ctx context.Context, words []string, limit int) ([]uint32, error) {
	if len(words) == 0 || limit <= 0 {
		return nil, nil
	}
	var query strings.Builder
	for _, w := range words {
		fmt.Fprintf(&query, `"%s" `, token(w))
	}
	found, err := must.Try(func() (found []uint32) {
		for r := range sqlite.Rows(ctx, b.reader, `SELECT docid FROM search WHERE words MATCH ? ORDER BY docid DESC`,
			query.String()) {
			var ordinal uint32
			must.Do(r.Scan(&ordinal))
			if _, superseded := b.cat.State(ordinal); !superseded {
				found = append(found, ordinal)
			}
			if len(found) == limit {
				break
			}
		}
		return found
	})
	return found, wrap.Err(err, "browse: search")
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
	if address = strings.TrimSpace(address); !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
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
