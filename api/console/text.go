package console

import (
	"html"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxShown bounds how much of a text a page shows and compares, in characters.
const maxShown = 20_000

// plain is a body as readers see it: the text of HTML, one paragraph a line,
// without characters that could change the page around them. Cut: the text was
// longer than maxShown.
func plain(body string) (text string, cut bool) {
	if strings.IndexByte(body, '<') >= 0 {
		body = fromMarkup(body)
	} else if strings.IndexByte(body, '&') >= 0 {
		body = html.UnescapeString(body)
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(body) {
		line = strings.TrimFunc(visible(line), unicode.IsSpace)
		if line == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if n += utf8.RuneCountInString(line); n > maxShown {
			r := []rune(line)
			b.WriteString(string(r[:len(r)-(n-maxShown)]))
			return b.String(), true
		}
		b.WriteString(line)
	}
	return b.String(), false
}

// shortened cuts a text to so many characters, the last of which is then an ellipsis.
func shortened(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// visible removes control and zero-width characters, direction marks, and all
// but four marks on one letter.
func visible(line string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\u00a0':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError, r >= 0xe000 && r <= 0xf8ff:
			return -1
		case unicode.Is(unicode.M, r):
			if marks++; marks > 4 {
				return -1
			}
			return r
		}
		marks = 0
		return r
	}, line)
}

// unread are the elements whose text is no part of an article.
var unread = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Head: true, atom.Title: true, atom.Iframe: true,
	atom.Object: true, atom.Svg: true, atom.Math: true, atom.Select: true, atom.Textarea: true, atom.Button: true,
}

// flowing are the elements that begin no new line.
var flowing = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Big: true, atom.Cite: true, atom.Code: true,
	atom.Del: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Mark: true,
	atom.Q: true, atom.S: true, atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true,
	atom.U: true, atom.Var: true, atom.Wbr: true, atom.Ruby: true, atom.Img: true,
}

// fromMarkup is the text of HTML. Text that only looks like a tag ("x <y") stays.
func fromMarkup(body string) string {
	z := xhtml.NewTokenizer(strings.NewReader(body))
	var b strings.Builder
	var skipped atom.Atom
	depth := 0
	for {
		switch kind := z.Next(); kind {
		case xhtml.ErrorToken:
			if z.Err() != io.EOF {
				b.Write(z.Raw())
			}
			return b.String()
		case xhtml.TextToken:
			if depth == 0 {
				b.Write(z.Text())
			}
		case xhtml.StartTagToken, xhtml.EndTagToken, xhtml.SelfClosingTagToken:
			raw := string(z.Raw())
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			switch {
			case depth > 0 && tag == skipped && kind == xhtml.StartTagToken:
				depth++
			case depth > 0 && tag == skipped && kind == xhtml.EndTagToken:
				depth--
			case depth > 0:
			case unread[tag] && kind == xhtml.StartTagToken:
				skipped, depth = tag, 1
			case tag == 0 && !strings.ContainsAny(string(name), "-:"):
				b.WriteString(html.UnescapeString(raw))
			case !flowing[tag] && tag != 0:
				b.WriteByte('\n')
			}
		}
	}
}
