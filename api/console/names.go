package console

import (
	"cmp"
	"fmt"
	"strings"

	"jianguo/index"
)

// names are the words of the catalogue, in Chinese and in English.
var names = map[any][2]string{
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
	if n, ok := names[v]; ok {
		return l.T(n[0], n[1])
	}
	return fmt.Sprint(v)
}

// Rule names a rule, or the relation of the sentence where comparing texts decided, without what may be behind it.
func (l locale) Rule(r index.Rule, f *index.Facts) string {
	if _, ok := names[r]; ok {
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
