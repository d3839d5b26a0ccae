package verdict

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"jianguo/sketch"
)

// passage and run are the lengths in tokens of the shortest passage that counts as lacking, and of the shortest run that ends one.
const passage, run = 8, 6

// lacking is how many characters a text has in passages that the other one lacks: less than a third of one is in common, between two
// runs that are. Clauses of it that the other text has in another order, and credits, do not count.
func lacking(s *sketch.Aligned) (characters int) {
	for i := s.Head; i < len(s.Common); {
		n, common := 0, 0
		for ; i+n < len(s.Common) && s.Common[i+n] < run; n++ {
			common += int(min(s.Common[i+n], 1))
		}
		if n >= passage && 3*common < n {
			for from, to := i, i; from < i+n; from = to {
				for to++; to < i+n && s.Text[s.Tokens[to].Start-1] != '\n'; to++ {
				}
				if 3*unknown(s, from, to) > to-from {
					characters += letters(s.Text[s.Tokens[from].Start:s.Tokens[to-1].End])
				}
			}
		}
		i += n + 1
	}
	return characters
}

// unknown is how many pairs of tokens the other text has nowhere, of those that begin in a range.
func unknown(s *sketch.Aligned, from, to int) (n int) {
	for _, known := range s.Known[from:to] {
		if !known {
			n++
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

// Bounds of a quotation, in characters: clauses are quoted up to the first, one is cut at the second; a first clause up to the third
// is left out.
const (
	quoted     = 24
	quotedMax  = 48
	leadInMost = 2
)

// captions stand in what a page says beside an article.
var captions = strings.Fields("图为 新华社发 资料图 视觉中国 vcg 截图 摄 供图 图源 广告 直达链接 点此 欢迎")

// photographed begins a caption: 2023年7月30日，浙江省舟山市，渔民们正在….
var photographed = regexp.MustCompile(`^\d{4}年\d+月\d+日\n`)

// quotation is the beginning of what the other text lacks: of whole sentences, or else, of a text that is no duplicate, of clauses.
func quotation(s *sketch.Aligned, duplicate bool) string {
	sentence := func(token int) bool {
		_, found := slices.BinarySearch(s.Sentences, s.Tokens[token].Start)
		return found
	}
	clause := func(token int) bool { return token == 0 || s.Text[s.Tokens[token].Start-1] == '\n' }
	if quote := longest(s, sentence); duplicate || quote != "" {
		return quote
	}
	return longest(s, clause)
}

// longest is the beginning of the longest run of parts of a text, most of whose pairs of tokens the other text has nowhere, and that are
// no captions.
func longest(s *sketch.Aligned, begins func(token int) bool) string {
	var quote sketch.Bytes
	from, most := -1, 0
	for i := s.Head; i < len(s.Tokens); {
		n := 1
		for i+n < len(s.Tokens) && !begins(i+n) {
			n++
		}
		text := s.Text[s.Tokens[i].Start:s.Tokens[i+n-1].End]
		in := func(word string) bool { return strings.Contains(text, word) }
		switch {
		case 3*unknown(s, i, i+n) < 2*n, sketch.Credit(text), slices.ContainsFunc(captions, in), photographed.MatchString(text), 2*utf8.RuneCountInString(text) > len(text):
			from = -1
		case from < 0:
			from = i
		}
		i += n
		if from >= 0 && i-from >= max(passage, most) {
			most, quote = i-from, sketch.Bytes{Start: s.Tokens[from].Start, End: s.Tokens[i-1].End}
		}
	}
	text := s.Text[quote.Start:quote.End]
	if first, rest, more := strings.Cut(text, "\n"); more && utf8.RuneCountInString(first) <= leadInMost {
		text = rest // 同时, 财经, the number of a list item
	}
	return beginning(text)
}

// beginning quotes a passage from its beginning to the end of a clause, or of a word.
func beginning(text string) string {
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
			return display(text[:end], "，") + "…"
		}
		n++
	}
	return display(text, "，")
}
