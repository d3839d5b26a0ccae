package redis

import (
	"reflect"
	"strconv"
	"testing"
)

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
		if less := v.Epoch < w.Epoch || v.Epoch == w.Epoch && v.Seq < w.Seq; less != (v.String() < w.String()) {
			t.Fatalf("%v and %v", v, w)
		}
	})
}

// FuzzParseRecord: a record that is read is the same when its fields are written and read again, and names those that are none of a record.
func FuzzParseRecord(f *testing.F) {
	f.Add("v", Version{1, 2}.String(), "7", "shard")
	f.Add("h", "head", "h", "head")
	f.Add("7", "shard", "07", "the same shard")
	f.Add("v", "1", "colour", "red")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		rec := parseRecord([]string{a, b, c, d})
		fields := []string{"v", rec.Stored}
		if rec.Head != nil {
			fields = append(fields, "h", string(rec.Head))
		}
		for id, data := range rec.Shards {
			fields = append(fields, strconv.FormatInt(id, 10), string(data))
		}
		for _, name := range rec.Others {
			fields = append(fields, name, "")
		}
		if again := parseRecord(fields); !reflect.DeepEqual(again, rec) {
			t.Fatalf("%q %q %q %q is %+v, then %+v", a, b, c, d, rec, again)
		}
	})
}

// TestMasterOnceMore: one that was a replica in between may lack the last writes, though it has not been restarted.
func TestMasterOnceMore(t *testing.T) {
	known := map[string]string{}
	for i, look := range []struct {
		runs map[string]string
		want bool
	}{
		{map[string]string{"a": "run of a", "b": ""}, false},
		{map[string]string{"a": "run of a", "b": ""}, false},
		{map[string]string{"b": "run of b"}, true},
		{map[string]string{"a": "", "b": "run of b"}, false},
		{map[string]string{"a": "run of a", "b": ""}, true},
		{map[string]string{"a": "another run of a", "b": ""}, true},
	} {
		if got := Changed(known, look.runs); got != look.want {
			t.Errorf("look %d: %v", i, got)
		}
	}
}
