// Package must ends a piece of work at its first error, where every step needs the steps before it: the statements
// of a transaction, the parts of a page. Do, Dof and Get panic with the error. Catch and Try, in which the work runs,
// recover it and return it. So a function that "panics on errors (must)" is called inside of Catch or Try only, on the
// same goroutine.
package must

import "jianguo/internal/wrap"

// failure is the panic of Do.
type failure struct{ error }

// Do ends the work if there is an error.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Dof is Do with a description of what failed.
func Dof(err error, what string, args ...any) {
	Do(wrap.Err(err, what, args...))
}

// Get returns v, or ends the work.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Get2 is Get for two values.
func Get2[T, U any](v T, w U, err error) (T, U) {
	Do(err)
	return v, w
}

// Try runs the work and returns what it returns, or the error that ended it.
func Try[T any](work func() T) (v T, err error) {
	err = Catch(func() { v = work() })
	return v, err
}

// Catch runs the work and returns the error that ended it.
func Catch(work func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	work()
	return nil
}
