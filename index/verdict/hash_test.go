package verdict

import (
	"reflect"
	"testing"
)

// TestHashCoversAll changes every number and word of a policy, one after the other: each changes its hash.
func TestHashCoversAll(t *testing.T) {
	base := DefaultPolicy()
	seen := map[string]string{base.Hash(): "the default"}
	var change func(name string, of func(p *Policy) reflect.Value)
	change = func(name string, of func(p *Policy) reflect.Value) {
		p := DefaultPolicy()
		switch v := of(&p); v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				change(name+"."+v.Type().Field(i).Name, func(p *Policy) reflect.Value { return of(p).Field(i) })
			}
			return
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Float32, reflect.Float64:
			v.SetFloat(v.Float() + .125)
		case reflect.String:
			v.SetString(v.String() + "x")
		default:
			t.Fatalf("%s: a %v", name, v.Kind())
		}
		if other, again := seen[p.Hash()]; again {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[p.Hash()] = name
	}
	change("Policy", func(p *Policy) reflect.Value { return reflect.ValueOf(p).Elem() })
	if len(seen) < 25 {
		t.Errorf("only %d fields", len(seen))
	}
}

// TestOneDefault: what is judged without flags has one hash, whether the dial was set to its default or not.
func TestOneDefault(t *testing.T) {
	hours := DefaultPolicy()
	if hours.Window /= 2; hours.Changes(DefaultPolicy()) != "window 2160h0m0s → 1080h0m0s" {
		t.Errorf("half of the window: %s", hours.Changes(DefaultPolicy()))
	}
	if p := DefaultPolicy(); p != p.At("rewrites") || p != p.Now() {
		t.Errorf("%s is not at rewrites: %s", p.Detail(), p.Changes(p.At("rewrites")))
	}
}

// TestSuspectsHold: a policy of an earlier build that held suspects is judged on, as it was.
func TestSuspectsHold(t *testing.T) {
	p := DefaultPolicy()
	p.Suspects = "hold"
	if now := p.Now(); now.Validate() != nil || now != DefaultPolicy() {
		t.Error(now.Changes(DefaultPolicy()))
	}
}
