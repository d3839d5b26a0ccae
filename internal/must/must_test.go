package must_test

import (
	"errors"
	"io"
	"strconv"
	"testing"

	"jianguo/internal/must"
)

func TestCatch(t *testing.T) {
	steps := 0
	err := must.Catch(func() {
		steps += must.Get(strconv.Atoi("1"))
		must.Dof(io.EOF, "step %d", 2)
		steps++
	})
	if steps != 1 || !errors.Is(err, io.EOF) || err.Error() != "step 2: EOF" {
		t.Errorf("%d steps, then %v", steps, err)
	}
	if err := must.Catch(func() { must.Do(nil) }); err != nil {
		t.Errorf("without an error: %v", err)
	}
	defer func() {
		if recover() != "a bug" {
			t.Error("a panic of another kind was caught")
		}
	}()
	_ = must.Catch(func() { panic("a bug") })
}
