package reindex

import (
	"context"
	"database/sql"
	"fmt"

	"jianguo/compare"
	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Second posts versions by the forms of another overlay, in addition to those in force, so
// that articles of either recipe meet them. All methods need the writers' lock of the index.
type Second struct {
	DB      *sql.DB // read-only connections
	Rows    *resident.Rows
	Put     func(exact uint64, ordinal uint32) // into the look-up of normal forms
	Matcher interface {
		Post(ordinal uint32, p resident.Posting)
		Unpost(ordinal uint32, p resident.Posting)
	}
	Force, Other Overlay

	// Versions in (from, to] are posted twice.
	from, to uint32
	turned   []twofold // versions that are blank by one overlay: posted by the form in force only
}

// twofold is a version by two overlays.
type twofold struct {
	ordinal      uint32
	force, other Form
}

func (v *twofold) postings() (force, other resident.Posting) {
	decode := func(f *Form) resident.Posting {
		return must.Get(resident.DecodePosting(v.ordinal, f.Fingerprint, f.Sketch))
	}
	return decode(&v.force), decode(&v.other)
}

// second is the posting by the other form, without what the form in force has, too.
func (v *twofold) second() (p resident.Posting, ok bool) {
	if v.force.Exact == nil || v.other.Exact == nil {
		return p, false
	}
	force, other := v.postings()
	p = other.Without(force)
	return p, p.Fingerprint != 0 || len(p.Keys) > 0
}

// group is the number of versions that are posted under one hold of the writers' lock.
const group = 256

// next returns the next versions in (after, through] that may have two forms, and up to where
// they go.
func (s *Second) next(ctx context.Context, after, through uint32) (versions []twofold, last uint32) {
	query := fmt.Sprintf(`SELECT f.ordinal, f.exact, f.fingerprint, f.sketch, o.exact, o.fingerprint, o.sketch
		FROM %s f JOIN %s o ON o.ordinal = f.ordinal WHERE f.ordinal IN (
			SELECT place & 0xffffffff FROM (SELECT place FROM overlay
				WHERE place > ?1 + ?3 AND place <= ?1 + ?4 ORDER BY place LIMIT ?5)
			UNION SELECT place & 0xffffffff FROM (SELECT place FROM overlay
				WHERE place > ?2 + ?3 AND place <= ?2 + ?4 ORDER BY place LIMIT ?5)
			ORDER BY 1 LIMIT ?5)
		ORDER BY f.ordinal`, s.Force.Compared(), s.Other.Compared())
	for r := range sqlite.Rows(ctx, s.DB, query, s.Force.Place(0), s.Other.Place(0), after, through, group) {
		var v twofold
		must.Do(r.Scan(&v.ordinal, &v.force.Exact, &v.force.Fingerprint, &v.force.Sketch, &v.other.Exact,
			&v.other.Fingerprint, &v.other.Sketch))
		versions = append(versions, v)
	}
	if len(versions) < group {
		return versions, through
	}
	return versions, versions[len(versions)-1].ordinal
}

// posted reports whether a version has postings.
func (s *Second) posted(ordinal uint32) bool {
	return s.Rows.Flags(ordinal)&(resident.Exemplar|resident.Swept) == resident.Exemplar
}

// Post posts the next versions, and reports whether there are more.
func (s *Second) Post(ctx context.Context) (more bool, err error) {
	return must.Try(func() bool { return s.post(ctx) })
}

func (s *Second) post(ctx context.Context) (more bool) {
	versions, last := s.next(ctx, s.to, s.Other.Through)
	for _, v := range versions {
		if v.other.Exact != nil {
			s.Put(resident.ExactKey(v.other.Exact), v.ordinal)
		}
		if string(v.other.Sketch) != string(v.force.Sketch) {
			s.Rows.ForgetOutline(v.ordinal)
		}
		if (v.other.Exact == nil) != (v.force.Exact == nil) {
			s.turned = append(s.turned, v)
		} else if p, ok := v.second(); ok && s.posted(v.ordinal) {
			s.Matcher.Post(v.ordinal, p)
		}
	}
	s.to = last
	return last < s.Other.Through
}

// Of returns what a version is posted under in addition to its form in force. A nil Second has
// nothing.
func (s *Second) Of(ctx context.Context, ordinal uint32) (postings []resident.Posting, err error) {
	if s == nil || ordinal <= s.from || ordinal > s.to {
		return nil, nil
	}
	err = must.Catch(func() {
		versions, _ := s.next(ctx, ordinal-1, ordinal)
		for _, v := range versions {
			if p, ok := v.second(); ok {
				postings = append(postings, p)
			}
		}
	})
	return postings, err
}

// Switch makes the other forms those in force. A version that has become blank, or is blank no
// longer, gets the state that a start derives.
func (s *Second) Switch(ctx context.Context) error {
	return must.Catch(func() { s.put(ctx) })
}

func (s *Second) put(ctx context.Context) {
	for _, v := range s.turned {
		before, after := v.postings()
		if s.posted(v.ordinal) {
			s.Matcher.Unpost(v.ordinal, before)
		}
		// Versions in current have their flags from there.
		for r := range sqlite.Rows(ctx, s.DB, `SELECT verdict FROM items WHERE ordinal = ?1
			AND NOT EXISTS (SELECT 1 FROM current WHERE ordinal = ?1)`, v.ordinal) {
			var arrived verdict.Verdict
			must.Do(r.Scan(&arrived))
			s.Rows.SetFlags(v.ordinal, resident.Arrival(arrived, v.other.Exact == nil))
		}
		if s.posted(v.ordinal) {
			s.Matcher.Post(v.ordinal, after)
		}
	}
	s.Force, s.Other, s.from, s.to = s.Other, s.Force, 0, max(s.to, s.Force.Through)
}

// Unpost removes the second postings of the next versions, and reports whether there are more.
func (s *Second) Unpost(ctx context.Context) (more bool, err error) {
	return must.Try(func() bool { return s.unpost(ctx) })
}

func (s *Second) unpost(ctx context.Context) (more bool) {
	versions, last := s.next(ctx, s.from, s.to)
	for _, v := range versions {
		if p, ok := v.second(); ok && s.posted(v.ordinal) {
			s.Matcher.Unpost(v.ordinal, p)
		}
		if _, ok := s.Rows.Outline(v.ordinal); !ok && v.force.Exact != nil {
			decoded, err := compare.DecodeSketch(v.force.Sketch)
			must.Dof(err, "sketch of ordinal %d", v.ordinal)
			o := decoded.Outline()
			s.Rows.SetOutline(v.ordinal, &o)
		}
	}
	s.from = last
	return s.from < s.to
}
