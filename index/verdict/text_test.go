package verdict

import "testing"

// FuzzUnpackText: a text is kept as it is; with a flipped bit it is refused or still the same.
func FuzzUnpackText(f *testing.F) {
	f.Add("青铜器展览今天在博物馆开幕。", uint16(9))
	f.Add("", uint16(0))
	f.Fuzz(func(t *testing.T, text string, at uint16) {
		packed := PackText(text)
		if got, err := UnpackText(packed); err != nil || got != text {
			t.Fatalf("%q, %v", got, err)
		}
		_, _ = UnpackText([]byte(text))
		if len(packed) == 0 {
			return
		}
		packed[int(at/8)%len(packed)] ^= 1 << (at % 8)
		if got, err := UnpackText(packed); err == nil && got != text {
			t.Fatalf("%q is read as %q", text, got)
		}
	})
}
