package segment

import (
	"html"
	"io"
	"strings"

	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// body feeds an article's body, plain text or HTML.
func (n *normalizer) body(s string) {
	switch {
	case strings.IndexByte(s, '<') >= 0:
		n.markup(s)
	case strings.IndexByte(s, '&') >= 0:
		n.text(html.UnescapeString(s))
	default:
		n.text(s)
	}
}

// hidden are the elements whose text nobody reads.
var hidden = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true,
	atom.Head: true, atom.Title: true, atom.Iframe: true, atom.Object: true, atom.Svg: true,
	atom.Math: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
	atom.Button: true, atom.Select: true, atom.Textarea: true, atom.Noframes: true, atom.Noembed: true,
}

// inline are the elements that do not end a line; every other known one does.
var inline = map[atom.Atom]class{
	atom.A: drop, atom.Abbr: drop, atom.Acronym: drop, atom.B: drop, atom.Bdi: drop, atom.Bdo: drop,
	atom.Big: drop, atom.Cite: drop, atom.Code: drop, atom.Data: drop, atom.Del: drop, atom.Dfn: drop,
	atom.Em: drop, atom.Font: drop, atom.I: drop, atom.Ins: drop, atom.Kbd: drop, atom.Label: drop,
	atom.Mark: drop, atom.Q: drop, atom.S: drop, atom.Samp: drop, atom.Small: drop, atom.Span: drop,
	atom.Strike: drop, atom.Strong: drop, atom.Sub: drop, atom.Sup: drop, atom.Time: drop, atom.Tt: drop,
	atom.U: drop, atom.Var: drop, atom.Wbr: drop, atom.Ruby: drop, atom.Rb: drop, atom.Nobr: drop,
	atom.Img: space, atom.Input: space, atom.Td: clause, atom.Th: clause, atom.Center: paragraph,
}

// void elements have no end tag.
var void = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true,
	atom.Img: true, atom.Input: true, atom.Keygen: true, atom.Link: true, atom.Meta: true,
	atom.Param: true, atom.Source: true, atom.Track: true, atom.Wbr: true,
}

// markup feeds HTML. Only known elements are markup: a '<' that opens none of
// them is text, as it is in "x <y and z> w".
func (n *normalizer) markup(s string) {
	z := xhtml.NewTokenizer(strings.NewReader(s))
	var skip skipper
	for {
		switch z.Next() {
		case xhtml.ErrorToken:
			if z.Err() != io.EOF {
				n.text(string(z.Raw()))
			}
			return
		case xhtml.TextToken:
			if !skip.on() {
				n.text(string(z.Text()))
			}
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			raw := string(z.Raw())
			name, more := z.TagName()
			tag := atom.Lookup(name)
			if !element(tag, name) {
				if !skip.on() {
					n.text(html.UnescapeString(raw))
				}
				continue
			}
			n.tag(tag)
			skip.start(tag, hidden[tag] || more && concealed(z))
		case xhtml.EndTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			n.tag(tag)
			skip.end(tag)
		}
	}
}

// element reports whether a tag's name is one of HTML's, or a custom one.
func element(tag atom.Atom, name []byte) bool {
	if tag == 0 {
		return strings.ContainsAny(string(name), "-:")
	}
	return elements[tag]
}

func (n *normalizer) tag(tag atom.Atom) {
	c, ok := inline[tag]
	if !ok && tag != 0 {
		c = paragraph
	}
	if c != drop {
		n.separate(c)
	}
}

// concealed reports whether the attributes of the tag at hand hide it.
func concealed(z *xhtml.Tokenizer) bool {
	hide := false
	for {
		key, val, more := z.TagAttr()
		switch string(key) {
		case "hidden":
			hide = true
		case "style":
			v := strings.ToLower(strings.Join(strings.Fields(string(val)), ""))
			if strings.Contains(v, "display:none") || strings.Contains(v, "visibility:hidden") || strings.Contains(v, "font-size:0;") {
				hide = true
			}
		}
		if !more {
			return hide
		}
	}
}

// A skipper knows whether the text at hand is inside a hidden element: it
// counts the open elements of the outermost hidden one's name.
type skipper struct {
	tag   atom.Atom
	depth int
}

func (s *skipper) on() bool { return s.depth > 0 }

func (s *skipper) start(tag atom.Atom, hide bool) {
	switch {
	case void[tag]:
	case s.depth > 0 && tag == s.tag:
		s.depth++
	case s.depth == 0 && hide:
		s.tag, s.depth = tag, 1
	}
}

func (s *skipper) end(tag atom.Atom) {
	if s.depth > 0 && tag == s.tag {
		s.depth--
	}
}

// elements are HTML's elements, past and present; package atom mixes them
// with the names of attributes.
var elements = func() map[atom.Atom]bool {
	m := map[atom.Atom]bool{}
	for _, name := range strings.Fields(`a abbr acronym address applet area article aside audio b base basefont
		bdi bdo big blockquote body br button canvas caption center cite code col colgroup data datalist dd del
		details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2
		h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd keygen label legend li link main map mark
		marquee math menu menuitem meta meter nav nobr noembed noframes noscript object ol optgroup option output p
		param picture pre progress q rb rp rt rtc ruby s samp script search section select small source span strike
		strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul
		var video wbr`) {
		m[atom.Lookup([]byte(name))] = true
	}
	delete(m, 0)
	return m
}()
