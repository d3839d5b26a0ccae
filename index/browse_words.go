package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"
)

// WordsFileName is the file of the search inside the data directory.
const WordsFileName = "words.db"

const wordsFormat = 1

// The words of articles are kept as segments: sorted runs of (word, ordinals),
// written once. wordFan segments of one level are merged into one of the next,
// so that a word is looked up in a few dozen places, and every row is written
// once a level, in order. A word is the upper half of its xxh3; two words that
// fall together find each other's articles, once in four billion.
const wordFan = 8

const wordsSchema = `
CREATE TABLE segments (number INTEGER PRIMARY KEY, level INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE words (segment INTEGER, word INTEGER, ordinals BLOB NOT NULL, PRIMARY KEY (segment, word)) WITHOUT ROWID;
`

// wordIndex is the search: what versions have a word in headline or text. It
// has a file and a pace of its own, since it costs a hundred times what the
// lists do.
type wordIndex struct {
	x  *Index
	of func(title, body string) []string
	projection
	follow sync.Mutex // serialises followAll
}

// maxIndexed is how much of a text is searched, in bytes.
const maxIndexed = 64 << 10

func (s *wordIndex) followAll(ctx context.Context) error {
	s.follow.Lock()
	defer s.follow.Unlock()
	for {
		if n, err := s.step(ctx); err != nil || n < browseBatch {
			return err
		}
	}
}

// step takes in one batch of events and returns how many it had.
func (s *wordIndex) step(ctx context.Context) (n int, err error) {
	mark, err := s.mark(ctx)
	if err != nil {
		return 0, err
	}
	words := map[uint32][]uint32{}
	// What takes processor time comes before the transaction.
	err = each(ctx, s.x.reader, `SELECT e.number, e.ordinal, e.cause, i.title, coalesce(i.url, ''),
		CASE WHEN e.cause IN (1, 2) THEN (SELECT body FROM texts t WHERE t.ordinal = e.ordinal) END
		FROM events e JOIN items i ON i.ordinal = e.ordinal WHERE e.number > ? ORDER BY e.number LIMIT ?`, func(r *sql.Rows) error {
		var ordinal uint32
		var cause Cause
		var title, url string
		var body []byte
		if err := r.Scan(&mark, &ordinal, &cause, &title, &url, &body); err != nil {
			return err
		}
		if n++; cause != CauseIngest && cause != CauseRevision {
			return nil
		}
		return s.add(words, ordinal, title, url, body)
	}, mark, browseBatch)
	if err != nil || n == 0 {
		return n, err
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	w := &wordWriter{ctx: ctx, tx: tx}
	if err := errors.Join(w.index(words), setMark(ctx, tx, mark)); err != nil {
		return 0, errors.Join(err, tx.Rollback())
	}
	return n, tx.Commit()
}

// add notes the words of one version.
func (s *wordIndex) add(words map[uint32][]uint32, ordinal uint32, title, url string, packed []byte) error {
	var body string
	if packed != nil {
		var err error
		if body, err = unpackText(packed); err != nil {
			return fmt.Errorf("ordinal %d: %w", ordinal, err)
		}
	}
	if len(body) > maxIndexed {
		body = strings.ToValidUTF8(body[:maxIndexed], "")
	}
	list := s.of(title, body)
	if url != "" {
		list = append(list, URLWord(url))
	}
	for _, w := range list {
		key := wordKey(w)
		if list := words[key]; len(list) == 0 || list[len(list)-1] != ordinal {
			words[key] = append(list, ordinal)
		}
	}
	return nil
}

// wordWriter is one transaction of a wordIndex.
type wordWriter struct {
	ctx context.Context
	tx  *sql.Tx
}

func (w *wordWriter) exec(query string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, query, args...)
	return err
}

func wordKey(w string) uint32 { return uint32(xxh3.HashString(w) >> 32) }

func appendOrdinals(b []byte, ordinals []uint32) []byte {
	var before uint32
	for _, o := range ordinals {
		b = binary.AppendUvarint(b, uint64(o-before))
		before = o
	}
	return b
}

func readOrdinals(dst []uint32, b []byte) []uint32 {
	var at uint32
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return dst
		}
		b = b[n:]
		at += uint32(v)
		dst = append(dst, at)
	}
	return dst
}

// index writes the words of a batch as a segment, and merges what is due.
func (w *wordWriter) index(words map[uint32][]uint32) error {
	if len(words) == 0 {
		return nil
	}
	keys := make([]uint32, 0, len(words))
	first, last := ^uint32(0), uint32(0)
	for k, list := range words {
		keys = append(keys, k)
		first, last = min(first, list[0]), max(last, list[len(list)-1])
	}
	slices.Sort(keys)
	segment, err := w.segment(0, first, last)
	if err != nil {
		return err
	}
	insert, err := w.tx.PrepareContext(w.ctx, `INSERT INTO words VALUES (?,?,?)`)
	if err != nil {
		return err
	}
	var buf []byte
	for _, k := range keys {
		buf = appendOrdinals(buf[:0], words[k])
		if _, err := insert.ExecContext(w.ctx, segment, k, buf); err != nil {
			return err
		}
	}
	if err := insert.Close(); err != nil {
		return err
	}
	for level := 0; ; level++ {
		merged, err := w.merge(level)
		if err != nil || !merged {
			return err
		}
	}
}

func (w *wordWriter) segment(level int, first, last uint32) (number int64, err error) {
	err = w.tx.QueryRowContext(w.ctx, `INSERT INTO segments (level, first, last) VALUES (?,?,?) RETURNING number`, level, first, last).Scan(&number)
	return number, err
}

