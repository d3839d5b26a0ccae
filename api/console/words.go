package console

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"jianguo/api/console/diff"
	"jianguo/segment"
)

// A cutter cuts articles into words, to compare and to find them. It is safe for
// concurrent use.
type cutter struct {
	segmenter *segment.Segmenter
	texts     sync.Pool // *segment.Text
	mu        sync.RWMutex
	folds     map[rune]string // guarded by mu; the normal form of a letter or digit
}

func newCutter(s *segment.Segmenter) *cutter {
	c := &cutter{segmenter: s, folds: map[rune]string{}}
	c.texts.New = func() any { return new(segment.Text) }
	return c
}

// maxFolds bounds the stored folds; they are cleared when there are more.
const maxFolds = 1 << 16

// fold returns the normal form of the letters and digits of a text. Each is
// computed by the segmenter once, many at a time.
func (c *cutter) fold(runes []rune) map[rune]string {
	out := make(map[rune]string, 512)
	var unknown []rune
	c.mu.RLock()
	for _, r := range runes {
		if _, ok := out[r]; ok {
			continue
		}
		f, ok := c.folds[r]
		if !ok {
			unknown = append(unknown, r)
		}
		out[r] = f
	}
	c.mu.RUnlock()
	if len(unknown) == 0 {
		return out
	}
	var lines strings.Builder
	for _, r := range unknown {
		lines.WriteRune(r)
		lines.WriteByte('\n')
	}
	t := c.texts.Get().(*segment.Text)
	defer c.texts.Put(t)
	c.segmenter.Analyze(t, "", lines.String())
	forms := strings.Split(t.Body, "\n")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.folds) > maxFolds {
		clear(c.folds)
	}
	for i, r := range unknown {
		form := strings.Clone(strings.ToLower(string(r)))
		if len(forms) == len(unknown) {
			form = strings.Clone(forms[i])
		}
		c.folds[r], out[r] = form, form
	}
	return out
}

// letter is a letter or digit of a text with its normal form.
type letter struct {
	start, end int
	form       rune
}

// Tokens cuts a plain text into words with their offsets. The words are the
// segmenter's; in parts that its normal form omits (page residue), a word is a
// character, or a run of Latin letters or digits.
func (c *cutter) Tokens(text string) []diff.Token {
	var runes []rune
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			runes = append(runes, r)
		}
	}
	folds := c.fold(runes)
	letters := make([]letter, 0, len(runes))
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			continue
		}
		for _, f := range folds[r] {
			letters = append(letters, letter{i, i + utf8.RuneLen(r), f})
		}
	}
	t := c.texts.Get().(*segment.Text)
	defer c.texts.Put(t)
	// The text is not markup, whatever it looks like.
	c.segmenter.Analyze(t, "", strings.NewReplacer("<", "\u2039", "&", "\u00b7").Replace(text))
	a := aligner{letters: letters}
	t.Words(func(w string) bool {
		a.word(w)
		return true
	})
	a.singles(len(letters))
	return a.tokens
}

// An aligner finds the words of a normal form in the letters of its original.
type aligner struct {
	letters []letter
	at      int
	tokens  []diff.Token
	runes   []rune
}

// skip is how many successive letters the normal form may omit.
const skip = 400

func (a *aligner) word(w string) {
	a.runes = a.runes[:0]
	for _, r := range w {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			a.runes = append(a.runes, r)
		}
	}
	n := len(a.runes)
	if n == 0 {
		return
	}
	for k := 0; k <= skip && a.at+k+n <= len(a.letters); k++ {
		if k > 1 && n == 1 {
			return // a single character could match anywhere
		}
		if wrong := a.wrong(a.at + k); wrong == 0 || wrong == 1 && n > 1 && k == 0 {
			a.singles(a.at + k)
			a.add(w, n)
			return
		}
	}
}

// wrong counts the letters that differ between the word and the text from the
// i-th letter on. At the expected position one may differ: the normal form of a
// few characters depends on the context (乾 in 饼乾 and in 乾隆).
func (a *aligner) wrong(i int) (n int) {
	for k, r := range a.runes {
		if a.letters[i+k].form != r {
			n++
		}
	}
	return n
}

