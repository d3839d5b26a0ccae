package console

import (
	"strings"

	"jianguo/index"
)

// names are the words of the catalogue, in Chinese and in English.
var names = map[any][2]string{
	index.Unique: {"首发", "unique"}, index.Suspect: {"疑似", "suspect"}, index.Duplicate: {"重复", "duplicate"},
	index.Withdrawn: {"已撤", "withdrawn"},

	index.ByBlocked: {"封禁", "blocked"}, index.ByEditor: {"编辑", "editor"},
	index.BySuspected: {"疑似拒收", "suspected"},
	index.ByExempt:    {"免比对", "exempt"}, index.ByAside: {"已搁置", "set aside"},
	index.ByLicence: {"授权转载", "licensed"}, index.ByPreference: {"优先首发", "preferred"},

	index.CauseIngest: {"到达", "arrival"}, index.CauseRevision: {"修订", "revision"},
	index.CauseWithdrawal: {"来源撤回", "withdrawal"},
	index.CausePromotion:  {"递补首发", "promotion"}, index.CauseEditor: {"编辑", "editor"},

	index.Release: {"放行", "release"}, index.Reject: {"判为重复", "reject"}, index.Block: {"封禁", "block"},
	index.Merge:  {"合并", "merge"},
	index.Exempt: {"免比对", "exempt"}, index.Aside: {"搁置", "set aside"},
	index.MakeLead: {"设为首发", "make lead"}, index.Undo: {"撤销", "undo"},

	index.FoundRight: {"拒得对", "rightly rejected"}, index.FoundWrong: {"误拒", "wrong"},
	index.FoundUnsure: {"说不准", "unsure"},
	index.FoundUndone: {"撤回前次结论", "taken back"},

	"copies": {"只拒照抄", "copies only"}, "rewrites": {"也拒改写", "rewrites too"}, "stories": {"也拒同题少新意", "stories too"},

	index.SourceLicensed: {"授权转载", "licensed"}, index.SourcePreferred: {"优先首发", "preferred original"},
	index.SourceWatched: {"重点关注", "watched"},
}

// name is the word for a value, or another text if there is none.
func (l locale) name(v any, otherwise string) string {
	if n, ok := names[v]; ok {
		return l.T(n[0], n[1])
	}
	return otherwise
}

// Verdict names a verdict.
func (l locale) Verdict(v index.Verdict) string { return l.name(v, l.T("尚无", "none")) }

// Rule names a rule, or the relation of the sentence where comparing texts decided.
func (l locale) Rule(r index.Rule, f *index.Facts) string { return l.name(r, f.Relation(l.Language)) }

// Cause names a cause.
func (l locale) Cause(c index.Cause) string { return l.name(c, c.String()) }

// Kind names a kind of decision.
func (l locale) Kind(kind string) string { return l.name(kind, kind) }

// DecisionKinds are the kinds of decisions a filter can ask for.
func (l locale) DecisionKinds() []string {
	return []string{index.Release, index.Reject, index.Block, index.Merge, index.MakeLead, index.Exempt, index.Aside,
		index.Undo}
}

// Finding names the result of a review.
func (l locale) Finding(finding string) string { return l.name(finding, "") }

// SourcePolicy names a policy of a source, with its strictness if it has one.
func (l locale) SourcePolicy(policy string) string {
	policy, strictness, found := strings.Cut(policy, "/")
	if policy = l.name(policy, l.T("普通", "normal")); found {
		policy += " · " + l.Strictness(strictness)
	}
	return policy
}

// Strictness names a strictness of a source.
func (l locale) Strictness(s string) string {
	return l.name(s, l.T("严格度随服务", "as the service"))
}

// Strictnesses are those a source can have.
func (l locale) Strictnesses() []string {
	return []string{index.StrictnessOfService, "copies", "rewrites", "stories"}
}

// SourcePolicies are the policies a source can have.
func (l locale) SourcePolicies() []string {
	return []string{index.SourceNormal, index.SourceLicensed, index.SourcePreferred, index.SourceWatched}
}

// Shift names a change of a verdict.
func (l locale) Shift(shift string) string {
	words := strings.Split(shift, " → ")
	for i, word := range words {
		var v index.Verdict
		if v.UnmarshalText([]byte(word)) == nil {
			words[i] = l.Verdict(v)
		}
	}
	return strings.Join(words, " → ")
}
