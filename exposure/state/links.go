package state

import (
	"errors"
	"fmt"
	"slices"
)

// Limits of what one request asks.
const (
	MaxLinks  = 4 // links from a user to the farthest user whose history counts
	MaxLinked = 8 // users whose histories count for one, itself left out
)

// ErrLink is wrapped by the errors of Check.
var ErrLink = errors.New("exposure: link refused")

// Links are the neighbours of one user.
type Links struct {
	From []string // their histories count for the user
	Into []string // the user's history counts for them

	Imported bool // the user's history has been imported from the old store
}

// Join adds the neighbours of a user in another history.
func (l *Links) Join(more Links) { l.From, l.Into = Union(l.From, more.From), Union(l.Into, more.Into) }

// LinkReader returns the links of a user.
type LinkReader func(user string) (Links, error)

// walk follows links level by level, as far as is allowed and a level more. It lists the users, the
// first one included, and counts the levels.
func (r LinkReader) walk(user string, next func(Links) []string) (users []string, depth int, err error) {
	users = []string{user}
	for level := users; len(level) > 0 && depth <= MaxLinks+1; depth++ {
		var below []string
		for _, u := range level {
			l, err := r(u)
			if err != nil {
				return nil, 0, err
			}
			below = Union(below, next(l))
		}
		users, level = Union(users, below), below
	}
	return users, depth - 1, nil
}

// Below lists the users whose histories count for one.
func (r LinkReader) Below(user string) ([]string, error) {
	users, _, err := r.walk(user, func(l Links) []string { return l.From })
	return users[min(1, len(users)):], err
}

// Check returns an error that wraps ErrLink if from may not count for user: the links would form a cycle, or be too
// deep or too many. Any other error is one of reading.
func (r LinkReader) Check(user, from string) error {
	linked := LinkReader(func(u string) (Links, error) {
		l, err := r(u)
		if u == user && !slices.Contains(l.From, from) {
			l.From = append(slices.Clone(l.From), from)
		}
		return l, err
	})
	above, _, err := r.walk(user, func(l Links) []string { return l.Into })
	if err != nil {
		return err
	}
	for _, u := range above {
		users, depth, err := linked.walk(u, func(l Links) []string { return l.From })
		switch {
		case err != nil:
			return err
		case depth > MaxLinks:
			return fmt.Errorf("%w: it would form a cycle, or more than %d links in a row", ErrLink, MaxLinks)
		case len(users)-1 > MaxLinked:
			return fmt.Errorf("%w: the histories of more than %d users would count for %q", ErrLink, MaxLinked, u)
		}
	}
	return nil
}

// Union appends to a list what it does not contain yet.
func Union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// SetUser is a list with a user as its last, or, if not linked, without the user. The list given is not changed.
func SetUser(users []string, user string, linked bool) []string {
	users = slices.DeleteFunc(slices.Clone(users), func(u string) bool { return u == user })
	if linked {
		users = append(users, user)
	}
	return users
}