func (a *aligner) add(key string, n int) {
	first, last := a.letters[a.at], a.letters[a.at+n-1]
	if k := len(a.tokens); k > 0 && a.tokens[k-1].End > first.start {
		// The segmenter cut the normal form of one rune, several letters, in two.
		a.tokens[k-1].Key += key
		a.tokens[k-1].End = max(a.tokens[k-1].End, last.end)
	} else {
		a.tokens = append(a.tokens, diff.Token{Start: first.start, End: last.end, Key: strings.Clone(key), Figure: key[0] >= '0' && key[0] <= '9'})
	}
	a.at += n
}

// singles makes words of the letters without a word, up to the i-th.
func (a *aligner) singles(i int) {
	for a.at < i {
		n := 1
		if first := a.letters[a.at].form; first < 0x2e80 {
			for a.at+n < i && a.letters[a.at+n].form < 0x2e80 && a.letters[a.at+n].start == a.letters[a.at+n-1].end &&
				unicode.IsDigit(a.letters[a.at+n].form) == unicode.IsDigit(first) {
				n++
			}
		}
		var key strings.Builder
		for _, l := range a.letters[a.at : a.at+n] {
			key.WriteRune(l.form)
		}
		a.add(key.String(), n)
	}
}

// IndexWords returns a function for browse.Config.Words: the words of an article's
// headline and text, and all pairs of characters of the headline.
func IndexWords(s *segment.Segmenter) func(title, body string) []string {
	c := newCutter(s)
	return func(title, body string) []string {
		words := c.words(nil, title, true, true)
		return c.words(words, body, true, title == "")
	}
}

// particles are characters that are rarely part of a name.
const particles = "的了在是和与及或把被对从向到着过就也都而且但则之其此这那我你他她它们个为以于将由又还很更最不没有上下中里后前时等各每该并使让给比吗呢吧啊"

// words appends the words of a text. Of words of one Han character, two that are
// adjacent make one word: names that the dictionary does not have look so. With
// inner, the pairs of characters in longer words are added (an article about
// 气象台 is found by 气象); with pairs, all pairs of characters of the text, marked
// as pairs.
func (c *cutter) words(dst []string, text string, inner, pairs bool) []string {
	t := c.texts.Get().(*segment.Text)
	defer c.texts.Put(t)
	c.segmenter.Analyze(t, "", text)
	before := "" // the single character before, which may be part of a name
	t.Words(func(w string) bool {
		switch {
		case !han(w):
			if w != "" {
				dst = append(dst, strings.Clone(w))
			}
			before = ""
		case !single(w):
			w = strings.Clone(w)
			dst = append(dst, w)
			if inner {
				dst = appendInner(dst, w)
			}
			before = ""
		case strings.Contains(particles, w):
			before = ""
		default:
			if before != "" {
				dst = append(dst, before+w)
			}
			before = strings.Clone(w)
		}
		return true
	})
	if pairs {
		dst = appendPairs(dst, t.Body)
	}
	return dst
}

// appendInner appends the pairs of Han characters in a word of three or more.
func appendInner(dst []string, word string) []string {
	if utf8.RuneCountInString(word) < 3 {
		return dst
	}
	last := -1 // where the character before begins
	for i, r := range word {
		if last >= 0 && unicode.Is(unicode.Han, r) {
			dst = append(dst, word[last:i+utf8.RuneLen(r)])
		}
		if last = i; !unicode.Is(unicode.Han, r) {
			last = -1
		}
	}
	return dst
}

const pairMark = "\x02"

func appendPairs(dst []string, form string) []string {
	var before rune
	for _, r := range form {
		if before != 0 && unicode.Is(unicode.Han, r) && unicode.Is(unicode.Han, before) {
			dst = append(dst, pairMark+string(before)+string(r))
		}
		before = r
	}
	return dst
}

func han(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.Is(unicode.Han, r)
}

func single(w string) bool { return han(w) && utf8.RuneCountInString(w) == 1 }

// query returns the words to search for, and the pairs of characters to search
// for if too few articles have the words.
func (c *cutter) query(text string) (words, pairs []string) {
	t := c.texts.Get().(*segment.Text)
	c.segmenter.Analyze(t, "", text)
	pairs = appendPairs(nil, t.Body)
	c.texts.Put(t)
	return c.words(nil, text, false, false), pairs
}
