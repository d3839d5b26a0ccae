package verdict

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"jianguo/sketch"
)

// passage and run are the lengths in tokens of the shortest passage that counts as lacking, and of the shortest run that ends one.
const passage, run = 8, 6

// lacking returns the passages of a side that the other text lacks, from the first clause in each that says something new: less
// than a third of one is in common, between two runs that are, and the other text does not say it in another order.
func lacking(s *sketch.Aligned) (out []sketch.Bytes) {
	for i := s.Head; i < len(s.Common); {
		n, common := 0, 0
		for ; i+n < len(s.Common) && s.Common[i+n] < run; n++ {
			common += int(min(s.Common[i+n], 1))
		}
		if n >= passage && 3*common < n {
			if p := uncredited(s.Text, novel(s, i, i+n)); strings.ContainsFunc(s.Text[p.Start:p.End], prose) {
				out = append(out, p)
			}
		}
		i += n + 1
	}
	return out
}

// novel is a passage of tokens, from the first clause on that says something new. It is empty if the other text has two thirds
// of the passage's pairs of tokens.
func novel(s *sketch.Aligned, from, to int) (p sketch.Bytes) {
	known := func(from, to int) bool {
		n := 0
		for _, has := range s.Known[from:to] {
			if has {
				n++
			}
		}
		return 3*n >= 2*(to-from)
	}
	if known(from, to) {
		return p
	}
	begins := func(i int) bool { return i == 0 || i == len(s.Tokens) || s.Text[s.Tokens[i].Start-1] == '\n' }
	last, end := to-1, to
	for ; last > from && !begins(last); last-- {
	}
	for ; !begins(end) && end-last <= 2*(to-last); end++ {
	}
	if last > from && 2*(to-last) < end-last {
		to = last // of the last clause most is in common
	}
	for clause := from; ; {
		next := clause + 1
		for next < to && !begins(next) {
			next++
		}
		cut := !begins(clause) && 2*(next-clause) < to-clause // its beginning is in common
		if next == to || !cut && !known(clause, next) {
			return sketch.Bytes{Start: s.Tokens[clause].Start, End: s.Tokens[to-1].End}
		}
		clause = next
	}
}

// Bounds in runes of a clause within an article that counts as a credit, and of a name among credits.
const (
	creditMost = 12
	nameMost   = 8
)

// uncredited is a passage without the credits at its ends.
func uncredited(text string, p sketch.Bytes) sketch.Bytes {
	clauses := strings.Split(text[p.Start:p.End], "\n")
	p.Start = min(p.End, p.Start+credits(slices.All(clauses)))
	return sketch.Bytes{Start: p.Start, End: max(p.Start, p.End-credits(slices.Backward(clauses)))}
}

// credits is the length of the credits that clauses begin with, and of the names among these.
func credits(clauses iter.Seq2[int, string]) (n int) {
	at := 0
	for _, c := range clauses {
		at += len(c) + 1
		switch runes := utf8.RuneCountInString(c); {
		case runes <= creditMost && sketch.Credit(c):
			n = at
		case runes > nameMost:
			return n
		}
	}
	return n
}

// letters is the number of characters of a normal form, separators and credits apart.
func letters(text string) (n int) {
	for clause := range strings.SplitSeq(text, "\n") {
		if !sketch.Credit(clause) {
			n += utf8.RuneCountInString(clause) - strings.Count(clause, " ")
		}
	}
	return n
}

// Bounds of a quotation, in characters: clauses are quoted up to the first, one is cut at the second; clauses up to the third say
// little.
const (
	quoted     = 16
	quotedMax  = 40
	leadInMost = 5
)

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// prose reports whether a character stands in sentences, but not in the address of a page.
func prose(r rune) bool { return r == ' ' || isHan(r) }

// attributions end a clause that says who says what follows.
var attributions = strings.Fields("报道 消息 获悉 公布 发布 宣布 透露 表示 介绍 指出 强调 认为 显示 注意到 提到 发文称 称 说")

// captions stand in what a page says beside an article.
var captions = strings.Fields("图为 资料图 视觉中国 vcg 截图 摄 供图 图源 广告 直达链接 点此 欢迎")

// leadsIn reports whether a clause only leads to what is said: the number of a list item, the address of a page, 据了解, 央视报道.
func leadsIn(clause string) bool {
	return !strings.ContainsFunc(clause, isHan) || utf8.RuneCountInString(clause) <= leadInMost ||
		slices.ContainsFunc(attributions, func(o string) bool { return strings.HasSuffix(clause, o) })
}

// quotation is where a passage that the other text lacks begins to say something new: the longest such passage, if not all of them
// are captions.
func quotation(s *sketch.Aligned, passages []sketch.Bytes) (quote string) {
	most, token := -1, 0
	for _, p := range passages {
		p.Start = p.End - len(strings.TrimLeft(s.Text[p.Start:p.End], "的了是\n"))
		for at := p.Start; at < p.End && p.End-at > most; {
			text := s.Text[at:p.End]
			said, size := beginning(text)
			for token < len(s.Tokens) && s.Tokens[token].Start < at {
				token++
			}
			clause, _, more := strings.Cut(text, "\n")
			n, unknown := 0, 0
			for ; token+n < len(s.Tokens) && s.Tokens[token+n].Start < at+size; n++ {
				if !s.Known[token+n] {
					unknown++
				}
			}
			in := func(word string) bool { return strings.Contains(text[:size], word) }
			switch {
			case slices.ContainsFunc(captions, in), leadsIn(clause) && more && len(text)-len(clause) > 3*quoted, 3*unknown < n:
				if quote == "" {
					quote = said
				}
			default:
				most, quote = p.End-at, said
			}
			at += len(clause) + 1
		}
	}
	return quote
}

// beginning quotes a passage from its beginning to the end of a clause, or of a word, and says how much of it that is, in bytes.
func beginning(text string) (quote string, size int) {
	n, word, particle := 0, 0, 0 // where the last word begins, and what follows the last particle
	for i, r := range text {
		latin := r != '\n' && r != ' ' && r < utf8.RuneSelf
		if !latin || i == 0 || text[i-1] == '\n' || text[i-1] >= utf8.RuneSelf {
			word = i
		}
		end := 0
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		switch {
		case r == '\n' && n >= quoted && (text[i-1] >= utf8.RuneSelf || text[i+1] >= utf8.RuneSelf) && !strings.ContainsRune(sketch.Particles, before):
			end = i
		case n == quotedMax:
			end = cmp.Or(particle, word)
		case n >= quoted && strings.ContainsRune(sketch.Particles, r):
			particle = i
		}
		if end > 0 {
			return display(text[:end], "，") + "…", end
		}
		n++
	}
	return display(text, "，"), len(text)
}
