package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestRanges: each number and duration among the flags of each command has a range, with its default in it, and is
// held to it: a negative value is in the range or refused with the name of the flag.
func TestRanges(t *testing.T) {
	t.Parallel()
	flags := 0
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		for _, f := range n.Flags {
			if f.Target.Kind() == reflect.Pointer {
				f.Target.Set(reflect.New(f.Target.Type().Elem()))
			}
			value := reflect.Indirect(f.Target)
			if _, text := value.Addr().Interface().(interface{ UnmarshalText([]byte) error }); text ||
				value.Kind() < reflect.Int || value.Kind() > reflect.Float64 {
				continue
			}
			flags++
			low, high, ok := strings.Cut(f.Tag.Get("range"), "..")
			if !ok || !(number(low) < number(high)) || f.HasDefault && !(number(f.Default) >= number(low) && number(f.Default) <= number(high)) {
				t.Errorf("%s --%s: default %q, range %q", n.FullPath(), f.Name, f.Default, f.Tag.Get("range"))
				continue
			}
			switch {
			case value.CanInt():
				value.SetInt(-1)
			case value.CanFloat():
				value.SetFloat(-1)
			default:
				continue // kong takes nothing negative
			}
			if err := checkRange(f); number(low) >= 0 && (err == nil || !strings.HasPrefix(err.Error(), "--"+f.Name+" -1")) {
				t.Errorf("%s --%s: %v", n.FullPath(), f.Name, err)
			}
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(newParser(new(cli)).Model.Node)
	if flags < 20 {
		t.Errorf("%d flags of numbers and durations", flags)
	}
}
