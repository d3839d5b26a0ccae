package sketch

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

// creditWords name those who made a text, or invite readers. A short clause with one of them at an end of a text
// is no part of what it says.
var creditWords = strings.Fields("记者 编辑 责编 作者 来源 采写 摄影 图源 供图 图片 摄 转自 通讯员 编译 校对 校审 监制 主编 审核 原标题 点击 更多 广告 扫码 关注 下载 客户端 版权 公众号 微博 直播间 投稿 热线 爆料 邮箱 阅读 本网 头条号 抖音号 视频号 强国号 点赞 侵权 订阅 二审 三审")

// feet (before a name at most) and headings (anywhere) stand in the clause under an article where the page goes on with other matters.
var (
	feet     = strings.Fields("责编 责任编辑 值班编辑 本期编辑 编校 校审 审发 审签")
	headings = strings.Fields("推荐阅读 延伸阅读 相关阅读 往期回顾 往期精选 往期推荐 往期报道 猜你喜欢 猜您喜欢 大家都在看 新闻多一点 你可能 您可能 更多精彩内容 更多精彩视频 更多新闻")
)

// datelines end a clause that says where and when a text was written.
var datelines = strings.Fields("电 讯 消息 报道")

// Bounds of boilerplate at an end of a text: runes of a clause, tokens of one that may stand among credits (a name),
// and how many of these may follow each other.
const (
	creditRunes = 24
	nameTokens  = 4
	creditNames = 4
	leastKept   = 8  // tokens of a text without what was learned
	reporters   = 12 // tokens of the names behind a dateline
)

// Credit reports whether a clause is boilerplate where it stands at an end of a text.
func Credit(clause string) bool {
	return utf8.RuneCountInString(clause) <= creditRunes && slices.ContainsFunc(creditWords, func(w string) bool { return strings.Contains(clause, w) })
}

func dateline(clause string) bool {
	return utf8.RuneCountInString(clause) <= creditRunes && slices.ContainsFunc(datelines, func(w string) bool { return strings.HasSuffix(clause, w) })
}

// Datelined reports whether a fact of a text is the time of its dateline, which tells no news: 新华社伦敦7月21日电.
func (x *Aligned) Datelined(f *Fact) bool {
	return f.Kind == FactTime && f.from < openingTokens && slices.ContainsFunc(datelines, func(w string) bool { return strings.HasPrefix(x.Text[f.End:], w) })
}

// Residue is a set of clauses by their hashes.
type Residue map[uint64]bool

// HashClause is the hash of a clause of a normal form.
func HashClause(clause string) uint64 { return xxh3.HashString(clause) }

// drop takes the clauses of the residue out of the tokens, unless hardly any would remain.
func (s *side) drop() {
	if s.in.Residue == nil {
		return
	}
	kept, k, at := make([]token, 0, len(s.tokens)), 0, 0
	for clause := range strings.SplitSeq(s.text, "\n") {
		from := k
		for at += len(clause) + 1; k < len(s.tokens) && int(s.tokens[k].start) < at; k++ {
		}
		if !(*s.in.Residue)[HashClause(clause)] {
			kept = append(kept, s.tokens[from:k]...)
		}
	}
	if len(kept) >= leastKept {
		s.tokens = kept
	}
}

// trim takes credits away from both ends of the tokens, unless a third of them would go, and what follows the article.
func (s *side) trim() {
	s.before = nil
	if len(s.tokens) <= shortTokens {
		return
	}
	from, to := 0, len(s.tokens)
	for {
		n := 1
		for ; from+n < to && !s.tokens[from+n].clause; n++ {
		}
		clause := s.text[s.tokens[from].start:s.tokens[from+n-1].end]
		if from+n >= to || !Credit(clause) && !dateline(clause) && !(n <= reporters && startsName(clause) && s.wired(from)) {
			break
		}
		from += n
	}
	for i, names := to, 0; i > from && names <= creditNames; {
		end := i
		for i--; i > from && !s.tokens[i].clause; i-- {
		}
		if Credit(s.text[s.tokens[i].start:s.tokens[end-1].end]) {
			to, names = i, 0
		} else if end-i <= nameTokens {
			names++
		} else {
			break
		}
	}
	if 3*(to-from) >= 2*len(s.tokens) {
		to = s.foot(from, to)
		s.before, s.tokens = s.tokens[:from], s.tokens[from:to]
	}
}

// wired reports whether an agency's dateline ends before a token: names of reporters follow it.
func (s *side) wired(token int) bool {
	before := strings.TrimRight(s.text[:s.tokens[token].start], "\n")
	return strings.HasSuffix(before, "电") || strings.HasSuffix(before, "讯")
}

// foot is where the page goes on under an article, within the second half of it; else the end of the article.
func (s *side) foot(from, to int) int {
	for i := from + (to-from)/2; i < to; i++ {
		if !s.tokens[i].clause {
			continue
		}
		clause, _, _ := strings.Cut(s.text[s.tokens[i].start:], "\n")
		heads := func(f string) bool { return strings.Contains(clause, f) }
		names := func(f string) bool { _, name, ok := strings.Cut(clause, f); return ok && len(name) <= 3*nameTokens }
		if strings.Contains(clause, "值班编辑") || utf8.RuneCountInString(clause) <= creditRunes && (slices.ContainsFunc(headings, heads) || slices.ContainsFunc(feet, names)) {
			return i
		}
	}
	return to
}
