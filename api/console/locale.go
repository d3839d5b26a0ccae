package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/index/browse"
)

// locale is the language of a reader, and the time. Its methods are for templates, which embed it
// in the value of a page.
type locale struct {
	Language string // index.Chinese or index.English
	Now      func() time.Time
}

// location is where the editors are.
var location = time.FixedZone("UTC+8", 8*3600)

// T picks the reader's language.
func (l locale) T(zh, en string) string {
	if l.Language == index.English {
		return en
	}
	return zh
}

// Chinese marks the Chinese text on an English page.
func (l locale) Chinese() template.HTMLAttr {
	if l.Language == index.English {
		return `lang="zh"`
	}
	return ""
}

// Number groups thousands.
func (l locale) Number(v any) string {
	s := fmt.Sprint(v)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent shows a share, 0…1.
func (l locale) Percent(f float64) string {
	if math.IsNaN(f) {
		return "—"
	}
	return strconv.FormatFloat(100*f, 'f', 1, 64) + "%"
}

// WholePercent shows a share, 0…1, in whole per cent, as the sentence of a verdict does.
func (l locale) WholePercent(f float64) string { return strconv.Itoa(int(math.Round(100*f))) + "%" }

// Share is a part of a whole as a percentage.
func (l locale) Share(part, whole int64) string { return l.Percent(float64(part) / float64(whole)) }

func timeOf(v any) time.Time {
	switch t := v.(type) {
	case time.Time:
		return t
	case *time.Time:
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

// Time is a time in full, to the minute.
func (l locale) Time(v any) string {
	t := timeOf(v)
	if t.IsZero() {
		return "—"
	}
	return t.In(location).Format("2006-01-02 15:04")
}

// ShortTime is a time as lists show it, as short as possible.
func (l locale) ShortTime(v any) string {
	t := timeOf(v)
	if t.IsZero() {
		return "—"
	}
	t, now := t.In(location), l.Now().In(location)
	switch {
	case t.Year() != now.Year():
		return t.Format("2006-01-02")
	case t.YearDay() != now.YearDay():
		return t.Format("01-02 15:04")
	}
	return l.T("今天 ", "today ") + t.Format("15:04")
}

// Duration is a length of time in words.
func (l locale) Duration(d time.Duration) string {
	unit := func(n int, zh, en string) string { return strconv.Itoa(n) + l.T(" "+zh, " "+en) }
	switch {
	case d < time.Minute:
		return unit(int(d.Seconds()), "秒", "s")
	case d < 90*time.Minute:
		return unit(int(math.Round(d.Minutes())), "分钟", "min")
	case d < 36*time.Hour:
		return unit(int(math.Round(d.Hours())), "小时", "h")
	}
	return unit(int(math.Round(d.Hours()/24)), "天", "d")
}

// JSON shows a value indented, as text.
func (l locale) JSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // the template does
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return b.String()
}

// shares are how much of an item and of the earlier one the other has.
func (l locale) shares(b *index.Brief) (later, earlier string) {
	switch f := b.Facts; {
	case f != nil && f.Coverage != nil:
		return l.WholePercent(float64(f.Coverage.Later)), l.WholePercent(float64(f.Coverage.Earlier))
	case b.Rule == index.ByExact:
		return "100%", "100%"
	}
	return "—", "—"
}

// Shared says how much of an item and of the earlier one the other has.
func (l locale) Shared(b *index.Brief) string {
	if b.Rule == index.ByExact && b.Verdict == index.Suspect {
		return l.T("正文相同，标题不同", "the same body, another headline")
	}
	later, earlier := l.shares(b)
	return fmt.Sprintf(l.T("本稿 %s · 先到稿 %s", "this %s · earlier %s"), later, earlier)
}

// SharedBy says how much of a copy and of its origin the other has, whichever arrived first.
func (l locale) SharedBy(c *browse.Copy) string {
	copier, origin := l.shares(c.Copier)
	if c.Origin.Against == c.Copier.Ordinal {
		origin, copier = l.shares(c.Origin)
	}
	return fmt.Sprintf(l.T("转载 %s · 原创 %s", "copy %s · origin %s"), copier, origin)
}

// Ahead says how long before another item one was published, and which was first: 1 the one, -1
// the other, 0 if that is not known. Only times of publication are compared.
func (l locale) Ahead(a, b *index.Item) (when string, first int) {
	c := browse.Copy{Origin: &index.Brief{Published: a.Published, Arrived: a.Arrived},
		Copier: &index.Brief{Published: b.Published, Arrived: b.Arrived}}
	behind, known := c.Behind()
	switch {
	case !known:
		return l.T("时间不足，先后不明", "a time of publication is missing"), 0
	case behind < 0:
		return l.T("晚 ", "later by ") + l.Duration(-behind), -1
	case behind == 0:
		return l.T("同时", "at the same time"), 0
	}
	return l.T("早 ", "earlier by ") + l.Duration(behind), 1
}

// Behind says how long after the origin a copy was published.
func (l locale) Behind(c *browse.Copy) string {
	behind, known := c.Behind()
	if !known {
		return l.T("时间不足", "unknown")
	}
	return l.T("晚 ", "+") + l.Duration(behind)
}

// SourceName is a source, or the word for none.
func (l locale) SourceName(source string) string {
	return cmp.Or(source, l.T("来源不明", "source unknown"))
}

// words are those for values of the catalogue, in Chinese and in English.
var words = map[any][2]string{
	index.Unique: {"首发", "unique"}, index.Suspect: {"疑似", "suspect"}, index.Duplicate: {"重复", "duplicate"},
	index.Withdrawn: {"已撤", "withdrawn"}, index.Verdict(0): {"尚无", "none"},

	index.ByBlocked: {"封禁", "blocked"}, index.ByEditor: {"编辑", "editor"},
	index.BySuspected: {"疑似拒收", "suspected"},
	index.ByExempt:    {"免比对", "exempt"}, index.ByAside: {"已搁置", "set aside"},
	index.ByLicence: {"授权转载", "licensed"}, index.ByPreference: {"优先首发", "preferred"},

	index.CauseIngest: {"到达", "arrival"}, index.CauseRevision: {"修订", "revision"},
	index.CauseWithdrawal: {"来源撤回", "withdrawal"},
	index.CausePromotion:  {"递补首发", "promotion"}, index.CauseEditor: {"编辑", "editor"},

	index.Release: {"放行", "release"}, index.Reject: {"判为重复", "reject"}, index.Block: {"封禁", "block"},
	index.Merge: {"并入", "merge"}, index.Join: {"归为一个故事", "join"}, index.Split: {"拆出故事", "split off"},
	index.Exempt: {"免比对", "exempt"}, index.Aside: {"搁置", "set aside"},
	index.MakeLead: {"设为首发", "make lead"}, index.Undo: {"撤销", "undo"},

	index.FoundRight: {"拒得对", "rightly rejected"}, index.FoundWrong: {"误拒", "wrong"},
	index.FoundUnsure: {"说不准", "unsure"},
	index.FoundUndone: {"撤回前次结论", "taken back"},

	index.StrictnessOfService: {"严格度随服务", "as the service"},
	"copies":                  {"只拒照抄", "copies only"}, "rewrites": {"也拒改写", "rewrites too"},
	"stories": {"也拒同题少新意", "stories too"},

	index.SourceLicensed: {"授权转载", "licensed"}, index.SourcePreferred: {"优先首发", "preferred original"},
	index.SourceWatched: {"重点关注", "watched"}, index.SourceNormal: {"普通", "normal"},
}

// Word is the word for a value of the catalogue.
func (l locale) Word(v any) string {
	if n, ok := words[v]; ok {
		return l.T(n[0], n[1])
	}
	return fmt.Sprint(v)
}

// Rule names a rule, or the relation of the sentence where comparing texts decided, without what may be behind it.
func (l locale) Rule(r index.Rule, f *index.Facts) string {
	if _, ok := words[r]; ok {
		return l.Word(r)
	}
	relation, _, _ := strings.Cut(f.Relation(l.Language), l.T("，", ", "))
	return relation
}

// SourcePolicy names a policy of a source, with its strictness if it has one.
func (l locale) SourcePolicy(policy string) string {
	policy, strictness, found := strings.Cut(policy, "/")
	if policy = l.Word(cmp.Or(policy, index.SourceNormal)); found {
		policy += " · " + l.Word(strictness)
	}
	return policy
}

// Choices are the values that a form offers.
func (locale) Choices(of string) []string { return choices[of] }

var choices = map[string][]string{
	"kind": {index.Release, index.Reject, index.Block, index.Merge, index.Join, index.Split, index.MakeLead,
		index.Exempt, index.Aside, index.Undo},
	"strictness": {index.StrictnessOfService, "copies", "rewrites", "stories"},
	"policy":     {index.SourceNormal, index.SourceLicensed, index.SourcePreferred, index.SourceWatched},
}

// Shift names a verdict, or a change of one, as the command prints it.
func (l locale) Shift(shift string) string { return l.T(shifts.Replace(shift), shift) }

var shifts = strings.NewReplacer("unique", "首发", "suspect", "疑似", "duplicate", "重复", "withdrawn", "已撤")
