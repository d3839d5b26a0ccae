// Package link holds the rules by which one user's history counts for another: a device that
// becomes an account, or two accounts that merge. It stores nothing.
package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Limits of what one request asks.
const (
	MaxDepth = 4 // links from a user to the farthest user whose history counts
	MaxUsers = 8 // users whose histories count for one, itself left out
)

// ErrRefused is wrapped by the errors of Check.
var ErrRefused = errors.New("exposure: link refused")

// Links are the neighbours of one user.
type Links struct {
	From []string // their histories count for the user
	Into []string // the user's history counts for them
}

// Reader returns the links of a user.
type Reader func(user string) (Links, error)

// Below lists the users whose histories count for a user, itself first, and the greatest number
// of links to one of them.
func (r Reader) Below(user string) (users []string, depth int, err error) {
	return r.walk(user, func(l Links) []string { return l.From })
}

// Above lists the users for whom a user's history counts, itself first, and the greatest number of
// links to one of them.
func (r Reader) Above(user string) (users []string, depth int, err error) {
	return r.walk(user, func(l Links) []string { return l.Into })
}

// walk follows links level by level. Without cycles, a user's last level is the longest way to it.
func (r Reader) walk(user string, next func(Links) []string) (users []string, depth int, err error) {
	users = []string{user}
	for level := users; ; depth++ {
		var below []string
		for _, u := range level {
			l, err := r(u)
			if err != nil {
				return nil, 0, err
			}
			for _, v := range next(l) {
				if !slices.Contains(below, v) {
					below = append(below, v)
				}
				if !slices.Contains(users, v) {
					users = append(users, v)
				}
			}
		}
		if len(below) == 0 {
			return users, depth, nil
		}
		level = below
	}
}

// Check returns an error that wraps ErrRefused if from may not count for user: the links would
// form a cycle, or be too deep or too many.
func (r Reader) Check(user, from string) error {
	below, depth, err := r.Below(from)
	if err != nil {
		return err
	}
	if slices.Contains(below, user) {
		return fmt.Errorf("%w: the history of %q counts for %q already, and a cycle is not allowed", ErrRefused, user, from)
	}
	above, height, err := r.Above(user)
	if err != nil {
		return err
	}
	if depth+1+height > MaxDepth {
		return fmt.Errorf("%w: %d links would follow each other, and %d may", ErrRefused, depth+1+height, MaxDepth)
	}
	for _, u := range above {
		users, _, err := r.Below(u)
		if err != nil {
			return err
		}
		for _, v := range below {
			if !slices.Contains(users, v) {
				users = append(users, v)
			}
		}
		if len(users)-1 > MaxUsers {
			return fmt.Errorf("%w: the histories of %d users would count for %q, and %d may", ErrRefused, len(users)-1, u, MaxUsers)
		}
	}
	return nil
}

// Append encodes links: twice a uvarint, the number of users, and for each a uvarint and as many
// bytes.
func (l *Links) Append(b []byte) []byte {
	for _, users := range [][]string{l.From, l.Into} {
		b = binary.AppendUvarint(b, uint64(len(users)))
		for _, u := range users {
			b = append(binary.AppendUvarint(b, uint64(len(u))), u...)
		}
	}
	return b
}

// Decode reads what Append wrote, which is all of b.
func Decode(b []byte) (l Links, ok bool) {
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if ok = n > 0 && v <= uint64(len(b)-n); ok {
			b = b[n:]
		}
		return v
	}
	for _, users := range []*[]string{&l.From, &l.Into} {
		for n := number(); ok && n > 0; n-- {
			if size := number(); ok {
				*users, b = append(*users, string(b[:size])), b[size:]
			}
		}
		if !ok {
			return l, false
		}
	}
	return l, len(b) == 0
}

// Without removes a user from a list; the list is not changed.
func Without(users []string, user string) []string {
	return slices.DeleteFunc(slices.Clone(users), func(u string) bool { return u == user })
}
