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

// Bounds of a quotation that is cut, in characters.
const (
	quoted    = 24
	quotedMax = 48
)

// leadIn are first clauses that only lead to what is said: 同时, 财经, the number of a list item, 据青禾晚报报道, 记者介绍.
var leadIn = regexp.MustCompile(`^(?:.{0,2}\n)?(?:.*(?:报道|消息|获悉|公布|发布|透露|表示|介绍|指出|强调|认为|显示|注意到|提到|了解到|称|说|说法)\n)*`)

// caption is what a page says beside an article: 2023年7月30日，浙江省舟山市，渔民们正在…, 本报记者 王某 摄.
var caption = regexp.MustCompile(`^\d{4}年\d+月\d+日\n|图为|新华社发|资料图|视觉中国|vcg|截图|[^拍]摄(?:[^氏影像入取制政]|$)|供图|图源|广告|直达链接|点此|欢迎(?:关注|订阅|扫码|下载|投稿|广大|给我)`)

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
		fresh, behind := 3*unknown(s, i, i+n) >= 2*n, most > 0 && quote.End == s.Tokens[i-1].End
		switch {
		case behind && caption.MatchString(text):
			from, most, quote = -1, 0, sketch.Bytes{} // what stands before the last words of a caption belongs to it
		case !fresh, sketch.Credit(text), caption.MatchString(text), 2*utf8.RuneCountInString(text) > len(text):
			from = -1
		case from < 0:
			from = i
		}
		i += n
		if from >= 0 && i-from >= max(passage, most) {
			most, quote = i-from, sketch.Bytes{Start: s.Tokens[from].Start, End: s.Tokens[i-1].End}
		}
	}
	return beginning(leadIn.ReplaceAllString(s.Text[quote.Start:quote.End], ""))
}

// beginning quotes a passage from its beginning to the last mark within quotedMax characters, else to the end of a word.
func beginning(text string) string {
	n, word, particle, mark := 0, 0, 0, 0 // where the last word begins, what follows the last particle, the last mark
	for i, r := range text {
		latin := r != '\n' && r != ' ' && r < utf8.RuneSelf
		if !latin || i == 0 || text[i-1] == '\n' || text[i-1] >= utf8.RuneSelf {
			word = i
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		switch {
		case n == quotedMax:
			return display(text[:cmp.Or(mark, particle, word)], "，") + "…"
		case n < quoted:
		case r == '\n' && (text[i-1] >= utf8.RuneSelf || text[i+1] >= utf8.RuneSelf) && !strings.ContainsRune(sketch.Particles, before) &&
			leadIn.FindString(text[strings.LastIndexByte(text[:i], '\n')+1:i+1]) == "":
			mark = i
		case strings.ContainsRune(sketch.Particles, r):
			particle = i
		}
		n++
	}
	return display(text, "，")
}
