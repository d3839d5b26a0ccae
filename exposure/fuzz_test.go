package exposure

import (
	"testing"

	"jianguo/exposure/state"
	"jianguo/exposure/wire"
)

// FuzzParsePolicy: a policy that is taken is the same when it is written and read again.
func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"rotate,slots=20,capacity=64,tail=16", "calendar,months=3,target=0.001", "rotate,ttl=120h", "", "rotate,target=NaN", "rotate,slots=-1", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := state.ParsePolicy(s)
		if err != nil {
			return
		}
		again, err := state.ParsePolicy(p.String())
		if err != nil || again != p {
			t.Fatalf("%q is %v, then %v: %v", s, p, again, err)
		}
	})
}

// FuzzDecodeReport: a report that is taken can be logged, and is the same when it is read
// from the log.
func FuzzDecodeReport(f *testing.F) {
	for _, s := range []string{`{"user":"u","kind":"seen","items":["a",7],"at":"2026-03-01T08:00:00Z"}`, `{"user":"u","items":[]}`, `{"user":"\u0000","kind":"played","items":["a"],"scene":"feed"}`} {
		for kind := range uint8(4) {
			f.Add([]byte(s), kind)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, kind uint8) {
		var q wire.Query
		err := q.Decode(body)
		ev, reportErr := decodeReport(body, []state.EventKind{"", state.Unsee, state.Forget, state.Link}[kind%4], []string{"delivered", "seen"})
		if reportErr != nil || ev.check() != nil {
			return
		}
		if err != nil || q.User != ev.User || q.Len() != len(ev.Items) {
			t.Fatalf("as a query: %q %q %v; as a report: %+v", q.User, q.IDs(), err, ev)
		}
		ev.payload(0, len(ev.Items))
	})
}
