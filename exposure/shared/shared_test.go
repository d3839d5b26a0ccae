package shared

import "testing"

// FuzzParseVersion: a version that is read is the same when it is written, and versions are
// ordered as their digits are, which is how Redis compares them.
func FuzzParseVersion(f *testing.F) {
	f.Add(Version{1, 2}.String(), Version{1, 10}.String())
	f.Add(Version{}.String(), Version{1 << 63, 1<<64 - 1}.String())
	f.Fuzz(func(t *testing.T, a, b string) {
		v, err := parseVersion(a)
		w, err2 := parseVersion(b)
		if err != nil || err2 != nil {
			return
		}
		again, err := parseVersion(v.String())
		if err != nil || again != v {
			t.Fatalf("%q is %v, then %v: %v", a, v, again, err)
		}
		if v.Less(w) != (v.String() < w.String()) {
			t.Fatalf("%v and %v", v, w)
		}
	})
}
