package segment

import (
	"bytes"
	"html"
	"strings"

	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// feed feeds plain text or HTML.
func feed(s string, to sink) {
	if strings.IndexByte(s, '<') >= 0 {
		markup(s, to)
	} else {
		to.feedEscaped(s)
	}
}

// tags is a set of elements by their names.
func tags(names string) map[atom.Atom]bool {
	m := map[atom.Atom]bool{}
	for _, name := range strings.Fields(names) {
		m[atom.Lookup([]byte(name))] = true
	}
	delete(m, 0)
	return m
}

var (
	// hidden are the elements whose text readers do not see.
	hidden = tags(`script style noscript template head title iframe object svg math canvas audio video button select
		textarea noframes noembed`)

	// inline are the elements that do not end a line, without those of spaced; every other known one does.
	inline = tags(`a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span
		strike strong sub sup time tt u var wbr ruby rb nobr script style template noscript`)

	// spaced are the elements that separate less than a line does.
	spaced = map[atom.Atom]class{atom.Img: space, atom.Input: space, atom.Td: clause, atom.Th: clause}

	// void elements have no end tag.
	void = tags(`area base br col embed hr img input keygen link meta param source track wbr`)

	// rawText are the elements in which only their end tag is markup.
	rawText = tags(`script style textarea title xmp iframe noembed noframes noscript plaintext`)

	// optionalEnd are the elements whose end tag may be left out.
	optionalEnd = tags(`p li dt dd tr td th option thead tbody tfoot head`)

	// elements are the elements of HTML, past and present; package atom mixes them with names of attributes.
	elements = tags(`a abbr acronym address applet area article aside audio b base basefont bdi bdo big blockquote body
		br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt
		em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr
		html i iframe img input ins kbd keygen label legend li link main map mark marquee math menu menuitem meta
		meter nav nobr noembed noframes noscript object ol optgroup option output p param picture pre progress q rb
		rp rt rtc ruby s samp script search section select small source span strike strong style sub summary sup svg
		table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr`)
)

// A sink takes the text of HTML, in which references are still escaped, what separates its parts, and where links begin
// and end.
type sink interface {
	feedEscaped(s string)
	separate(c class)
	link(begins bool)
}

// A tracer writes the text that readers see, a paragraph a line, and the normal form.
type tracer struct {
	strings.Builder
	*normalizer
}

// trace feeds a headline or a body. The text ends in a line break behind it.
func (t *tracer) trace(f *folds, s string, headline bool) *normalizer {
	n := &normalizer{folds: f, headline: headline, out: make([]byte, 0, len(s)), origin: make([]span, 0, len(s))}
	n.reset()
	t.normalizer = n
	feed(s, t)
	t.WriteByte('\n')
	n.finish()
	return n
}

func (t *tracer) feedEscaped(s string) {
	s = html.UnescapeString(s)
	t.base = t.Len()
	t.feedTraced(s)
	t.WriteString(s)
}

func (t *tracer) separate(c class) {
	t.WriteByte(map[class]byte{space: ' ', clause: '\t', paragraph: '\n'}[c])
	t.normalizer.separate(c)
}

// markup feeds HTML. Only known elements are markup: a '<' that opens none of them is text, as in "x <y and z>
// w". So is everything behind an element whose content is not markup, or a comment, that is never closed.
func markup(s string, n sink) {
	z := xhtml.NewTokenizer(strings.NewReader(s))
	var skip skipper
	open := unclosed{}
	for at, end := 0, 0; ; at = end { // a token is s[at:end]
		kind := z.Next()
		end += len(z.Raw())
		switch kind {
		case xhtml.ErrorToken:
			return
		case xhtml.TextToken:
			if !skip.on() {
				n.feedEscaped(s[at:end])
			}
		case xhtml.CommentToken, xhtml.DoctypeToken:
			if end == len(s) && s[end-1] != '>' && !skip.on() {
				n.feedEscaped(s[at:end])
			}
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			name, more := z.TagName()
			tag := atom.Lookup(name)
			if !element(tag, name) || rawText[tag] && open.in(s[end:], tag) {
				z.NextIsNotRawText()
				if !skip.on() {
					n.feedEscaped(s[at:end])
				}
				continue
			}
			separate(n, tag)
			if tag == atom.A {
				n.link(true)
			}
			skip.start(tag, hidden[tag] || more && concealed(z))
		case xhtml.EndTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			separate(n, tag)
			if tag == atom.A {
				n.link(false)
			}
			skip.end(tag)
		}
	}
}

// unclosed are the raw text elements known to have no end in the rest of a text, so that the text is searched
// once for each.
type unclosed map[atom.Atom]bool

// in reports whether tag, which has just begun, has no end in rest.
func (u unclosed) in(rest string, tag atom.Atom) bool {
	if u[tag] {
		return true
	}
	name := tag.String()
	for found := true; found; {
		_, rest, found = strings.Cut(rest, "</")
		if len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
			return false
		}
	}
	u[tag] = true
	return true
}

