package console

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"jianguo/api/console/diff"
	"jianguo/segment"
)

// compareTexts aligns two plain texts; a is the earlier one.
func compareTexts(s *segment.Segmenter, a, b string) *diff.Result {
	x, y := s.Trace(a), s.Trace(b)
	return diff.Compare(diff.Text{Original: a, Form: x.Form, Origin: x.Origin},
		diff.Text{Original: b, Form: y.Form, Origin: y.Origin})
}

// IndexWords returns a function for browse.Config.Words: the words of an article's
// headline and text.
func IndexWords(s *segment.Segmenter) func(title, body string) []string {
	return func(title, body string) []string {
		return appendWords(s, appendWords(s, nil, title, true), body, true)
	}
}

// particles are characters that are rarely part of a name.
const particles = "的了在是和与及或把被对从向到着过就也都而且但则之其此这那我你他她它们个为以于将由又还很更最不没有上下中里后前时等各每该并使让给比吗呢吧啊"

// texts are buffers of segmentation, *segment.Text.
var texts = sync.Pool{New: func() any { return new(segment.Text) }}

// appendWords appends the words of a text. Of words of one Han character, two that are
// adjacent make one word: names that the dictionary does not have look so. With
// inner, the pairs of characters in longer words are added (an article about
// 气象台 is found by 气象).
func appendWords(s *segment.Segmenter, dst []string, text string, inner bool) []string {
	t := texts.Get().(*segment.Text)
	defer texts.Put(t)
	s.Cut(t, text)
	before := "" // the single character before, which may be part of a name
	t.Words(func(w string) bool {
		first, size := utf8.DecodeRuneInString(w)
		single := unicode.Is(unicode.Han, first) && size == len(w)
		name := single && !strings.Contains(particles, w)
		switch {
		case name && before != "":
			dst = append(dst, before+w)
		case !single && w != "":
			if dst = append(dst, w); inner {
				dst = appendInner(dst, w)
			}
		}
		if before = ""; name {
			before = w
		}
		return true
	})
	return dst
}

// appendInner appends the pairs of Han characters in a word of three or more.
func appendInner(dst []string, word string) []string {
	r := []rune(word)
	for i := 1; len(r) > 2 && i < len(r); i++ {
		if unicode.Is(unicode.Han, r[i-1]) && unicode.Is(unicode.Han, r[i]) {
			dst = append(dst, string(r[i-1:i+1]))
		}
	}
	return dst
}
