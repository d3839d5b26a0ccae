package wrap

import (
	"errors"
	"io/fs"
	"testing"
)

func TestErr(t *testing.T) {
	if err := Err(nil, "item %q", "a"); err != nil {
		t.Errorf("nil became %v", err)
	}
	err := Err(fs.ErrNotExist, "item %q", "a%d")
	if want := `item "a%d": file does not exist`; err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %s, which wraps what was given", err, want)
	}
}