// merge makes one segment of wordFan segments of a level, if there are so many.
func (w *wordWriter) merge(level int) (bool, error) {
	var from []any
	first, last := ^uint32(0), uint32(0)
	err := each(w.ctx, w.tx, `SELECT number, first, last FROM segments WHERE level = ? ORDER BY first`, func(r *sql.Rows) error {
		var number int64
		var a, z uint32
		err := r.Scan(&number, &a, &z)
		from, first, last = append(from, number), min(first, a), max(last, z)
		return err
	}, level)
	if err != nil || len(from) < wordFan {
		return false, err
	}
	into, err := w.segment(level+1, first, last)
	if err != nil {
		return false, err
	}
	// The cursors read what is there while rows are added behind them.
	cursors := make([]*wordCursor, 0, len(from))
	for _, number := range from {
		rows, err := w.tx.QueryContext(w.ctx, `SELECT word, ordinals FROM words WHERE segment = ? ORDER BY word`, number)
		if err != nil {
			return false, err
		}
		c := &wordCursor{rows: rows}
		defer rows.Close()
		if err := c.next(); err != nil {
			return false, err
		}
		cursors = append(cursors, c)
	}
	insert, err := w.tx.PrepareContext(w.ctx, `INSERT INTO words VALUES (?,?,?)`)
	if err != nil {
		return false, err
	}
	defer insert.Close()
	var all []uint32
	var buf []byte
	for {
		least := slices.MinFunc(cursors, func(a, b *wordCursor) int {
			if a.done != b.done {
				if a.done {
					return 1
				}
				return -1
			}
			return cmp.Compare(a.word, b.word)
		})
		if least.done {
			break
		}
		word := least.word
		all = all[:0]
		for _, c := range cursors {
			if !c.done && c.word == word {
				all = readOrdinals(all, c.ordinals)
				if err := c.next(); err != nil {
					return false, err
				}
			}
		}
		slices.Sort(all)
		buf = appendOrdinals(buf[:0], slices.Compact(all))
		if _, err := insert.ExecContext(w.ctx, into, word, buf); err != nil {
			return false, err
		}
	}
	for _, number := range from {
		if err := w.exec(`DELETE FROM words WHERE segment = ?`, number); err != nil {
			return false, err
		}
		if err := w.exec(`DELETE FROM segments WHERE number = ?`, number); err != nil {
			return false, err
		}
	}
	return true, nil
}

type wordCursor struct {
	rows     *sql.Rows
	word     uint32
	ordinals []byte
	done     bool
}

func (c *wordCursor) next() error {
	if !c.rows.Next() {
		c.done = true
		return c.rows.Err()
	}
	return c.rows.Scan(&c.word, &c.ordinals)
}

// Search returns the versions that have all of the words, the newest first,
// at most limit of them.
func (b *Browse) Search(ctx context.Context, words []string, limit int) ([]uint32, error) {
	if len(words) == 0 || b.words == nil {
		return nil, nil
	}
	// One state of the file throughout: a merge may replace segments meanwhile.
	tx, err := b.words.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("index: search: %w", err)
	}
	found, err := b.search(ctx, tx, words, limit)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return nil, fmt.Errorf("index: search: %w", err)
	}
	return found, nil
}

func (b *Browse) search(ctx context.Context, tx *sql.Tx, words []string, limit int) ([]uint32, error) {
	var segments []int64
	err := each(ctx, tx, `SELECT number FROM segments ORDER BY first DESC`, func(r *sql.Rows) error {
		var n int64
		err := r.Scan(&n)
		segments = append(segments, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	var found []uint32
	for _, segment := range segments {
		hits, err := searchSegment(ctx, tx, segment, words)
		if err != nil {
			return nil, err
		}
		for i := len(hits) - 1; i >= 0 && len(found) < limit; i-- {
			if b.x.columns.flags(hits[i])&flagSuperseded == 0 {
				found = append(found, hits[i])
			}
		}
		if len(found) >= limit {
			break
		}
	}
	return found, nil
}

func searchSegment(ctx context.Context, tx *sql.Tx, segment int64, words []string) ([]uint32, error) {
	var lists [][]byte
	for _, w := range words {
		var list []byte
		err := tx.QueryRowContext(ctx, `SELECT ordinals FROM words WHERE segment = ? AND word = ?`, segment, wordKey(w)).Scan(&list)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	slices.SortFunc(lists, func(a, b []byte) int { return len(a) - len(b) })
	hits := readOrdinals(nil, lists[0])
	var other []uint32
	for _, list := range lists[1:] {
		other = readOrdinals(other[:0], list)
		hits = intersect(hits, other)
	}
	return hits, nil
}

// intersect keeps in a what is in b too; both ascend.
func intersect(a, b []uint32) []uint32 {
	out, j := a[:0], 0
	for _, o := range a {
		for j < len(b) && b[j] < o {
			j++
		}
		if j < len(b) && b[j] == o {
			out = append(out, o)
		}
	}
	return out
}

// URLWord is the word under which Search finds an address: scheme, a trailing
// slash and what only counts visitors do not matter.
func URLWord(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "\x01" + address
	}
	q := u.Query()
	for k := range q {
		if strings.HasPrefix(k, "utm_") || k == "from" || k == "spm" {
			q.Del(k)
		}
	}
	word := "\x01" + strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimSuffix(u.EscapedPath(), "/")
	if len(q) > 0 {
		word += "?" + q.Encode()
	}
	return word
}
