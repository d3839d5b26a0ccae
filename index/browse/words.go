package browse

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
	"golang.org/x/sync/errgroup"

	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

const wordsFormat = 1

// wordBatch is how many events one segment takes in at most: the more, the
// fewer rows are written of a word. wordBytes bounds their texts, packed.
const (
	wordBatch = 8192
	wordBytes = 16 << 20
)

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
	cat Catalogue
	of  func(title, body string) []string
	projection
	workers int
	follow  sync.Mutex // serialises step
}

// maxIndexed is how much of a text is searched, in bytes.
const maxIndexed = 64 << 10

// wordRead is how many events are read in one query. Between two of them, and not
// while one is under way, the follower rests: the log of the catalogue is not emptied
// while somebody reads.
const wordRead = 256

// step takes in one batch of events and reports whether there may be more.
// What takes processor time, the cutting of texts, comes before the
// transaction and is shared by several goroutines.
func (s *wordIndex) step(ctx context.Context, p *pace) (more bool, err error) {
	s.follow.Lock()
	defer s.follow.Unlock()
	mark, err := s.mark(ctx)
	if err != nil {
		return false, err
	}
	g, inner := errgroup.WithContext(ctx)
	versions := make(chan wordVersion, 64)
	lists := make([][]wordPosting, s.workers)
	for i := range lists {
		g.Go(func() (err error) {
			p := p.begin()
			for v := range versions {
				if lists[i], err = s.add(lists[i], &v); err != nil {
					return err
				}
				if err := p.rest(inner); err != nil {
					return err
				}
			}
			return nil
		})
	}
	n := 0
	g.Go(func() (err error) {
		defer close(versions)
		more = true
		for size := 0; more && n < wordBatch && size < wordBytes; {
			var read []wordVersion
			if read, more, err = s.read(inner, mark); err != nil {
				return err
			}
			for _, v := range read {
				size += len(v.body)
				mark, n = v.number, n+1
				if v.cause != verdict.CauseIngest && v.cause != verdict.CauseRevision {
					continue
				}
				select {
				case versions <- v:
				case <-inner.Done():
					return inner.Err()
				}
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil || n == 0 {
		return false, err
	}
	postings := sortPostings(slices.Concat(lists...))
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	w := &wordWriter{ctx: context.WithoutCancel(ctx), ending: ctx, tx: tx, pace: p.begin()}
	if err := errors.Join(w.index(slices.Compact(postings)), setMark(ctx, tx, mark)); err != nil {
		return false, errors.Join(err, tx.Rollback())
	}
	return more, tx.Commit()
}

// errFull ends a query of large texts early.
var errFull = errors.New("the batch is full")

// read reads the events after a mark, wordRead at most, and reports whether there
// may be more.
func (s *wordIndex) read(ctx context.Context, mark uint64) (read []wordVersion, more bool, err error) {
	size := 0
	err = sqlite.Each(ctx, s.cat.Tables(), `SELECT e.number, e.ordinal, e.cause, i.title, coalesce(i.url, ''),
		CASE WHEN e.cause IN (1, 2) THEN (SELECT body FROM texts t WHERE t.ordinal = e.ordinal) END
		FROM events e JOIN items i ON i.ordinal = e.ordinal WHERE e.number > ? ORDER BY e.number LIMIT ?`, func(r *sql.Rows) error {
		var v wordVersion
		if err := r.Scan(&v.number, &v.ordinal, &v.cause, &v.title, &v.url, &v.body); err != nil {
			return err
		}
		read = append(read, v)
		if size += len(v.body); size > wordBytes {
			return errFull
		}
		return nil
	}, mark, wordRead)
	if errors.Is(err, errFull) {
		return read, true, nil
	}
	return read, len(read) == wordRead, err
}

// wordVersion is a version to be cut into words.
type wordVersion struct {
	number     uint64 // of its event
	ordinal    uint32
	cause      verdict.Cause
	title, url string
	body       []byte
}

// add appends the words of one version.
func (s *wordIndex) add(dst []wordPosting, v *wordVersion) ([]wordPosting, error) {
	var body string
	if v.body != nil {
		var err error
		if body, err = verdict.UnpackText(v.body); err != nil {
			return nil, fmt.Errorf("ordinal %d: %w", v.ordinal, err)
		}
	}
	if len(body) > maxIndexed {
		body = strings.ToValidUTF8(body[:maxIndexed], "")
	}
	list := s.of(v.title, body)
	if v.url != "" {
		list = append(list, URLWord(v.url))
	}
	for _, w := range list {
		dst = append(dst, wordPosting(wordKey(w))<<32|wordPosting(v.ordinal))
	}
	return dst, nil
}

// wordWriter is one transaction of a wordIndex, which ends with the context it was
// begun with. Its statements have another, that nobody can end: the driver starts a
// goroutine for each that somebody could.
type wordWriter struct {
	ctx    context.Context
	ending context.Context // the one it was begun with
	tx     *sql.Tx
	pace   *pace
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

// index writes the words of a batch, sorted, as a segment, and merges what is
// due.
func (w *wordWriter) index(postings []wordPosting) error {
	if len(postings) == 0 {
		return nil
	}
	first, last := ^uint32(0), uint32(0)
	for _, p := range postings {
		first, last = min(first, p.ordinal()), max(last, p.ordinal())
	}
	segment, err := w.segment(0, first, last)
	if err != nil {
		return err
	}
	insert, err := w.tx.PrepareContext(w.ctx, `INSERT INTO words VALUES (?,?,?)`)
	if err != nil {
		return err
	}
	var buf []byte
	for len(postings) > 0 {
		word, before, n := postings[0].word(), uint32(0), 0
		buf = buf[:0]
		for ; n < len(postings) && postings[n].word() == word; n++ {
			buf = binary.AppendUvarint(buf, uint64(postings[n].ordinal()-before))
			before = postings[n].ordinal()
		}
		postings = postings[n:]
		if _, err := insert.ExecContext(w.ctx, segment, word, buf); err != nil {
			return err
		}
		if err := w.pace.rest(w.ending); err != nil {
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
	err := sqlite.Each(w.ctx, w.tx, `SELECT number, first, last FROM segments WHERE level = ? ORDER BY first`, func(r *sql.Rows) error {
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
		if err := w.pace.rest(w.ending); err != nil {
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
func (b *Model) Search(ctx context.Context, words []string, limit int) ([]uint32, error) {
	if len(words) == 0 || b.words == nil {
		return nil, nil
	}
	// One state of the file throughout: a merge may replace segments meanwhile.
	tx, err := b.words.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("browse: search: %w", err)
	}
	found, err := b.search(ctx, tx, words, limit)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return nil, fmt.Errorf("browse: search: %w", err)
	}
	return found, nil
}

func (b *Model) search(ctx context.Context, tx *sql.Tx, words []string, limit int) ([]uint32, error) {
	var segments []int64
	err := sqlite.Each(ctx, tx, `SELECT number FROM segments ORDER BY first DESC`, func(r *sql.Rows) error {
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
			if _, superseded := b.cat.State(hits[i]); !superseded {
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