// element reports whether the name of a tag is one of HTML's, or a custom one.
func element(tag atom.Atom, name []byte) bool {
	if tag == 0 {
		return bytes.ContainsAny(name, "-:")
	}
	return elements[tag]
}

func separate(n sink, tag atom.Atom) {
	if c := breaks(tag); c != drop {
		n.separate(c)
	}
}

// breaks is the separator that a tag stands for.
func breaks(tag atom.Atom) class {
	switch c, ok := spaced[tag]; {
	case ok:
		return c
	case tag == 0 || inline[tag]:
		return drop
	}
	return paragraph
}

// concealed reports whether the attributes of the current tag hide it.
func concealed(z *xhtml.Tokenizer) bool {
	hide := false
	for {
		key, val, more := z.TagAttr()
		switch string(key) {
		case "hidden":
			hide = true
		case "style":
			for rule := range strings.SplitSeq(strings.ToLower(view(val)), ";") {
				property, value, _ := strings.Cut(rule, ":")
				value, _, _ = strings.Cut(strings.TrimSpace(value), "!")
				switch strings.TrimSpace(property) + ":" + strings.TrimSpace(value) {
				case "display:none", "visibility:hidden", "font-size:0", "font-size:0px", "opacity:0":
					hide = true
				}
			}
		}
		if !more {
			return hide
		}
	}
}

// A skipper tracks whether the text is inside a hidden element. It counts open elements instead of keeping them,
// so that deep nesting needs no memory. In doubt the text counts: an element that never ends hides nothing
// behind the block around it.
type skipper struct {
	tag    atom.Atom // the outermost hidden element, 0 if none
	same   int       // elements of its name open in it
	blocks int       // elements that must be closed open in it
}

func (s *skipper) on() bool { return s.tag != 0 }

func (s *skipper) start(tag atom.Atom, hide bool) {
	if s.tag != 0 && optionalEnd[s.tag] && s.blocks == 0 &&
		(tag == s.tag || s.tag == atom.P && breaks(tag) == paragraph || tag == atom.Body) {
		*s = skipper{}
	}
	switch {
	case void[tag]:
	case s.tag == 0:
		if hide {
			s.tag = tag
		}
	case tag == s.tag:
		s.same++
	case mustClose(tag):
		s.blocks++
	}
}

func (s *skipper) end(tag atom.Atom) {
	switch {
	case s.tag == 0:
	case tag == s.tag:
		if s.same--; s.same < 0 {
			*s = skipper{}
		}
	case mustClose(tag):
		if s.blocks--; s.blocks < 0 {
			*s = skipper{}
		}
	}
}

func mustClose(tag atom.Atom) bool {
	return breaks(tag) == paragraph && !optionalEnd[tag] && !void[tag]
}

// linkLines finds the short lines of HTML of which two thirds or more are links, as of navigation and of headlines of
// other articles (Kohlschütter et al. 2010: link density).
type linkLines struct {
	found  []span
	start  int  // of the line, in the normal form
	ended  bool // before the next letter
	linked int  // bytes of the line that are links, up to from
	from   int
	within bool // a link
}

// link begins or ends a link.
func (n *normalizer) link(begins bool) {
	n.lines.count(len(n.out))
	n.lines.within = begins
}

func (l *linkLines) count(end int) {
	if l.within {
		l.linked += end - l.from
	}
	l.from = end
}

// end ends a line.
func (l *linkLines) end(end int) {
	l.count(end)
	if n := end - l.start; n > 0 && n <= lineMost && 3*l.linked >= 2*n {
		l.found = append(l.found, span{l.start, end})
	}
	l.start, l.linked, l.ended = end, 0, false
}
