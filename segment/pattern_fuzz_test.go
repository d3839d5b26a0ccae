package segment

import "testing"

// FuzzParsePattern: a line of a residue file is a pattern or an error, and what a pattern
// matches lies in the text.
func FuzzParsePattern(f *testing.F) {
	f.Add("tail80 ^责任编辑：{4}$", "责任编辑：张三")
	f.Add("any 分享到...$", "分享到微信朋友圈")
	f.Add("{", "")
	f.Fuzz(func(t *testing.T, line, body string) {
		p, err := parsePattern(line, shipped().current.Load().normal)
		if err != nil {
			return
		}
		normal := []byte(shipped().current.Load().normal(body))
		for i := range string(normal) {
			if s, ok := p.match(normal, i, nil); ok && (s.start < 0 || s.end < s.start || s.end > len(normal)) {
				t.Fatalf("%q matches %v of %d bytes", line, s, len(normal))
			}
		}
	})
}
