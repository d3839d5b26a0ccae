package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"jianguo/exposure"
	"jianguo/internal/jsonl"
)

// File is a Source of lines {user, items, at?, kind?, scene?}, oldest first. Lines of one user
// should follow each other: then what does not fit the policy is the oldest.
type File struct {
	Name  string // a .gz is unpacked; "-" is Stdin
	Stdin io.Reader
}

// pageUsers is how many users of a file make a page.
const pageUsers = 64

// Pages implements Source. A position is the number of lines that are done.
func (f *File) Pages(ctx context.Context, position string, each func(Page) error) error {
	skip := 0
	if position != "" {
		var err error
		if skip, err = strconv.Atoi(position); err != nil {
			return fmt.Errorf("%s: the resume file holds %q, which is no line number", f.Name, position)
		}
	}
	page, lines := Page{Total: -1}, 0
	flush := func() error {
		page.Position, page.Done = strconv.Itoa(lines), int64(lines)
		err := each(page)
		page.Users = nil
		return err
	}
	err := jsonl.Read(f.Stdin, f.Name, func(number int, line []byte) error {
		if number <= skip {
			lines = number
			return nil
		}
		u, err := parseLine(line)
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", f.Name, number, err)
		}
		n := len(page.Users) - 1
		if n >= 0 && page.Users[n].Name == u.Name && page.Users[n].Scene == u.Scene && page.Users[n].Kind == u.Kind {
			page.Users[n].Held += u.Held
			page.Users[n].Exposures = append(u.Exposures, page.Users[n].Exposures...)
		} else {
			if len(page.Users) == pageUsers {
				if err := flush(); err != nil {
					return err
				}
			}
			page.Users = append(page.Users, u)
		}
		lines = number
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return flush()
}

func parseLine(line []byte) (User, error) {
	var v struct {
		User, Kind, Scene string
		Items             []string
		At                time.Time
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return User{}, err
	}
	if v.User == "" {
		return User{}, errors.New("user is missing")
	}
	u := User{Name: v.User, Scene: v.Scene, Kind: exposure.Seen, Held: len(v.Items)}
	if v.Kind != "" {
		u.Kind = exposure.EventKind(v.Kind)
	}
	for i := len(v.Items) - 1; i >= 0; i-- {
		u.Exposures = append(u.Exposures, Exposure{ID: v.Items[i], At: v.At})
	}
	return u, nil
}
